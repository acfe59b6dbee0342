// SPDX-License-Identifier: Apache-2.0
#include "functions/acl/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text_file.h"
#include "control/line_reader.h"
#include "control/rules/number.h"
#include "penumbra/ip.h"
#include "shaders/rules/rule_table.h"

namespace penumbra::acl {
namespace {

using control::Line;
using control::rules::parse_number;

struct ProtocolWord {
  std::string_view word;
  std::uint8_t number;
  bool has_ports = false;
};
constexpr std::array<ProtocolWord, 11> kProtocols{{{"icmp", ip_protocol::kIcmp},
                                                   {"tcp", ip_protocol::kTcp, true},
                                                   {"udp", ip_protocol::kUdp, true},
                                                   {"dccp", ip_protocol::kDccp, true},
                                                   {"gre", 47},
                                                   {"esp", 50},
                                                   {"ah", 51},
                                                   {"icmpv6", ip_protocol::kIcmpv6},
                                                   {"ospf", 89},
                                                   {"sctp", ip_protocol::kSctp, true},
                                                   {"udplite", ip_protocol::kUdpLite, true}}};

/// One line's entry, word by word.
class EntryReader {
 public:
  EntryReader(Line& line, Family family) : line_(line), family_(family) {}

  Entry read() {
    Entry entry;
    const std::string_view action = line_.take();
    if (action != "permit" && action != "deny") throw line_.unexpected(action, "an action", {"permit", "deny"});
    entry.permits = action == "permit";
    entry.line = static_cast<std::uint32_t>(line_.number());
    add(entry.text, action);
    for (std::string_view word = line_.take(); !word.empty(); word = line_.take()) {
      if (std::ranges::find(seen_, word) != seen_.end()) throw line_.error(word, fmt::format("'{}' again", word));
      seen_.push_back(word);
      add(entry.text, word);
      if (word == "ipv4" || word == "ipv6") {
        be_of(word == "ipv6", word);
      } else {
        const std::string_view value = line_.require(value_of(word));
        take(word, value);
        add(entry.text, value);
      }
    }
    for (const auto& [word, needs] : needs_) require_protocol(word, needs);
    if (is_ipv6_ && fields() == RuleFields::ipv6) set_last(kFamilyBits, *is_ipv6_ ? kIpv6Bits : kIpv4Bits);
    entry.match = normalised(match_, fields());
    return entry;
  }

 private:
  enum class Needs : std::uint8_t { ports, icmp };

  RuleFields fields() const { return fields_of(family_); }
  static void add(std::string& text, std::string_view word) {
    if (!text.empty()) text += ' ';
    text += word;
  }

  /// What stands behind a word.
  std::string_view value_of(std::string_view word) const {
    if (word == "src" || word == "dst") return "a prefix";
    if (word == "proto") return "a protocol";
    if (word == "sport" || word == "dport") return "a port or a range of ports (N-M)";
    if (word == "icmp-type" || word == "icmp-code") return "a number from 0 to 255";
    throw line_.unexpected(word, "a part of an entry",
                           {"src", "dst", "proto", "sport", "dport", "icmp-type", "icmp-code", "ipv4", "ipv6"});
  }

  void take(std::string_view word, std::string_view value) {
    if (word == "src" || word == "dst") {
      take_prefix(word == "dst", value);
    } else if (word == "proto") {
      take_protocol(value);
    } else if (word == "sport" || word == "dport") {
      (word == "sport" ? match_.source_ports : match_.destination_ports) = ports(value);
      needs_.emplace_back(word, Needs::ports);
    } else {
      const auto number = parse_number(value, 0xFF);
      if (!number) throw line_.error(value, fmt::format("expected a number from 0 to 255, found {}", quote(value)));
      const unsigned shift = kDestinationPortShift + (word == "icmp-type" ? 8 : 0);
      set_last(std::uint64_t{0xFF} << shift, *number << shift);
      needs_.emplace_back(word, Needs::icmp);
    }
  }

  void be_of(bool ipv6, std::string_view word) {
    const Family own = ipv6 ? Family::ipv6 : Family::ipv4;
    if (family_ != Family::both && family_ != own) {
      throw line_.error(word, fmt::format("{} is of {}, and this list of {} only", quote(word), ipv6 ? "IPv6" : "IPv4",
                                          ipv6 ? "IPv4" : "IPv6"));
    }
    if (is_ipv6_.value_or(ipv6) != ipv6) {
      throw line_.error(word,
                        fmt::format("{} is of {}, what stands before it is not", quote(word), ipv6 ? "IPv6" : "IPv4"));
    }
    is_ipv6_ = ipv6;
  }

  void take_prefix(bool destination, std::string_view value) {
    const bool ipv6 = value.find(':') != std::string_view::npos;
    be_of(ipv6, value);
    if (const auto prefix = ipv6 ? std::nullopt : parse_ipv4_prefix(value); prefix) {
      set_ipv4(destination, *prefix);
    } else if (const auto longer = ipv6 ? parse_ipv6_prefix(value) : std::nullopt; longer) {
      set_ipv6(destination, *longer);
    } else {
      throw line_.error(
          value,
          fmt::format("expected a prefix (ADDRESS[/LENGTH], without bits past the length), found {}", quote(value)));
    }
  }
  void set_ipv4(bool destination, Ipv4Prefix prefix) {
    const bool narrow = fields() == RuleFields::ipv4;
    const std::size_t word = narrow ? 0 : destination ? 3 : 1;
    const unsigned shift = narrow && !destination ? 32 : 0;
    match_.mask[word] |= std::uint64_t{prefix.mask()} << shift;
    match_.value[word] |= std::uint64_t{prefix.address.value} << shift;
  }
  void set_ipv6(bool destination, Ipv6Prefix prefix) {
    const std::size_t word = destination ? 2 : 0;
    const Ipv6Address mask = prefix.mask();
    match_.mask[word] = mask.high;
    match_.mask[word + 1] = mask.low;
    match_.value[word] = prefix.address.high;
    match_.value[word + 1] = prefix.address.low;
  }

  void take_protocol(std::string_view value) {
    const auto* const known = std::ranges::find(kProtocols, value, &ProtocolWord::word);
    std::optional<std::uint64_t> number = parse_number(value, 0xFF);
    if (known != kProtocols.end()) number = known->number;
    if (!number) {
      std::vector<std::string> words;
      words.reserve(kProtocols.size());
      for (const auto& protocol : kProtocols) words.emplace_back(protocol.word);
      throw line_.unexpected(value, "a protocol's name, or its number from 0 to 255", words);
    }
    protocol_ = static_cast<std::uint8_t>(*number);
    set_last(std::uint64_t{0xFF} << kProtocolShift, *number << kProtocolShift);
  }

  PortRange ports(std::string_view value) const {
    const std::size_t dash = value.find('-');
    const auto first = parse_number(value.substr(0, dash), 0xFFFF);
    const auto last = dash == std::string_view::npos ? first : parse_number(value.substr(dash + 1), 0xFFFF);
    if (!first || !last || *first > *last) {
      throw line_.error(
          value, fmt::format("expected a port from 0 to 65535, or a range of them (N-M), found {}", quote(value)));
    }
    return {static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
  }

  void require_protocol(std::string_view word, Needs needs) const {
    const auto* const known = std::ranges::find(kProtocols, protocol_.value_or(0), &ProtocolWord::number);
    const bool has_ports = protocol_ && known != kProtocols.end() && known->has_ports;
    const bool is_icmp = protocol_ == ip_protocol::kIcmp || protocol_ == ip_protocol::kIcmpv6;
    if (needs == Needs::ports && !has_ports) {
      throw line_.error(
          word, fmt::format("{} needs a protocol with ports: proto tcp, udp, sctp, dccp or udplite", quote(word)));
    }
    if (needs == Needs::icmp && !is_icmp) {
      throw line_.error(word, fmt::format("{} needs proto icmp or icmpv6", quote(word)));
    }
  }

  void set_last(std::uint64_t mask, std::uint64_t value) {
    const std::size_t last = words_of(fields()) - 1;
    match_.mask[last] |= mask;
    match_.value[last] |= value;
  }

  Line& line_;
  const Family family_;
  RuleMatch match_;
  std::optional<bool> is_ipv6_;
  std::optional<std::uint8_t> protocol_;
  std::vector<std::string_view> seen_;
  std::vector<std::pair<std::string_view, Needs>> needs_;
};

}  // namespace

std::vector<Entry> parse_entries(std::string_view text, const std::string& name, Family family) {
  std::vector<Entry> entries;
  control::LineReader lines(text, name);
  for (Line line; lines.next(line);) {
    if (entries.size() + 1 == kMostRules) {
      throw InputError({name, line.number(), 0}, fmt::format("more than {} entries", kMostRules - 1));
    }
    entries.push_back(EntryReader(line, family).read());
  }
  return entries;
}

std::vector<Entry> read_entries(const std::filesystem::path& file, Family family) {
  return parse_entries(read_text_file(file), file.string(), family);
}

}  // namespace penumbra::acl
