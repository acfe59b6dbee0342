// SPDX-License-Identifier: Apache-2.0
//
// The keywords that test the headers of a packet.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "functions/ids/rules/builder.h"
#include "functions/ids/rules/words.h"
#include "penumbra/packet.h"

namespace penumbra::ids {
namespace {

/// Throws RuleError if the rule's protocol excludes packets of the transport protocols.
void require_transport(const RuleBuilder& rule, const Option& option, std::initializer_list<std::uint8_t> numbers,
                       const char* name) {
  for (const std::uint8_t number : numbers) {
    if (can_carry(rule.rule.protocol.transport, number)) return;
  }
  throw rule.source.error(option.name, "keyword of another protocol", std::string(" needs ") + name);
}
void require_tcp(const RuleBuilder& rule, const Option& option) {
  require_transport(rule, option, {ip_protocol::kTcp}, "tcp");
}
void require_icmp(const RuleBuilder& rule, const Option& option) {
  require_transport(rule, option, {ip_protocol::kIcmp, ip_protocol::kIcmpv6}, "icmp");
}

template <HeaderField kField, std::uint64_t kMost>
void read_field(RuleBuilder& rule, const Option& option) {
  rule.rule.packet_tests.emplace_back(FieldTest{kField, rule.interval(option, kMost)});
}
template <HeaderField kField, std::uint64_t kMost>
void read_tcp_field(RuleBuilder& rule, const Option& option) {
  require_tcp(rule, option);
  read_field<kField, kMost>(rule, option);
}
template <HeaderField kField, std::uint64_t kMost>
void read_icmp_field(RuleBuilder& rule, const Option& option) {
  require_icmp(rule, option);
  read_field<kField, kMost>(rule, option);
}

struct NamedNumber {
  std::string_view name;
  std::uint8_t number;
};
constexpr std::array kProtocolNames = std::to_array<NamedNumber>({{"icmp", ip_protocol::kIcmp},
                                                                  {"igmp", 2},
                                                                  {"tcp", ip_protocol::kTcp},
                                                                  {"udp", ip_protocol::kUdp},
                                                                  {"gre", 47},
                                                                  {"esp", ip_protocol::kEsp},
                                                                  {"ah", ip_protocol::kAuthentication},
                                                                  {"ipv6-icmp", ip_protocol::kIcmpv6},
                                                                  {"icmp6", ip_protocol::kIcmpv6},
                                                                  {"ospf", 89},
                                                                  {"pim", 103},
                                                                  {"sctp", ip_protocol::kSctp}});

/// Reads "ip_proto": a number or range, or a name after an optional "!".
void read_ip_protocol(RuleBuilder& rule, const Option& option) {
  const bool negated = option.value.starts_with('!');
  const std::string name = lower(negated ? trim(option.value.substr(1)) : option.value);
  for (const NamedNumber& protocol : kProtocolNames) {
    if (protocol.name != name) continue;
    const Interval value{protocol.number, protocol.number, negated};
    rule.rule.packet_tests.emplace_back(FieldTest{HeaderField::ip_protocol, value});
    return;
  }
  read_field<HeaderField::ip_protocol, 255>(rule, option);
}

struct NamedBit {
  char letter;
  std::uint8_t bit;
};

std::optional<std::uint8_t> bits_of(std::string_view letters, std::span<const NamedBit> known) {
  std::uint8_t bits = 0;
  for (const char letter : letters) {
    bool found = letter == ' ';
    for (const NamedBit& named : known) {
      if (named.letter != letter && named.letter != (letter & ~0x20)) continue;
      bits |= named.bit;
      found = true;
    }
    if (!found) return std::nullopt;
  }
  return bits;
}

/// Reads "[MODE]BITS[MODE]".
void read_mode_and_bits(RuleBuilder& rule, const Option& option, std::string_view text, std::span<const NamedBit> known,
                        BitsTest& test) {
  constexpr std::string_view kModes = "+*!";
  constexpr std::array kMeanings{BitsTest::Mode::all, BitsTest::Mode::any, BitsTest::Mode::none};
  std::string_view letters = text;
  if (!letters.empty() && kModes.find(letters.front()) != std::string_view::npos) {
    test.mode = kMeanings[kModes.find(letters.front())];
    letters.remove_prefix(1);
  } else if (!letters.empty() && kModes.find(letters.back()) != std::string_view::npos) {
    test.mode = kMeanings[kModes.find(letters.back())];
    letters.remove_suffix(1);
  }
  const auto bits = bits_of(letters, known);
  if (!bits || trim(letters).empty()) throw rule.wrong(option, text, "has an unknown bit");
  test.bits = *bits;
}

constexpr std::array kTcpFlags = std::to_array<NamedBit>({{'F', 0x01},
                                                          {'S', 0x02},
                                                          {'R', 0x04},
                                                          {'P', 0x08},
                                                          {'A', 0x10},
                                                          {'U', 0x20},
                                                          {'E', 0x40},
                                                          {'2', 0x40},
                                                          {'C', 0x80},
                                                          {'1', 0x80},
                                                          {'0', 0x00}});

void read_flags(RuleBuilder& rule, const Option& option) {
  require_tcp(rule, option);
  const std::size_t comma = option.value.find(',');
  BitsTest test{.field = BitsTest::Field::tcp_flags};
  read_mode_and_bits(rule, option, trim(option.value.substr(0, comma)), kTcpFlags, test);
  if (comma != std::string_view::npos) {
    const std::string_view ignored = trim(option.value.substr(comma + 1));
    const auto bits = bits_of(ignored, kTcpFlags);
    if (!bits) throw rule.wrong(option, ignored, "has an unknown flag");
    test.ignored = *bits;
  }
  rule.rule.packet_tests.emplace_back(test);
}

constexpr std::array kFragmentBits = std::to_array<NamedBit>(
    {{'M', fragment_bits::kMoreFragments}, {'D', fragment_bits::kDontFragment}, {'R', fragment_bits::kReserved}});

void read_fragment_bits(RuleBuilder& rule, const Option& option) {
  BitsTest test{.field = BitsTest::Field::fragment_bits};
  read_mode_and_bits(rule, option, option.value, kFragmentBits, test);
  rule.rule.packet_tests.emplace_back(test);
}

struct NamedOption {
  std::string_view name;
  std::uint16_t option;
};
/// Option types with their copy bits (IANA, "IP Option Numbers").
constexpr std::array kIpOptions = std::to_array<NamedOption>({{"eol", 0},
                                                              {"nop", 1},
                                                              {"rr", 7},
                                                              {"qs", 25},
                                                              {"ts", 68},
                                                              {"sec", 130},
                                                              {"lsrr", 131},
                                                              {"esec", 133},
                                                              {"cipso", 134},
                                                              {"satid", 136},
                                                              {"ssrr", 137},
                                                              {"rtralt", 148},
                                                              {"any", IpOptionTest::kAny}});

void read_ip_option(RuleBuilder& rule, const Option& option) {
  for (const NamedOption& known : kIpOptions) {
    if (known.name != lower(option.value)) continue;
    rule.rule.packet_tests.emplace_back(IpOptionTest{known.option});
    return;
  }
  throw rule.wrong(option, option.value, "is no option of IPv4");
}

using enum Keyword::Value;

constexpr std::array kKeywords = std::to_array<Keyword>({
    {"dsize", required, read_field<HeaderField::payload_size, 0xFFFF>},
    {"ttl", required, read_field<HeaderField::ttl, 255>},
    {"tos", required, read_field<HeaderField::tos, 255>},
    {"id", required, read_field<HeaderField::ip_id, 0xFFFF>},
    {"ip_proto", required, read_ip_protocol},
    {"itype", required, read_icmp_field<HeaderField::icmp_type, 255>},
    {"icode", required, read_icmp_field<HeaderField::icmp_code, 255>},
    {"icmp_id", required, read_icmp_field<HeaderField::icmp_id, 0xFFFF>},
    {"icmp_seq", required, read_icmp_field<HeaderField::icmp_sequence, 0xFFFF>},
    {"seq", required, read_tcp_field<HeaderField::tcp_sequence, 0xFFFFFFFF>},
    {"tcp.seq", required, read_tcp_field<HeaderField::tcp_sequence, 0xFFFFFFFF>},
    {"ack", required, read_tcp_field<HeaderField::tcp_acknowledgement, 0xFFFFFFFF>},
    {"tcp.ack", required, read_tcp_field<HeaderField::tcp_acknowledgement, 0xFFFFFFFF>},
    {"window", required, read_tcp_field<HeaderField::tcp_window, 0xFFFF>},
    {"tcp.window", required, read_tcp_field<HeaderField::tcp_window, 0xFFFF>},
    {"fragoffset", required, read_field<HeaderField::fragment_offset, 0xFFFF>},
    {"fragbits", required, read_fragment_bits},
    {"flags", required, read_flags},
    {"tcp.flags", required, read_flags},
    {"ipopts", required, read_ip_option},
    {"sameip", none,
     [](RuleBuilder& rule, const Option& /*option*/) { rule.rule.packet_tests.emplace_back(SameAddressTest{}); }},
});

}  // namespace

std::span<const Keyword> header_keywords() {
  return kKeywords;
}

}  // namespace penumbra::ids
