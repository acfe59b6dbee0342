// SPDX-License-Identifier: Apache-2.0
#include "runtime/frame_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "packet/checksum.h"
#include "penumbra/errors.h"
#include "penumbra/packet.h"

namespace penumbra::runtime {
namespace {

using ip_protocol::kIcmp;
using ip_protocol::kIcmpv6;
using ip_protocol::kSctp;
using ip_protocol::kTcp;
using ip_protocol::kUdp;

constexpr std::uint16_t kExperimentalEthertype = 0x88B5;  // IEEE 802, local experimental.
constexpr MacAddress kSourceMac{0x0200000000FE};
constexpr std::size_t kLeastFrame = 60;

/// Appends numbers in network order.
class Writer {
 public:
  void put(std::uint64_t value, std::size_t bytes) {
    while (bytes > 0) bytes_.push_back(static_cast<std::uint8_t>(value >> 8 * --bytes));
  }
  void put(MacAddress mac) { put(mac.value, 6); }
  void append(std::span<const std::uint8_t> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void pad_to(std::size_t bytes) { bytes_.resize(std::max(bytes, bytes_.size())); }
  std::size_t size() const { return bytes_.size(); }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

/// The words by name, each with its value.
class Words {
 public:
  explicit Words(std::span<const std::string> words) {
    for (std::size_t i = 0; i < words.size(); i += 2) {
      const std::string& name = words[i];
      if (std::ranges::find(kFrameWords, name) == kFrameWords.end()) {
        throw std::invalid_argument(
            fmt::format("a header has no {}; {}", quote(name),
                        did_you_mean_or_list(name, std::vector<std::string>(kFrameWords.begin(), kFrameWords.end()))));
      }
      if (i + 1 == words.size()) throw std::invalid_argument(fmt::format("'{}' needs a value", name));
      if (!values_.emplace(name, words[i + 1]).second) {
        throw std::invalid_argument(fmt::format("'{}' is given twice", name));
      }
    }
  }

  bool has(const std::string& name) const { return values_.contains(name); }
  const std::string& text(const std::string& name) const { return values_.at(name); }

  /// Returns a decimal number, or a hexadecimal one after 0x, of at most `most`.
  std::uint64_t number(const std::string& name, std::uint64_t otherwise, std::uint64_t most) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return otherwise;
    const std::string& text = found->second;
    const bool is_hex = text.starts_with("0x");
    const char* const begin = text.data() + (is_hex ? 2 : 0);
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(begin, text.data() + text.size(), value, is_hex ? 16 : 10);
    if (failure != std::errc{} || end != text.data() + text.size() || value > most) {
      throw std::invalid_argument(fmt::format("expected '{}' from 0 to {}, found {}", name, most, quote(text)));
    }
    return value;
  }

  template <class Parse>
  auto parsed(const std::string& name, const char* what, const Parse& parse) const {
    const auto value = parse(text(name));
    if (!value)
      throw std::invalid_argument(fmt::format("expected '{}' to be {}, found {}", name, what, quote(text(name))));
    return *value;
  }

  MacAddress mac(const std::string& name, MacAddress otherwise) const {
    return has(name) ? parsed(name, "a MAC address", parse_mac_address) : otherwise;
  }

  /// Throws if one of the names was given. `why` says when they are valid.
  void refuse(std::initializer_list<const char*> names, const char* why) const {
    for (const char* const name : names) {
      if (has(name)) throw std::invalid_argument(fmt::format("'{}' {}", name, why));
    }
  }

 private:
  std::map<std::string, std::string> values_;
};

std::uint8_t protocol_of(const Words& words) {
  static const std::map<std::string, std::uint8_t> kNames{{"icmp", kIcmp},     {"tcp", kTcp},   {"udp", kUdp},
                                                          {"icmpv6", kIcmpv6}, {"sctp", kSctp}, {"ospf", 89},
                                                          {"gre", 47},         {"esp", 50},     {"ah", 51}};
  if (!words.has("proto")) return kUdp;
  const auto named = kNames.find(words.text("proto"));
  return named != kNames.end() ? named->second : static_cast<std::uint8_t>(words.number("proto", 0, 255));
}

std::uint8_t tcp_flags(const Words& words) {
  constexpr std::string_view kLetters = "FSRPAUEC";  // From bit 0 upwards.
  std::uint8_t flags = 0;
  if (!words.has("flags")) return flags;
  for (const char letter : words.text("flags")) {
    const auto bit = kLetters.find(letter);
    if (bit == std::string_view::npos) {
      throw std::invalid_argument(
          fmt::format("expected 'flags' of the letters {}, found {}", kLetters, quote(words.text("flags"))));
    }
    flags = static_cast<std::uint8_t>(flags | 1U << bit);
  }
  return flags;
}

/// Returns the header of TCP, UDP, SCTP or ICMP, or no bytes for other protocols.
std::vector<std::uint8_t> transport_header(const Words& words, std::uint8_t protocol, std::size_t payload_bytes) {
  Writer header;
  const bool has_ports = protocol == kTcp || protocol == kUdp || protocol == kSctp;
  const bool is_icmp = protocol == kIcmp || protocol == kIcmpv6;
  if (!has_ports) words.refuse({"sport", "dport"}, "is for proto tcp, udp and sctp");
  if (!is_icmp) words.refuse({"type", "code"}, "is for proto icmp and icmpv6");
  if (protocol != kTcp) words.refuse({"flags"}, "is for proto tcp");
  if (has_ports) {
    header.put(words.number("sport", 0, 65535), 2);
    header.put(words.number("dport", 0, 65535), 2);
  }
  constexpr std::size_t kUdpHeader = 8, kTcpHeader = 20, kSctpHeader = 12, kIcmpHeader = 8;
  if (protocol == kUdp) {
    header.put(kUdpHeader + payload_bytes, 2);
    header.pad_to(kUdpHeader);
  } else if (protocol == kTcp) {
    header.put(0, 8);                    // Sequence and acknowledgement numbers.
    header.put(kTcpHeader / 4 << 4, 1);  // Data offset.
    header.put(tcp_flags(words), 1);
    header.pad_to(kTcpHeader);
  } else if (protocol == kSctp) {
    header.pad_to(kSctpHeader);
  } else if (is_icmp) {
    header.put(words.number("type", protocol == kIcmp ? 8 : 128, 255), 1);  // by default a ping request
    header.put(words.number("code", 0, 255), 1);
    header.pad_to(kIcmpHeader);
  }
  return header.take();
}

/// Returns the IP payload: the transport header, padded with zeros up to `length`. A later fragment has no transport
/// header.
std::vector<std::uint8_t> payload_of(const Words& words, std::uint8_t protocol, std::size_t header_bytes, bool later) {
  const std::uint64_t length = words.number("length", 0, kLargestExplained - 18);
  const auto bare = later ? std::vector<std::uint8_t>{} : transport_header(words, protocol, 0);
  if (words.has("length") && length < header_bytes + bare.size()) {
    throw std::invalid_argument(fmt::format("expected 'length' of {} at least, found {}", header_bytes + bare.size(),
                                            quote(words.text("length"))));
  }
  const std::size_t payload = words.has("length") ? length - header_bytes - bare.size() : 0;
  auto bytes = later ? bare : transport_header(words, protocol, payload);
  bytes.resize(bytes.size() + payload);
  return bytes;
}

std::vector<std::uint8_t> ipv4_packet(const Words& words) {
  constexpr std::size_t kHeader = 20;
  const auto source = words.parsed("src", "an IPv4 address like 'dst'", parse_ipv4_address);
  const auto destination = words.parsed("dst", "an IPv4 address like 'src'", parse_ipv4_address);
  const std::uint8_t protocol = protocol_of(words);
  const std::uint64_t offset = words.number("offset", 0, 65528);
  if (offset % 8 != 0) throw std::invalid_argument("expected 'offset' to be a multiple of 8");
  const auto payload = payload_of(words, protocol, kHeader, offset != 0);
  Writer packet;
  packet.put(0x45, 1);
  packet.put(words.number("tos", 0, 255), 1);
  packet.put(kHeader + payload.size(), 2);
  packet.put(0, 2);  // Identification.
  packet.put(words.number("more", 0, 1) << 13 | offset / 8, 2);
  packet.put(words.number("ttl", 64, 255), 1);
  packet.put(protocol, 1);
  packet.put(0, 2);
  packet.put(source.value, 4);
  packet.put(destination.value, 4);
  auto bytes = packet.take();
  write_ipv4_checksum(bytes.data());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

std::vector<std::uint8_t> ipv6_packet(const Words& words) {
  constexpr std::size_t kHeader = 40;
  words.refuse({"offset", "more"}, "is for IPv4; give an IPv6 fragment as a frame in hexadecimal");
  const auto source = words.parsed("src", "an IPv6 address like 'dst'", parse_ipv6_address);
  const auto destination = words.parsed("dst", "an IPv6 address like 'src'", parse_ipv6_address);
  const std::uint8_t protocol = protocol_of(words);
  const auto payload = payload_of(words, protocol, kHeader, false);
  Writer packet;
  packet.put(6U << 28 | words.number("tos", 0, 255) << 20, 4);
  packet.put(payload.size(), 2);
  packet.put(protocol, 1);
  packet.put(words.number("ttl", 64, 255), 1);
  packet.put(source.high, 8);
  packet.put(source.low, 8);
  packet.put(destination.high, 8);
  packet.put(destination.low, 8);
  packet.append(payload);
  return packet.take();
}

}  // namespace

std::vector<std::uint8_t> build_frame(std::span<const std::string> list, MacAddress port_mac) {
  const Words words(list);
  const bool is_ip = words.has("src") || words.has("dst");
  if (is_ip && !(words.has("src") && words.has("dst"))) {
    throw std::invalid_argument("a packet needs both 'src' and 'dst'");
  }
  if (is_ip) words.refuse({"ethertype"}, "is for frames without 'src' and 'dst'");
  std::vector<std::uint8_t> packet;
  std::uint16_t ethertype = kExperimentalEthertype;
  if (!is_ip) {
    words.refuse({"proto", "sport", "dport", "flags", "type", "code", "ttl", "tos", "length", "offset", "more"},
                 "needs 'src' and 'dst'");
    ethertype = static_cast<std::uint16_t>(words.number("ethertype", kExperimentalEthertype, 0xFFFF));
  } else if (words.text("dst").find(':') != std::string::npos) {
    packet = ipv6_packet(words);
    ethertype = ethertype::kIpv6;
  } else {
    packet = ipv4_packet(words);
    ethertype = ethertype::kIpv4;
  }
  Writer frame;
  frame.put(words.mac("dmac", port_mac));
  frame.put(words.mac("smac", kSourceMac));
  if (words.has("vlan")) {
    frame.put(ethertype::kTag, 2);
    frame.put(words.number("vlan", 0, 4095), 2);
  }
  frame.put(ethertype, 2);
  frame.append(packet);
  frame.pad_to(kLeastFrame);
  return frame.take();
}

std::vector<std::uint8_t> parse_hex(std::string_view digits) {
  std::vector<std::uint8_t> bytes;
  unsigned value = 0, count = 0;
  for (const char digit : digits) {
    if (digit == ' ' || digit == ':') continue;
    unsigned nibble = 0;
    if (std::from_chars(&digit, &digit + 1, nibble, 16).ptr == &digit) {
      throw std::invalid_argument("expected the frame's bytes as hexadecimal digits");
    }
    value = value << 4 | nibble;
    if (++count % 2 == 0) bytes.push_back(static_cast<std::uint8_t>(value));
  }
  if (count % 2 != 0) throw std::invalid_argument("expected two hexadecimal digits for each byte of the frame");
  if (bytes.empty() || bytes.size() > kLargestExplained) {
    throw std::invalid_argument(
        fmt::format("expected a frame of 1 to {} bytes, found {}", kLargestExplained, bytes.size()));
  }
  return bytes;
}

}  // namespace penumbra::runtime
