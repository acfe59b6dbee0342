// SPDX-License-Identifier: Apache-2.0
#include "functions/acl/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "control/line_reader.h"
#include "control/rules/number.h"
#include "penumbra/ip.h"
#include "tables/rules/rule_table.h"

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

/// The names are those of nftables, except `ah`.
struct ExtensionWord {
  std::string_view word;
  std::uint8_t bit;
};
constexpr std::array<ExtensionWord, 5> kExtensions{{{"hbh", ipv6_extension::kHopByHopBit},
                                                    {"rt", ipv6_extension::kRoutingBit},
                                                    {"frag", ipv6_extension::kFragmentBit},
                                                    {"dst", ipv6_extension::kDestinationBit},
                                                    {"ah", ipv6_extension::kAuthenticationBit}}};

/// Lists the values of kAnyFragmentBit and kLaterFragmentBit for each word of `fragment`.
struct FragmentWord {
  std::string_view word;
  std::uint64_t mask, value;
};
constexpr std::array<FragmentWord, 4> kFragments{{{"any", kAnyFragmentBit, kAnyFragmentBit},
                                                  {"first", kAnyFragmentBit | kLaterFragmentBit, kAnyFragmentBit},
                                                  {"later", kLaterFragmentBit, kLaterFragmentBit},
                                                  {"none", kAnyFragmentBit, 0}}};

template <class Words>
std::vector<std::string> words_of_all(const Words& all) {
  std::vector<std::string> words;
  words.reserve(all.size());
  for (const auto& each : all) words.emplace_back(each.word);
  return words;
}

/// Reads the entry of one line, word by word.
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
    if (!needs_.empty()) leave_out_later_fragments(needs_.front().first);
    require_final_protocol();
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

  /// Returns a description of the value that must follow `word`.
  std::string_view value_of(std::string_view word) const {
    if (word == "src" || word == "dst") return "a prefix";
    if (word == "proto") return "a protocol";
    if (word == "sport" || word == "dport") return "a port or a range of ports (N-M)";
    if (word == "icmp-type" || word == "icmp-code") return "a number from 0 to 255";
    if (word == "fragment") return "first, later, any or none";
    if (word == "exthdr") return "hbh, rt, frag, dst or ah";
    throw line_.unexpected(
        word, "a part of an entry",
        {"src", "dst", "proto", "sport", "dport", "icmp-type", "icmp-code", "fragment", "exthdr", "ipv4", "ipv6"});
  }

  void take(std::string_view word, std::string_view value) {
    if (word == "src" || word == "dst") {
      take_prefix(word == "dst", value);
    } else if (word == "proto") {
      take_protocol(value);
    } else if (word == "sport" || word == "dport") {
      (word == "sport" ? match_.source_ports : match_.destination_ports) = ports(value);
      needs_.emplace_back(word, Needs::ports);
    } else if (word == "fragment") {
      take_fragment(value);
    } else if (word == "exthdr") {
      take_extension(word, value);
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
                        fmt::format("{} is of {}, the words before it are not", quote(word), ipv6 ? "IPv6" : "IPv4"));
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
      throw line_.unexpected(value, "a protocol's name, or its number from 0 to 255", words_of_all(kProtocols));
    }
    protocol_ = static_cast<std::uint8_t>(*number);
    protocol_word_ = value;
    set_last(std::uint64_t{0xFF} << kProtocolShift, *number << kProtocolShift);
  }

  void take_fragment(std::string_view value) {
    const auto* const known = std::ranges::find(kFragments, value, &FragmentWord::word);
    if (known == kFragments.end()) throw line_.unexpected(value, "which fragments", words_of_all(kFragments));
    if (value == "later") later_word_ = value;
    set_last(known->mask, known->value);
  }

  void take_extension(std::string_view word, std::string_view value) {
    const auto* const known = std::ranges::find(kExtensions, value, &ExtensionWord::word);
    if (known == kExtensions.end()) {
      throw line_.unexpected(value, "an IPv6 extension header", words_of_all(kExtensions));
    }
    be_of(true, word);
    const std::uint64_t bit = std::uint64_t{known->bit} << kExtensionShift;
    set_last(bit, bit);
  }

  /// Excludes later fragments, which have no ports and no ICMP type. The key of a later fragment has 0 in both fields.
  void leave_out_later_fragments(std::string_view word) {
    if (!later_word_.empty()) {
      throw line_.error(later_word_, fmt::format("only the first fragment has what {} names: no packet matches this "
                                                 "entry; leave out 'fragment later' or {}",
                                                 quote(word), quote(word)));
    }
    set_last(kLaterFragmentBit, 0);
  }

  /// Throws if an entry for IPv6 names an extension header as protocol. The protocol of an IPv6 packet is the one that
  /// follows the extension headers.
  void require_final_protocol() const {
    if (!protocol_ || ipv6_extension::may_be_protocol(*protocol_)) return;
    const std::uint8_t bit = ipv6_extension::bit_of(*protocol_);
    if (bit == 0 || is_ipv6_ == false || family_ == Family::ipv4) return;
    const auto* const known = std::ranges::find(kExtensions, bit, &ExtensionWord::bit);
    std::string mend = known == kExtensions.end()
                           ? std::string("name the protocol after it")
                           : fmt::format("write 'exthdr {}' for IPv6 packets with such a header", known->word);
    if (*protocol_ == ip_protocol::kFragment) mend += ", 'fragment any' for fragments";
    if (!is_ipv6_ && family_ == Family::both) mend += ", and 'ipv4' before it if it is for IPv4 only";
    throw line_.error(protocol_word_,
                      fmt::format("no IPv6 packet matches 'proto {}': that is an extension header, and a packet's "
                                  "protocol is the one after those; {}",
                                  protocol_word_, mend));
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
    const bool for_ipv6 = is_ipv6_.value_or(family_ == Family::ipv6),
               for_ipv4 = !is_ipv6_.value_or(family_ != Family::ipv4);
    if (needs == Needs::icmp && (protocol_ == ip_protocol::kIcmp ? for_ipv6 : for_ipv4)) {
      throw line_.error(word, fmt::format("no packet matches this entry: of {} only 'proto {}' has types and codes",
                                          for_ipv6 ? "IPv6" : "IPv4", for_ipv6 ? "icmpv6" : "icmp"));
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
  std::string_view protocol_word_, later_word_;  ///< empty if the entry does not have the word
  std::vector<std::string_view> seen_;
  std::vector<std::pair<std::string_view, Needs>> needs_;
};

}  // namespace

Entry read_entry(Line& line, Family family) {
  return EntryReader(line, family).read();
}

std::vector<Entry> parse_entries(std::string_view text, const std::string& name, Family family) {
  std::vector<Entry> entries;
  control::LineReader lines(text, name);
  for (Line line; lines.next(line);) {
    if (entries.size() + 1 == kMostRules) {
      throw InputError({name, line.number(), 0}, fmt::format("more than {} entries", kMostRules - 1));
    }
    entries.push_back(read_entry(line, family));
  }
  return entries;
}

}  // namespace penumbra::acl
