-- SPDX-License-Identifier: Apache-2.0
-- Prints the headers of each frame's outermost stack, a line each, in the columns of src/packet/print_headers.cc without
-- the fault, after the number of the frame. tests/test_parser_tshark.py runs it in tshark.

-- Returns extractors of fields by name.
local function fields(...)
  local found = {}
  for _, name in ipairs({...}) do found[name] = Field.new(name) end
  return found
end

local link = fields("eth.type", "eth.len", "vlan.etype", "vlan.len", "ieee8021ah.etype")
local vlan_tag = fields("vlan.priority", "vlan.dei", "vlan.id")
local service_tag = fields("ieee8021ad.priority", "ieee8021ad.dei", "ieee8021ad.id")
local tags = fields("vlan", "ieee8021ad")
local ip = fields("ip", "ip.src", "ip.dst", "ip.proto", "ip.hdr_len", "ip.len", "ip.flags.mf", "ip.frag_offset")
local ipv6 = fields("ipv6", "ipv6.src", "ipv6.dst", "ipv6.plen", "ipv6.fraghdr.offset", "ipv6.fraghdr.more")
local extensions = fields("ipv6.hopopts", "ipv6.routing", "ipv6.dstopts", "shim6")
local extension_lengths = fields("ipv6.hopopts.len", "ipv6.routing.len", "ipv6.dstopts.len", "shim6.len")
local other_extensions = fields("ipv6.fraghdr", "ah", "ah.length")
local next_headers = fields("ipv6.nxt", "ipv6.hopopts.nxt", "ipv6.routing.nxt", "ipv6.fraghdr.nxt", "ipv6.dstopts.nxt",
                            "ah.next_header", "shim6.nxt")
local source_ports = fields("tcp.srcport", "udp.srcport", "sctp.srcport", "dccp.srcport")
local destination_ports = fields("tcp.dstport", "udp.dstport", "sctp.dstport", "dccp.dstport")
local icmp_types = fields("icmp.type", "icmpv6.type")
local icmp_codes = fields("icmp.code", "icmpv6.code")
local tcp_length = fields("tcp.hdr_len")

-- Returns the field among `extractors` that begins at `offset`.
local function at(extractors, offset)
  for _, extractor in pairs(extractors) do
    for _, field in ipairs({extractor()}) do
      if field.offset == offset then return field end
    end
  end
end

local function number(field)
  if not field then return nil end
  if type(field.value) == "boolean" then return field.value and 1 or 0 end
  return tonumber(tostring(field.value))
end

local function hex(field)
  return field and tostring(field.range:bytes()):lower()
end

-- Returns the size of the IPv6 extension header at `offset`, if one is there.
local function extension_bytes(offset)
  if at({other_extensions["ipv6.fraghdr"]}, offset) then return 8 end
  if at({other_extensions["ah"]}, offset) then
    local length = number(at({other_extensions["ah.length"]}, offset + 1))
    return length and (length + 2) * 4
  end
  local length = at(extensions, offset) and number(at(extension_lengths, offset + 1))
  return length and (length + 1) * 8
end

local output = io.open(os.getenv("HEADERS"), "w")
local frames = Listener.new("frame")

function frames.packet(info)
  local line = {info.number}
  local function add(value) line[#line + 1] = value and string.format("%s", value) or "" end
  local position, count, tci = 14, 0, nil
  local ethertype = at({link["eth.type"], link["eth.len"]}, 12)
  while at(tags, position) do
    local fields_of_tag = at({tags["vlan"]}, position) and vlan_tag or service_tag
    local tag = {}
    for name, extractor in pairs(fields_of_tag) do tag[name:match("%.(.*)")] = at({extractor}, position) end
    if count == 0 and tag.id then tci = number(tag.priority) * 8192 + number(tag.dei) * 4096 + number(tag.id) end
    ethertype = at({link["vlan.etype"], link["vlan.len"], link["ieee8021ah.etype"]}, position + 2)
    count = count + 1
    position = position + 4
  end
  add(ethertype and number(ethertype))
  add(count)
  add(tci)

  local transport, protocol, ends, fragment, offset, more
  local header4, header6 = at({ip["ip"]}, position), at({ipv6["ipv6"]}, position)
  local function of(extractors, name, place) return at({extractors[name]}, place) end
  if header4 then
    add(position)
    add(hex(of(ip, "ip.src", position + 12)))
    add(hex(of(ip, "ip.dst", position + 16)))
    local length, total = of(ip, "ip.hdr_len", position), of(ip, "ip.len", position + 2)
    protocol = of(ip, "ip.proto", position + 9)
    if length and total and protocol then
      transport = position + number(length)
      ends = position + number(total)
      offset, more = number(of(ip, "ip.frag_offset", position + 6)), number(of(ip, "ip.flags.mf", position + 6))
    end
  elseif header6 then
    add(position)
    add(hex(of(ipv6, "ipv6.src", position + 8)))
    add(hex(of(ipv6, "ipv6.dst", position + 24)))
    local length = number(of(ipv6, "ipv6.plen", position + 4))
    ends = length and position + 40 + length
    protocol = at(next_headers, position + 6)
    transport = position + 40
    local bytes = extension_bytes(transport)
    while bytes do
      local fragment_offset = of(ipv6, "ipv6.fraghdr.offset", transport + 2)
      if fragment_offset then
        offset, more = number(fragment_offset), number(of(ipv6, "ipv6.fraghdr.more", transport + 2))
      end
      protocol = at(next_headers, transport)
      transport = transport + bytes
      bytes = extension_bytes(transport)
    end
  else
    add() add() add()
  end
  add(protocol and number(protocol))
  add(protocol and transport)
  add(ends)
  local is_fragment = offset and (offset ~= 0 or more ~= 0)
  add(is_fragment and offset * 8 .. (more ~= 0 and "+" or ""))
  local source, destination = at(source_ports, transport), at(destination_ports, transport and transport + 2)
  local kind, code = at(icmp_types, transport), at(icmp_codes, transport and transport + 1)
  if source and destination then
    add(number(source) .. "," .. number(destination))
  elseif kind and code then
    add(number(kind) .. "," .. number(code))
  else
    add()
  end
  local data_offset = at(tcp_length, transport and transport + 12)
  add(data_offset and transport + number(data_offset))
  output:write(table.concat(line, "\t"), "\n")
end

function frames.draw()
  output:close()
end
