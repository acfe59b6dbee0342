// SPDX-License-Identifier: Apache-2.0
#include "packet/parse.h"

#include <algorithm>

namespace penumbra {
namespace {

using Headers = PacketHeaders;

class HeaderParser {
 public:
  HeaderParser(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, Headers& headers)
      : frame_(frame),
        bytes_(bytes),
        end_(bytes),
        reachable_(std::min(readable, Headers::kMostHeaderBytes)),
        headers_(headers) {
    headers_ = {};
    headers_.end = static_cast<std::uint32_t>(bytes);
  }

  /// Returns false if the headers after the tags cannot be parsed.
  bool parse_ethernet() {
    LinkHeaders link;
    const bool is_complete = parse_link(frame_, reachable_, link);
    begin_network(link.network, link.ethertype);
    headers_.tci = link.tci;
    headers_.tags = link.tags;
    if (link.is_service_tag && link.tags != 0) set(Headers::kServiceTag);
    if (is_complete) return true;
    if (link.tags == Headers::kMostTags) return fail(HeaderFault::too_many_tags);
    return reach(link.network == 0 ? kEthernetHeaderBytes : link.network + kTagBytes, HeaderFault::frame_cut);
  }

  void begin_network(std::size_t network, std::uint16_t type) {
    headers_.network = static_cast<std::uint16_t>(network);
    headers_.ethertype = type;
  }

  void parse_network() {
    if (headers_.ethertype == ethertype::kIpv4) {
      if (parse_ipv4()) parse_transport();
    } else if (headers_.ethertype == ethertype::kIpv6) {
      if (parse_ipv6()) parse_transport();
    } else if (headers_.ethertype == ethertype::kArp) {
      parse_arp();
    } else if (headers_.ethertype < ethertype::kLeast) {
      parse_llc();
    }
  }

 private:
  void set(Headers::Flag flag) { headers_.flags = static_cast<std::uint16_t>(headers_.flags | flag); }
  /// Keeps the worst fault, because `ip_length` and `data_offset` do not stop the parser.
  bool fail(HeaderFault fault) {
    headers_.fault = std::max(headers_.fault, fault);
    return false;
  }
  /// True if a header that ends at `header_end` can be read. `cut` is the fault of a packet that ends earlier.
  bool reach(std::size_t header_end, HeaderFault cut) { return header_end <= reachable_ || miss(header_end, cut); }
  bool miss(std::size_t header_end, HeaderFault cut) {
    if (header_end > end_) return fail(headers_.is_first_fragment() ? HeaderFault::first_fragment_cut : cut);
    return fail(reachable_ < Headers::kMostHeaderBytes ? HeaderFault::not_accessible : HeaderFault::too_long);
  }
  std::size_t network() const { return headers_.network; }
  std::size_t transport() const { return headers_.transport; }

  /// Sets the end of an IP packet of `length` bytes.
  void set_end(std::size_t length) {
    ip_end_ = network() + length;
    if (ip_end_ > bytes_) {
      set(Headers::kTruncated);
      fail(HeaderFault::ip_length);
    }
    end_ = std::min(ip_end_, bytes_);
    reachable_ = std::min(reachable_, end_);
    headers_.end = static_cast<std::uint32_t>(end_);
  }
  void set_fragment(std::uint16_t offset, bool more) {
    headers_.fragment_offset = offset;
    if (offset != 0 || more) set(Headers::kFragment);
    if (offset != 0) set(Headers::kLaterFragment);
    if (more) set(Headers::kMoreFragments);
  }

  /// RFC 791, section 3.1.
  bool parse_ipv4() {
    constexpr std::size_t kHeaderBytes = 20;
    constexpr std::uint16_t kMoreFragments = 0x2000, kOffset = 0x1FFF;
    if (!reach(network() + kHeaderBytes, HeaderFault::ip_header_cut)) return false;
    const std::uint8_t* const header = frame_ + network();
    if (header[0] >> 4 != 4) return fail(HeaderFault::ip_version);
    set(Headers::kIpv4);
    const std::size_t header_bytes = std::size_t{header[0] & 0xFU} * 4, total = load_be16(header + 2);
    if (header_bytes < kHeaderBytes) return fail(HeaderFault::ip_header_length);
    if (total < header_bytes) return fail(HeaderFault::ip_total_length);
    set_end(total);
    if (header_bytes > kHeaderBytes) set(Headers::kOptions);
    headers_.protocol = header[9];
    if (!reach(network() + header_bytes, HeaderFault::ip_header_cut)) return false;
    const std::uint16_t fragment = load_be16(header + 6);
    set_fragment(static_cast<std::uint16_t>((fragment & kOffset) * 8), (fragment & kMoreFragments) != 0);
    headers_.transport = static_cast<std::uint16_t>(network() + header_bytes);
    return true;
  }

  /// RFC 8200, sections 3 and 4.
  bool parse_ipv6() {
    constexpr std::size_t kHeaderBytes = 40;
    if (!reach(network() + kHeaderBytes, HeaderFault::ip_header_cut)) return false;
    const std::uint8_t* const header = frame_ + network();
    if (header[0] >> 4 != 6) return fail(HeaderFault::ip_version);
    set(Headers::kIpv6);
    set_end(kHeaderBytes + load_be16(header + 4));
    headers_.protocol = header[6];
    std::size_t at = network() + kHeaderBytes;
    headers_.transport = static_cast<std::uint16_t>(at);
    while (!headers_.has(Headers::kLaterFragment) && ipv6_extension::bit_of(headers_.protocol) != 0) {
      if (ends_chain(at)) return true;
      const std::size_t bytes = parse_extension(at);
      if (bytes == 0) return false;
      at += bytes;
      if (!reach(at, HeaderFault::extension_cut)) return false;
      headers_.transport = static_cast<std::uint16_t>(at);
    }
    return true;
  }

  /// True if the extension header at `at` is the packet's protocol.
  bool ends_chain(std::size_t at) const {
    return ipv6_extension::may_be_protocol(headers_.protocol) && at < reachable_ &&
           frame_[at] == ip_protocol::kNoNextHeader;
  }

  /// Parses the extension header at `at`, whose number is `protocol`. Sets `protocol` to the number of the next header.
  /// Returns the header's size, or 0 if the header cannot be parsed.
  std::size_t parse_extension(std::size_t at) {
    constexpr std::size_t kLeastBytes = 8;
    constexpr std::uint16_t kMoreFragments = 0x0001, kOffset = 0xFFF8;
    const std::uint8_t kind = headers_.protocol;
    const unsigned bit = ipv6_extension::bit_of(kind);
    if (!reach(at + kLeastBytes, HeaderFault::extension_cut)) return 0;
    if (headers_.extension_count == Headers::kMostExtensions) return fail(HeaderFault::too_many_extensions), 0;
    const std::uint8_t* const header = frame_ + at;
    std::size_t bytes = (std::size_t{header[1]} + 1) * 8;
    if (kind == ip_protocol::kFragment) {
      if ((headers_.extensions & bit) != 0) return fail(HeaderFault::second_fragment), 0;
      const std::uint16_t fragment = load_be16(header + 2);
      set_fragment(fragment & kOffset, (fragment & kMoreFragments) != 0);
      bytes = kLeastBytes;
    } else if (kind == ip_protocol::kAuthentication) {
      bytes = (std::size_t{header[1]} + 2) * 4;
    }
    set(Headers::kOptions);
    headers_.extensions = static_cast<std::uint8_t>(headers_.extensions | bit);
    ++headers_.extension_count;
    headers_.protocol = header[0];
    return bytes;
  }

  bool has_ports() const {
    using namespace ip_protocol;
    const std::uint8_t protocol = headers_.protocol;
    return protocol == kTcp || protocol == kUdp || protocol == kSctp || protocol == kDccp || protocol == kUdpLite;
  }
  bool is_icmp() const {
    return headers_.protocol == (headers_.has(Headers::kIpv6) ? ip_protocol::kIcmpv6 : ip_protocol::kIcmp);
  }
  /// Returns the size of the transport header's fixed part, or 0 if the header is not parsed.
  std::size_t least_transport_bytes() const {
    using namespace ip_protocol;
    switch (headers_.protocol) {
      case kTcp:
        return 20;
      case kUdp:
      case kUdpLite:
        return 8;
      case kSctp:
      case kDccp:
        return 12;
      default:
        return !is_icmp() ? 0 : headers_.has(Headers::kIpv6) ? 4 : 8;
    }
  }

  void parse_transport() {
    const std::size_t least = least_transport_bytes();
    headers_.payload = headers_.transport;
    if (headers_.has(Headers::kLaterFragment)) {
      if (headers_.fragment_offset < least) fail(HeaderFault::fragment_overlap);
      return;
    }
    constexpr std::size_t kSpiBytes = 4;
    const std::size_t wanted = headers_.protocol == ip_protocol::kEsp ? kSpiBytes : least;
    read_fields();
    if (!reach(std::min(transport() + wanted, end_), HeaderFault::transport_cut)) return;
    if (!reach(transport() + least, HeaderFault::transport_cut)) return;
    headers_.payload = static_cast<std::uint16_t>(transport() + least);
    const std::uint8_t* const header = frame_ + transport();
    if (headers_.protocol == ip_protocol::kTcp) set_payload(std::size_t{header[12]} / 16 * 4, least);
    if (headers_.protocol == ip_protocol::kDccp) set_payload(std::size_t{header[4]} * 4, least);
    if (headers_.protocol == ip_protocol::kUdp) {
      const std::size_t length = load_be16(header + 4);
      const bool is_too_long = !headers_.has(Headers::kFragment) && transport() + length > ip_end_;
      if (length < least || is_too_long) fail(HeaderFault::udp_length);
    }
  }

  /// Reads the first fields of the transport header as far as they can be read.
  void read_fields() {
    const std::size_t readable = reachable_ - transport();
    const std::uint8_t* const header = frame_ + transport();
    if (has_ports() && readable >= 4) {
      headers_.source_port = load_be16(header);
      headers_.destination_port = load_be16(header + 2);
      set(Headers::kPorts);
    }
    if (headers_.protocol == ip_protocol::kTcp && readable >= 14) headers_.tcp_flags = header[13];
    if (headers_.protocol == ip_protocol::kEsp && readable >= 4) headers_.spi = load_be32(header);
    if (is_icmp() && readable >= 2) {
      headers_.icmp_type = header[0];
      headers_.icmp_code = header[1];
      set(Headers::kIcmp);
    }
  }

  /// Sets the begin of the data from the data offset of a transport header.
  void set_payload(std::size_t data_offset, std::size_t least) {
    if (data_offset < least || transport() + data_offset > ip_end_) {
      fail(HeaderFault::data_offset);
    } else {
      headers_.payload = static_cast<std::uint16_t>(std::min(transport() + data_offset, end_));
    }
  }

  /// RFC 826: a header of 8 bytes, and two pairs of addresses.
  void parse_arp() {
    constexpr std::size_t kHeaderBytes = 8;
    if (!reach(network() + kHeaderBytes, HeaderFault::arp_cut)) return;
    const std::uint8_t* const header = frame_ + network();
    const std::size_t bytes = kHeaderBytes + 2 * (std::size_t{header[4]} + header[5]);
    if (!reach(network() + bytes, HeaderFault::arp_cut)) return;
    headers_.end = static_cast<std::uint32_t>(network() + bytes);
  }

  /// IEEE 802.3 with LLC: not parsed, but an IP packet in SNAP is reported.
  void parse_llc() {
    constexpr std::size_t kSnapBytes = 8;
    constexpr std::uint64_t kSnap = 0xAAAA'0300'0000'0000;
    headers_.end = static_cast<std::uint32_t>(std::min(network() + headers_.ethertype, bytes_));
    if (network() + kSnapBytes > bytes_ || !reach(network() + kSnapBytes, HeaderFault::frame_cut)) return;
    const std::uint64_t snap = load_be64(frame_ + network());
    if (snap == (kSnap | ethertype::kIpv4) || snap == (kSnap | ethertype::kIpv6)) fail(HeaderFault::ip_in_snap);
  }

  const std::uint8_t* const frame_;
  const std::size_t bytes_;
  std::size_t end_;         ///< end of the data that belong to the packet: at first the frame's end
  std::size_t reachable_;   ///< end of the bytes that may be read as headers
  std::size_t ip_end_ = 0;  ///< by the length field of IP
  Headers& headers_;
};

/// Parses a tagged packet that is as parse_plain() expects it. Returns false for other packets.
bool parse_tagged(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, Headers& headers) {
  LinkHeaders link;
  if (!parse_link(frame, readable, link) || link.tags == 0) return false;
  const std::uint16_t type = link.ethertype;
  if (type == ethertype::kIpv4) return detail::parse_plain<ethertype::kIpv4>(frame, readable, bytes, link, headers);
  return type == ethertype::kIpv6 && detail::parse_plain<ethertype::kIpv6>(frame, readable, bytes, link, headers);
}

}  // namespace

PacketHeaders parse_network(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, std::size_t network,
                            std::uint16_t ethertype) noexcept {
  PacketHeaders headers;
  HeaderParser parser(frame, readable, bytes, headers);
  parser.begin_network(network, ethertype);
  parser.parse_network();
  return headers;
}

// With all functions inlined, the compiler keeps the parser's state in registers.
[[gnu::flatten]] void detail::parse_any(const std::uint8_t* frame, std::size_t readable, std::size_t bytes,
                                        PacketHeaders& headers) noexcept {
  if (parse_tagged(frame, readable, bytes, headers)) return;
  HeaderParser parser(frame, readable, bytes, headers);
  if (parser.parse_ethernet()) parser.parse_network();
}

}  // namespace penumbra
