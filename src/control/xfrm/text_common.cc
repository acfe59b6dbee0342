// SPDX-License-Identifier: Apache-2.0
//
// The words that SAs and policies share: protocols, modes, selectors and limits.
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "control/xfrm/text_words.h"
#include "penumbra/errors.h"

namespace penumbra::control::xfrm {
namespace {

constexpr std::array<std::pair<std::string_view, std::uint8_t>, 12> kProtocols{{{"icmp", IPPROTO_ICMP},
                                                                                {"tcp", IPPROTO_TCP},
                                                                                {"udp", IPPROTO_UDP},
                                                                                {"gre", IPPROTO_GRE},
                                                                                {"esp", IPPROTO_ESP},
                                                                                {"ah", IPPROTO_AH},
                                                                                {"ipv6-icmp", IPPROTO_ICMPV6},
                                                                                {"comp", IPPROTO_COMP},
                                                                                {"sctp", IPPROTO_SCTP},
                                                                                {"dccp", IPPROTO_DCCP},
                                                                                {"ipencap", IPPROTO_IPIP},
                                                                                {"ipv6", IPPROTO_IPV6}}};
constexpr std::array<std::pair<std::string_view, Mode>, 5> kModes{{{"transport", Mode::transport},
                                                                   {"tunnel", Mode::tunnel},
                                                                   {"ro", Mode::route_optimization},
                                                                   {"in_trigger", Mode::in_trigger},
                                                                   {"beet", Mode::beet}}};

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  names.reserve(table.size());
  for (const auto& [name, value] : table) names.emplace_back(name);
  return names;
}

void parse_port(Record& record, std::uint16_t& port, std::uint16_t& mask) {
  constexpr std::uint64_t kMost = 0xFFFF;
  port = static_cast<std::uint16_t>(record.number("a port", kMost));
  mask = record.take_if("mask") ? static_cast<std::uint16_t>(record.number("a mask", kMost)) : 0xFFFF;
}

/// Takes "soft VALUE, hard VALUE" in seconds.
void parse_printed_seconds(Record& record, std::uint64_t& soft, std::uint64_t& hard) {
  if (!record.take_if("soft")) throw record.error("expected 'soft' after this");
  soft = record.number("seconds", kUnlimited);
  if (!record.take_if("hard")) throw record.error("expected 'hard' after this");
  hard = record.number("seconds", kUnlimited);
}

/// Takes "WHICH VALUE(bytes)" or "WHICH VALUE(packets)"; the value is (INF) without a limit.
void parse_printed_amount(Record& record, std::string_view which, std::uint64_t& bytes, std::uint64_t& packets) {
  if (!record.take_if(which)) throw record.error("expected " + quote(which) + " after this");
  std::string_view word = record.take("a limit");
  const bool of_packets = word.ends_with("(packets)");
  word = word.substr(0, word.rfind('('));
  std::uint64_t& limit = of_packets ? packets : bytes;
  limit = kUnlimited;
  if (word == "(INF)") return;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), limit);
  if (failure != std::errc{} || end != word.data() + word.size())
    throw record.error("expected a number of bytes or packets");
}

void parse_limit(Record& record, Limits& limits) {
  const std::array<std::pair<std::string_view, std::uint64_t*>, 8> known{{{"time-soft", &limits.soft_add_seconds},
                                                                          {"time-hard", &limits.hard_add_seconds},
                                                                          {"time-use-soft", &limits.soft_use_seconds},
                                                                          {"time-use-hard", &limits.hard_use_seconds},
                                                                          {"byte-soft", &limits.soft_bytes},
                                                                          {"byte-hard", &limits.hard_bytes},
                                                                          {"packet-soft", &limits.soft_packets},
                                                                          {"packet-hard", &limits.hard_packets}}};
  const std::string_view word = record.take("a kind of limit");
  const auto found = std::ranges::find(known, word, [](const auto& one) { return one.first; });
  if (found == known.end()) throw record.unexpected("a kind of limit", names_of(known));
  *found->second = record.number("a limit", kUnlimited);
  if (*found->second == 0 && (word == "byte-hard" || word == "packet-hard")) {
    throw record.error("a hard limit of 0 lets nothing pass; leave it out for no limit");
  }
}

}  // namespace

std::uint8_t parse_protocol(Record& record) {
  const std::string_view word = record.take("a protocol");
  const auto found = std::ranges::find(kProtocols, word, [](const auto& one) { return one.first; });
  if (found != kProtocols.end()) return found->second;
  std::uint32_t number = 0;
  for (const char letter : word) {
    if (letter < '0' || letter > '9' || number > 0xFF) throw record.unexpected("a protocol", names_of(kProtocols));
    number = number * 10 + static_cast<std::uint32_t>(letter - '0');
  }
  if (number > 0xFF) throw record.error("a protocol's number is at most 255");
  return static_cast<std::uint8_t>(number);
}

std::string protocol_name(std::uint8_t protocol) {
  const auto found = std::ranges::find(kProtocols, protocol, [](const auto& one) { return one.second; });
  return found == kProtocols.end() ? std::to_string(protocol) : std::string(found->first);
}

Mode parse_mode(Record& record) {
  const std::string_view word = record.take("a mode");
  const auto found = std::ranges::find(kModes, word, [](const auto& one) { return one.first; });
  if (found == kModes.end()) throw record.unexpected("a mode", names_of(kModes));
  return found->second;
}

std::string_view mode_name(Mode mode) {
  return std::ranges::find(kModes, mode, [](const auto& one) { return one.second; })->first;
}

bool parse_selector_word(Record& record, std::string_view word, Selector& selector) {
  if (word == "src") {
    selector.source = record.prefix(selector.family, selector.source_prefix);
  } else if (word == "dst") {
    selector.destination = record.prefix(selector.family, selector.destination_prefix);
  } else if (word == "proto") {
    selector.protocol = parse_protocol(record);
  } else if (word == "sport" || word == "type") {  // ICMP's type and code have the places of ports.
    parse_port(record, selector.source_port, selector.source_port_mask);
  } else if (word == "dport" || word == "code") {
    parse_port(record, selector.destination_port, selector.destination_port_mask);
  } else if (word == "dev") {
    const std::string name(record.take("an interface"));
    selector.interface = static_cast<std::int32_t>(if_nametoindex(name.c_str()));
    if (selector.interface == 0) throw record.error("there is no interface " + quote(name));
  } else if (word == "uid") {
    selector.user = static_cast<std::uint32_t>(record.number("a user's number"));
  } else {
    return false;
  }
  return true;
}

bool parse_limit_word(Record& record, std::string_view word, Limits& limits) {
  if (word == "limit") {
    parse_limit(record, limits);
  } else if (word == "limit:") {
    parse_printed_amount(record, "soft", limits.soft_bytes, limits.soft_packets);
    parse_printed_amount(record, "hard", limits.hard_bytes, limits.hard_packets);
  } else if (word == "expire") {
    if (record.take_if("add:")) {
      parse_printed_seconds(record, limits.soft_add_seconds, limits.hard_add_seconds);
    } else if (record.take_if("use:")) {
      parse_printed_seconds(record, limits.soft_use_seconds, limits.hard_use_seconds);
    } else {
      throw record.error("expected 'add:' or 'use:' after this");
    }
  } else {
    return false;
  }
  return true;
}

}  // namespace penumbra::control::xfrm
