// SPDX-License-Identifier: Apache-2.0
#include "control/rules/classbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <ostream>
#include <stdexcept>

#include "base/text_file.h"
#include "control/rules/number.h"
#include "control/rules/places.h"

namespace penumbra::control::rules {
namespace {

constexpr std::uint64_t kMostPort = 0xFFFF, kMostProtocol = 0xFF;

/// Positions of addresses in the words of a 5-tuple.
template <class Family>
struct Addresses;

template <>
struct Addresses<Ipv4> {
  static constexpr RuleFields kFields = RuleFields::ipv4;
  static constexpr std::array<std::string_view, 2> kInTrace{"the source address, as a decimal number",
                                                            "the destination address, as a decimal number"};
  static void put(RuleWords& words, Ipv4Address address, bool destination) {
    (destination ? ipv4::kDestination : ipv4::kSource).set(words, address.value);
  }
  static Ipv4Address get(const RuleWords& words, bool destination) {
    return {static_cast<std::uint32_t>((destination ? ipv4::kDestination : ipv4::kSource).get(words))};
  }
  static Ipv4Address mask(Ipv4Prefix prefix) { return {prefix.mask()}; }
  /// Returns the length of a prefix mask, or a number over kBits for another mask.
  static unsigned length(Ipv4Address mask) {
    return is_prefix_mask(mask.value, 32) ? static_cast<unsigned>(std::popcount(mask.value)) : Ipv4::kBits + 1U;
  }
  static std::optional<Ipv4Address> parse(std::string_view word) {
    const auto number = parse_number(word, 0xFFFFFFFF);
    if (!number) return std::nullopt;
    return Ipv4Address{static_cast<std::uint32_t>(*number)};
  }
  static std::string text(Ipv4Address address) { return std::to_string(address.value); }
};

template <>
struct Addresses<Ipv6> {
  static constexpr RuleFields kFields = RuleFields::ipv6;
  static constexpr std::array<std::string_view, 2> kInTrace{"the source address (X:X::X)",
                                                            "the destination address (X:X::X)"};
  static void put(RuleWords& words, Ipv6Address address, bool destination) {
    words[destination ? 2 : 0] = address.high;
    words[destination ? 3 : 1] = address.low;
  }
  static Ipv6Address get(const RuleWords& words, bool destination) {
    return {words[destination ? 2 : 0], words[destination ? 3 : 1]};
  }
  static Ipv6Address mask(Ipv6Prefix prefix) { return prefix.mask(); }
  static unsigned length(Ipv6Address mask) {
    const bool is_prefix =
        is_prefix_mask(mask.high, 64) && is_prefix_mask(mask.low, 64) && (mask.low == 0 || ~mask.high == 0);
    return is_prefix ? static_cast<unsigned>(std::popcount(mask.high) + std::popcount(mask.low)) : Ipv6::kBits + 1U;
  }
  static std::optional<Ipv6Address> parse(std::string_view word) { return parse_ipv6_address(word); }
  static std::string text(Ipv6Address address) { return to_string(address); }
};

template <class Family>
typename Family::Prefix parse_prefix(const Line& line, std::string_view word) {
  const std::size_t slash = word.find('/');
  const std::string_view address_text = word.substr(0, slash);
  require_family<Family>(line, word, address_text, "prefix");
  const auto address = Family::parse_address(address_text);
  const auto length =
      slash == std::string_view::npos ? std::nullopt : parse_number(word.substr(slash + 1), Family::kBits);
  if (!address || !length) {
    throw line.error(word, fmt::format("expected a prefix ({}/LENGTH, of at most {} bits), found {}", Family::kForm,
                                       Family::kBits, quote(word)));
  }
  const auto prefix = Family::Prefix::around(*address, static_cast<unsigned>(*length));
  if (prefix.address != *address) {
    throw line.error(
        word, fmt::format("{} has bits set past its length; the prefix would be {}", quote(word), to_string(prefix)));
  }
  return prefix;
}

std::uint16_t parse_port_number(const Line& line, std::string_view word) {
  const auto number = parse_number(word, kMostPort);
  if (!number) throw line.error(word, fmt::format("expected a port from 0 to {}, found {}", kMostPort, quote(word)));
  return static_cast<std::uint16_t>(*number);
}

PortRange parse_range(Line& line, std::string_view what) {
  PortRange range;
  const std::string_view first = line.require(what);
  range.first = parse_port_number(line, first);
  const std::string_view colon = line.require("':' and the last port");
  if (colon != ":") throw line.error(colon, fmt::format("expected ':' between blanks, found {}", quote(colon)));
  const std::string_view last = line.require("the last port");
  range.last = parse_port_number(line, last);
  if (range.last < range.first) {
    throw line.error(last, fmt::format("a range from {} to {} has no port in it", range.first, range.last));
  }
  return range;
}

void parse_protocol(Line& line, RuleFields fields, RuleMatch& match) {
  const std::string_view word = line.require("a protocol and its mask, such as 0x06/0xFF");
  const std::size_t slash = word.find('/');
  const auto value = parse_number(word.substr(0, slash), kMostProtocol);
  const auto mask =
      slash == std::string_view::npos ? std::nullopt : parse_number(word.substr(slash + 1), kMostProtocol);
  if (!value || !mask) {
    throw line.error(word, fmt::format("expected a protocol and its mask, such as 0x06/0xFF, found {}", quote(word)));
  }
  if ((*value & ~*mask) != 0) {
    throw line.error(word, fmt::format("{} has bits set that its mask has not", quote(word)));
  }
  protocol_place(fields).set(match.value, *value);
  protocol_place(fields).set(match.mask, *mask);
}

void skip_flags(Line& line) {
  const std::string_view word = line.take();
  if (word.empty()) return;
  const std::size_t slash = word.find('/');
  if (!parse_number(word.substr(0, slash), 0xFFFF) || slash == std::string_view::npos ||
      !parse_number(word.substr(slash + 1), 0xFFFF)) {
    throw line.error(word, fmt::format("expected flags and their mask, such as 0x0000/0x0200, found {}", quote(word)));
  }
  if (const std::string_view more = line.take(); !more.empty()) {
    throw line.error(more, fmt::format("expected the end of the line, found {}", quote(more)));
  }
}

/// Takes the line's source and returns it without its '@'.
std::string_view take_source(Line& line) {
  const std::string_view word = line.take();
  if (word.starts_with('@')) return word.substr(1);
  throw line.error(word, fmt::format("expected '@' and a source prefix, found {}", quote(word)));
}

template <class Family>
Rule parse_rule(Line& line) {
  using Where = Addresses<Family>;
  RuleMatch match;
  const auto put = [&match](typename Family::Prefix prefix, bool destination) {
    Where::put(match.value, prefix.address, destination);
    Where::put(match.mask, Where::mask(prefix), destination);
  };
  put(parse_prefix<Family>(line, take_source(line)), false);
  put(parse_prefix<Family>(line, line.require("a destination prefix")), true);
  match.source_ports = parse_range(line, "the range of source ports (LOW : HIGH)");
  match.destination_ports = parse_range(line, "the range of destination ports (LOW : HIGH)");
  parse_protocol(line, Where::kFields, match);
  skip_flags(line);
  return {.match = normalised(match, Where::kFields), .priority = 0};
}

/// Returns a rule's range of ports, which may be given by its mask or as a range.
PortRange range_of(const RuleMatch& match, Place place, PortRange range) {
  const std::uint64_t mask = place.get(match.mask);
  if (mask == 0) return range;
  if (!range.is_all() || !is_prefix_mask(mask, place.bits)) {
    throw std::invalid_argument("ClassBench's syntax has one range for ports, and no masks but those of prefixes");
  }
  const std::uint64_t first = place.get(match.value);
  return {.first = static_cast<std::uint16_t>(first), .last = static_cast<std::uint16_t>(first | (~mask & kMostPort))};
}

template <class Family>
typename Family::Prefix prefix_of(const RuleMatch& match, bool destination) {
  using Where = Addresses<Family>;
  const unsigned length = Where::length(Where::get(match.mask, destination));
  if (length > Family::kBits) {
    throw std::invalid_argument("ClassBench's syntax has no masks of addresses but those of prefixes");
  }
  return {Where::get(match.value, destination), static_cast<std::uint8_t>(length)};
}

template <class Family>
std::string rule_text(const RuleMatch& match) {
  constexpr RuleFields kFields = Addresses<Family>::kFields;
  const PortRange source = range_of(match, source_port_place(kFields), match.source_ports);
  const PortRange destination = range_of(match, destination_port_place(kFields), match.destination_ports);
  return fmt::format("@{}\t{}\t{} : {}\t{} : {}\t0x{:02x}/0x{:02X}\t0x0000/0x0000\t\n",
                     to_string(prefix_of<Family>(match, false)), to_string(prefix_of<Family>(match, true)),
                     source.first, source.last, destination.first, destination.last,
                     protocol_place(kFields).get(match.value), protocol_place(kFields).get(match.mask));
}

template <class Family>
RuleWords parse_header(Line& line) {
  using Where = Addresses<Family>;
  RuleWords key{};
  for (const bool destination : {false, true}) {
    const std::string_view expected = Where::kInTrace[destination ? 1 : 0];
    const std::string_view word = line.require(expected);
    const auto address = Where::parse(word);
    if (!address) throw line.error(word, fmt::format("expected {}, found {}", expected, quote(word)));
    Where::put(key, *address, destination);
  }
  source_port_place(Where::kFields).set(key, parse_port_number(line, line.require("the source port")));
  destination_port_place(Where::kFields).set(key, parse_port_number(line, line.require("the destination port")));
  const std::string_view word = line.require("the protocol");
  const auto protocol = parse_number(word, kMostProtocol);
  if (!protocol) {
    throw line.error(word, fmt::format("expected a protocol from 0 to {}, found {}", kMostProtocol, quote(word)));
  }
  protocol_place(Where::kFields).set(key, *protocol);
  return key;
}

template <class Family>
std::string header_text(const RuleWords& key, std::uint32_t drawn_from) {
  using Where = Addresses<Family>;
  return fmt::format("{}\t{}\t{}\t{}\t{}\t0\t{}\n", Where::text(Where::get(key, false)),
                     Where::text(Where::get(key, true)), source_port_place(Where::kFields).get(key),
                     destination_port_place(Where::kFields).get(key), protocol_place(Where::kFields).get(key),
                     drawn_from);
}

}  // namespace

RuleList read_classbench(const std::filesystem::path& file) {
  return parse_classbench(read_text_file(file), file.string());
}

RuleList parse_classbench(std::string_view text, const std::string& name) {
  RuleList list;
  const auto most = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  list.rules.reserve(std::min<std::size_t>(most, kMostRules));
  list.lines.reserve(list.rules.capacity());
  LineReader reader(text, name);
  for (Line line; reader.next(line);) {
    const std::string_view first = line.peek();
    if (list.rules.empty() && first.find(':') != std::string_view::npos) list.fields = RuleFields::ipv6;
    if (list.rules.size() == kMostRules) throw line.error(first, fmt::format("there are over {} rules", kMostRules));
    list.rules.push_back(list.fields == RuleFields::ipv6 ? parse_rule<Ipv6>(line) : parse_rule<Ipv4>(line));
    list.lines.push_back(static_cast<std::uint32_t>(line.number()));
  }
  return list;
}

void write_classbench(std::ostream& out, RuleFields fields, std::span<const Rule> rules) {
  if (fields == RuleFields::openflow) throw std::invalid_argument("ClassBench's syntax has 5-tuples only");
  const auto goes_up = [](const Rule& a, const Rule& b) { return a.priority < b.priority; };
  if (std::ranges::adjacent_find(rules, goes_up) != rules.end()) {
    throw std::invalid_argument("in ClassBench's syntax the earlier rule wins, so priorities cannot go up");
  }
  for (const Rule& rule : rules) {
    out << (fields == RuleFields::ipv6 ? rule_text<Ipv6>(rule.match) : rule_text<Ipv4>(rule.match));
  }
}

RuleWords parse_trace_line(Line& line, RuleFields fields) {
  return fields == RuleFields::ipv6 ? parse_header<Ipv6>(line) : parse_header<Ipv4>(line);
}

std::vector<RuleWords> parse_trace(std::string_view text, const std::string& name, RuleFields fields) {
  std::vector<RuleWords> keys;
  LineReader reader(text, name);
  for (Line line; reader.next(line);) keys.push_back(parse_trace_line(line, fields));
  return keys;
}

std::string trace_line(RuleFields fields, const RuleWords& key, std::uint32_t drawn_from) {
  return fields == RuleFields::ipv6 ? header_text<Ipv6>(key, drawn_from) : header_text<Ipv4>(key, drawn_from);
}

}  // namespace penumbra::control::rules
