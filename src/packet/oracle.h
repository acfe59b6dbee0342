// SPDX-License-Identifier: Apache-2.0
//
// A second parser for tests. It reads byte by byte, knows headers from tables, and reports faults by exceptions. It
// shares no code with packet/parse.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "penumbra/packet.h"

namespace penumbra::packet_oracle {

/// The fields of a packet's headers by name. Fields that are 0 are left out.
using Facts = std::map<std::string, std::size_t>;

class Oracle {
 public:
  explicit Oracle(std::vector<std::uint8_t> frame) : frame_(std::move(frame)), limit_(frame_.size()) {}

  Facts facts() {
    facts_["end"] = frame_.size();
    try {
      after_ethertype(12, 0);
    } catch (HeaderFault fault) {
      facts_["fault"] = static_cast<std::size_t>(fault);
    }
    std::erase_if(facts_, [](const auto& fact) { return fact.second == 0; });
    return facts_;
  }

 private:
  /// Returns the unsigned number of `count` bytes. The fault of missing bytes is `cut_`.
  std::size_t number(std::size_t at, std::size_t count) {
    if (at + count > limit_) throw facts_["first fragment"] != 0 ? HeaderFault::first_fragment_cut : cut_;
    if (at + count > 2048) throw HeaderFault::too_long;
    std::size_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value * 256 + frame_.at(at + i);
    return value;
  }
  /// Throws unless all bytes before `end` are there.
  void require(std::size_t end) { number(end, 0); }

  void after_ethertype(std::size_t type_at, unsigned tags) {
    if (tags == 0) require(14);
    const std::size_t type = number(type_at, 2), at = type_at + 2;
    facts_["ethertype"] = type;
    facts_["network"] = at;
    facts_["tags"] = tags;
    const std::map<std::size_t, void (Oracle::*)(std::size_t)> networks{
        {0x0800, &Oracle::ipv4}, {0x86DD, &Oracle::ipv6}, {0x0806, &Oracle::arp}};
    if (type == 0x8100 || type == 0x88A8) {
      if (tags == 2) throw HeaderFault::too_many_tags;
      require(at + 4);
      if (tags == 0) facts_["tci"] = number(at, 2);
      if (tags == 0) facts_["service tag"] = type == 0x88A8 ? 1 : 0;
      after_ethertype(at + 2, tags + 1);
    } else if (networks.contains(type)) {
      (this->*networks.at(type))(at);
    } else if (type < 1536) {
      facts_["end"] = std::min(at + type, frame_.size());
      if (frame_.size() < at + 8) return;
      const std::size_t inner = number(at + 6, 2);
      if (number(at, 6) == 0xAAAA03000000 && (inner == 0x0800 || inner == 0x86DD)) throw HeaderFault::ip_in_snap;
    }
  }

  void arp(std::size_t at) {
    cut_ = HeaderFault::arp_cut;
    require(at + 8);
    const std::size_t end = at + 8 + number(at + 4, 1) * 2 + number(at + 5, 1) * 2;
    require(end);
    facts_["end"] = end;
  }

  void packet_ends_at(std::size_t end) {
    length_end_ = end;
    limit_ = std::min(end, frame_.size());
    facts_["end"] = limit_;
    facts_["truncated"] = end > frame_.size() ? 1 : 0;
    if (end > frame_.size()) facts_["fault"] = static_cast<std::size_t>(HeaderFault::ip_length);
  }
  void fragment(std::size_t offset, bool more) {
    facts_["fragment offset"] = offset;
    facts_["fragment"] = offset > 0 || more ? 1 : 0;
    facts_["later fragment"] = offset > 0 ? 1 : 0;
    facts_["more fragments"] = more ? 1 : 0;
    facts_["first fragment"] = offset == 0 && more ? 1 : 0;
  }

  void ipv4(std::size_t at) {
    cut_ = HeaderFault::ip_header_cut;
    require(at + 20);
    if (number(at, 1) / 16 != 4) throw HeaderFault::ip_version;
    facts_["ipv4"] = 1;
    const std::size_t header = number(at, 1) % 16 * 4, total = number(at + 2, 2);
    if (header < 20) throw HeaderFault::ip_header_length;
    if (total < header) throw HeaderFault::ip_total_length;
    packet_ends_at(at + total);
    facts_["options"] = header > 20 ? 1 : 0;
    facts_["protocol"] = number(at + 9, 1);
    require(at + header);
    fragment(number(at + 6, 2) % 8192 * 8, number(at + 6, 2) / 8192 % 2 == 1);
    transport(at + header, number(at + 9, 1));
  }

  void ipv6(std::size_t at) {
    cut_ = HeaderFault::ip_header_cut;
    require(at + 40);
    if (number(at, 1) / 16 != 6) throw HeaderFault::ip_version;
    facts_["ipv6"] = 1;
    packet_ends_at(at + 40 + number(at + 4, 2));
    cut_ = HeaderFault::extension_cut;
    after_ipv6(at + 40, number(at + 6, 1));
  }

  /// Parses the header at `at` of an IPv6 packet, which is an extension header or the transport header.
  void after_ipv6(std::size_t at, std::size_t kind) {
    const std::map<std::size_t, std::size_t> units{{0, 8}, {43, 8}, {60, 8}, {135, 8}, {139, 8}, {140, 8}, {51, 4}};
    const std::map<std::size_t, std::size_t> bits{{0, 1},   {43, 2},   {44, 4},   {51, 8},
                                                  {60, 16}, {135, 32}, {139, 64}, {140, 128}};
    facts_["protocol"] = kind;
    require(at);
    facts_["transport"] = at;
    if (!bits.contains(kind) || facts_["later fragment"] != 0) return transport(at, kind);
    const bool has_next = at < limit_ && frame_[at] != 59;
    if ((kind == 135 || kind == 139) && at < limit_ && !has_next) return transport(at, kind);
    require(at + 8);
    if (facts_["extension count"] == 8) throw HeaderFault::too_many_extensions;
    std::size_t bytes = 8;
    if (kind == 44) {
      if (facts_["extensions"] / 4 % 2 == 1) throw HeaderFault::second_fragment;
      fragment(number(at + 2, 2) / 8 * 8, number(at + 3, 1) % 2 == 1);
    } else if (kind == 51) {
      bytes = (number(at + 1, 1) + 2) * units.at(kind);
    } else {
      bytes = (number(at + 1, 1) + 1) * units.at(kind);
    }
    facts_["options"] = 1;
    facts_["extensions"] |= bits.at(kind);
    facts_["extension count"] += 1;
    after_ipv6(at + bytes, number(at, 1));
  }

  void transport(std::size_t at, std::size_t protocol) {
    facts_["transport"] = facts_["payload"] = at;
    const std::size_t icmp = facts_["ipv6"] != 0 ? 58 : 1;
    std::map<std::size_t, std::size_t> sizes{{6, 20}, {17, 8}, {136, 8}, {132, 12}, {33, 12}};
    sizes[icmp] = icmp == 58 ? 4 : 8;
    const std::size_t size = sizes.contains(protocol) ? sizes[protocol] : 0;
    if (facts_["later fragment"] != 0) {
      if (facts_["fragment offset"] < size) throw HeaderFault::fragment_overlap;
      return;
    }
    const std::size_t there = std::min<std::size_t>(limit_, 2048) - at;
    cut_ = HeaderFault::transport_cut;
    if (size != 0 && protocol != icmp && there >= 4) {
      facts_["ports"] = 1;
      facts_["source port"] = frame_[at] * 256U + frame_[at + 1];
      facts_["destination port"] = frame_[at + 2] * 256U + frame_[at + 3];
    }
    if (protocol == 6 && there >= 14) facts_["tcp flags"] = frame_[at + 13];
    if (protocol == 50 && there >= 4) {
      facts_["spi"] = (frame_[at] * 256U + frame_[at + 1]) * 65536U + frame_[at + 2] * 256U + frame_[at + 3];
    }
    if (protocol == icmp && there >= 2) {
      facts_["icmp"] = 1;
      facts_["icmp type"] = frame_[at];
      facts_["icmp code"] = frame_[at + 1];
    }
    require(std::min(at + (protocol == 50 ? 4 : size), limit_));
    require(at + size);
    facts_["payload"] = at + size;
    if (protocol == 6) data_begins_after(at, number(at + 12, 1) / 16 * 4, size);
    if (protocol == 33) data_begins_after(at, number(at + 4, 1) * 4, size);
    if (protocol != 17) return;
    const std::size_t length = number(at + 4, 2);
    if (length < 8 || (facts_["fragment"] == 0 && at + length > length_end_)) throw HeaderFault::udp_length;
  }

  void data_begins_after(std::size_t at, std::size_t bytes, std::size_t least) {
    if (bytes < least || at + bytes > length_end_) throw HeaderFault::data_offset;
    facts_["payload"] = std::min(at + bytes, frame_.size());
  }

  std::vector<std::uint8_t> frame_;
  std::size_t limit_;           ///< no byte of the packet is at or after this offset
  std::size_t length_end_ = 0;  ///< end of the packet by the length field of IP
  HeaderFault cut_ = HeaderFault::frame_cut;
  Facts facts_;
};

/// Returns the facts of the parser's result.
inline Facts facts_of(const PacketHeaders& headers) {
  const auto flag = [&headers](PacketHeaders::Flag bit) -> std::size_t { return headers.has(bit) ? 1 : 0; };
  Facts facts{{"fault", static_cast<std::size_t>(headers.fault)},
              {"protocol", headers.protocol},
              {"ethertype", headers.ethertype},
              {"tci", headers.tci},
              {"tags", headers.tags},
              {"network", headers.network},
              {"transport", headers.transport},
              {"payload", headers.payload},
              {"fragment offset", headers.fragment_offset},
              {"end", headers.end},
              {"source port", headers.source_port},
              {"destination port", headers.destination_port},
              {"icmp type", headers.icmp_type},
              {"icmp code", headers.icmp_code},
              {"tcp flags", headers.tcp_flags},
              {"spi", headers.spi},
              {"extensions", headers.extensions},
              {"extension count", headers.extension_count},
              {"ipv4", flag(PacketHeaders::kIpv4)},
              {"ipv6", flag(PacketHeaders::kIpv6)},
              {"options", flag(PacketHeaders::kOptions)},
              {"fragment", flag(PacketHeaders::kFragment)},
              {"later fragment", flag(PacketHeaders::kLaterFragment)},
              {"more fragments", flag(PacketHeaders::kMoreFragments)},
              {"first fragment", headers.is_first_fragment() ? 1U : 0U},
              {"truncated", flag(PacketHeaders::kTruncated)},
              {"ports", flag(PacketHeaders::kPorts)},
              {"icmp", flag(PacketHeaders::kIcmp)},
              {"service tag", flag(PacketHeaders::kServiceTag)},
              {"scattered", flag(PacketHeaders::kScattered)}};
  std::erase_if(facts, [](const auto& fact) { return fact.second == 0; });
  return facts;
}

}  // namespace penumbra::packet_oracle
