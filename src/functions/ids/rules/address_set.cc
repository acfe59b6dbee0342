// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/address_set.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

constexpr int kMostNesting = 16;  ///< Lists and variables within each other.

struct AddressKind {
  using Set = AddressSet;
  static constexpr const char* kWhat = "address";
  static constexpr const char* kHint = " is no address, prefix, range or variable";

  static const auto& variables(const Variables& all) { return all.addresses; }

  static std::optional<Set> range(std::string_view text) {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const std::string_view first = trim(text.substr(0, dash)), last = trim(text.substr(dash + 1));
    const auto low4 = parse_ipv4_address(first), high4 = parse_ipv4_address(last);
    if (low4 && high4 && *low4 <= *high4) return Set{RangeSet<std::uint32_t>::of(low4->value, high4->value), {}};
    const auto low6 = parse_ipv6_address(first), high6 = parse_ipv6_address(last);
    if (low6 && high6 && *low6 <= *high6) return Set{{}, RangeSet<Ipv6Number>::of(number_of(*low6), number_of(*high6))};
    return std::nullopt;
  }

  static std::optional<unsigned> prefix_length(std::string_view text, unsigned most) {
    const auto length = parse_unsigned(text);
    if (length && *length <= most) return static_cast<unsigned>(*length);
    const auto mask = most == 32 ? parse_ipv4_address(text) : std::nullopt;  // 10.0.0.0/255.0.0.0
    if (!mask) return std::nullopt;
    const auto ones = static_cast<unsigned>(std::countl_one(mask->value));
    if (Ipv4Prefix{{}, static_cast<std::uint8_t>(ones)}.mask() != mask->value) return std::nullopt;
    return ones;
  }

  /// Reads an address or a prefix, which may have bits set past its length.
  static std::optional<Set> one(std::string_view text) {
    if (text == "any") return Set::all();
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string_view address = text.substr(0, slash);
    const bool has_length = slash < text.size();
    const std::string_view length_text = has_length ? text.substr(slash + 1) : "";
    if (const auto ipv4 = parse_ipv4_address(address)) {
      const auto length = has_length ? prefix_length(length_text, 32) : 32U;
      if (!length) return std::nullopt;
      const Ipv4Prefix prefix = Ipv4Prefix::around(*ipv4, *length);
      return Set{RangeSet<std::uint32_t>::of(prefix.address.value, prefix.last().value), {}};
    }
    if (const auto ipv6 = parse_ipv6_address(address)) {
      const auto length = has_length ? prefix_length(length_text, 128) : 128U;
      if (!length) return std::nullopt;
      const Ipv6Prefix prefix = Ipv6Prefix::around(*ipv6, *length);
      return Set{{}, RangeSet<Ipv6Number>::of(number_of(prefix.address), number_of(prefix.last()))};
    }
    return range(text);
  }
};

struct PortKind {
  using Set = PortSet;
  static constexpr const char* kWhat = "port";
  static constexpr const char* kHint = " is no port, range or variable";

  static const auto& variables(const Variables& all) { return all.ports; }

  static std::optional<Set> one(std::string_view text) {
    if (text == "any") return Set::all();
    const std::size_t colon = text.find(':');
    const std::string_view first = trim(text.substr(0, colon));
    const std::string_view last = colon == std::string_view::npos ? first : trim(text.substr(colon + 1));
    if (first.empty() && last.empty()) return std::nullopt;
    const auto low = first.empty() ? 0 : parse_unsigned(first);
    const auto high = last.empty() ? Set::kMost : parse_unsigned(last);
    if (!low || !high || *low > *high || *high > Set::kMost) return std::nullopt;
    return Set::of(static_cast<std::uint16_t>(*low), static_cast<std::uint16_t>(*high));
  }
};

/// Reads one list. Errors within a variable's value are reported at the variable in the rule.
template <class Kind>
class ListReader {
 public:
  using Set = typename Kind::Set;
  ListReader(const RuleSource& source, const Variables& variables) : source_(source), variables_(variables) {}

  /// `place` is the part of the rule to which errors belong; empty if `text` itself is a part of the rule.
  Set read(std::string_view text, std::string_view place, int depth) const {
    text = trim(text);
    const std::string_view where = place.data() == nullptr ? text : place;
    if (depth > kMostNesting) throw wrong(where, text, " is nested too deep");
    if (text.empty()) throw wrong(where, text, " is empty");
    if (text.front() == '!') return read(text.substr(1), place, depth + 1).complement();
    if (text.front() == '$') return variable(text, where, depth);
    if (text.front() == '[') {
      if (text.back() != ']') throw wrong(where, text, " has no closing ']'");
      return list(text.substr(1, text.size() - 2), place, depth);
    }
    const auto set = Kind::one(text);
    if (!set) throw wrong(where, text, Kind::kHint);
    return *set;
  }

 private:
  RuleError wrong(std::string_view where, std::string_view text, const std::string& hint) const {
    const bool is_of_variable = where.data() != text.data();
    return source_.error(where, std::string(Kind::kWhat) + " is not understood",
                         is_of_variable ? ": " + quote(text) + hint : hint);
  }

  Set variable(std::string_view text, std::string_view where, int depth) const {
    const auto& all = Kind::variables(variables_);
    const auto found = all.find(text.substr(1));
    if (found == all.end()) throw source_.error(where, std::string(Kind::kWhat) + " variable is not defined");
    return read(found->second, where, depth + 1);
  }

  /// The positive members make a union, or everything if there are none. Negated members are taken out.
  Set list(std::string_view text, std::string_view place, int depth) const {
    Set positive, negative;
    bool has_positive = false;
    while (true) {
      const std::size_t end = end_of_member(text);
      const std::string_view member = trim(text.substr(0, end));
      if (member.starts_with('!')) {
        negative = negative | read(member.substr(1), place, depth + 1);
      } else {
        positive = positive | read(member, place, depth + 1);
        has_positive = true;
      }
      if (end >= text.size()) break;
      text.remove_prefix(end + 1);
    }
    return (has_positive ? positive : Set::all()) - negative;
  }

  /// Returns the position of the next comma outside brackets, or the size of `text`.
  static std::size_t end_of_member(std::string_view text) {
    int open = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '[') ++open;
      if (text[i] == ']') --open;
      if (text[i] == ',' && open == 0) return i;
    }
    return text.size();
  }

  const RuleSource& source_;
  const Variables& variables_;
};

template <class Kind, class Known>
auto read_known(const RuleSource& source, std::string_view text, const Variables& variables, Known& known) {
  const auto found = known.find(std::string(text));
  if (found != known.end()) return found->second;
  auto set = ListReader<Kind>(source, variables).read(text, {}, 0);
  if (set.empty()) throw source.error(text, std::string(Kind::kWhat) + " is not understood", " matches nothing");
  return known.emplace(text, std::make_shared<const typename Kind::Set>(std::move(set))).first->second;
}

}  // namespace

std::shared_ptr<const AddressSet> HeaderSets::addresses(const RuleSource& source, std::string_view text) {
  return read_known<AddressKind>(source, text, variables_, addresses_);
}

std::shared_ptr<const PortSet> HeaderSets::ports(const RuleSource& source, std::string_view text) {
  return read_known<PortKind>(source, text, variables_, ports_);
}

Variables Variables::defaults() {
  Variables variables;
  variables.addresses = {{"HOME_NET", "[192.168.0.0/16,10.0.0.0/8,172.16.0.0/12]"}, {"EXTERNAL_NET", "!$HOME_NET"}};
  for (const char* const servers :
       {"HTTP_SERVERS", "SMTP_SERVERS", "SQL_SERVERS", "DNS_SERVERS", "TELNET_SERVERS", "DC_SERVERS", "DNP3_SERVER",
        "DNP3_CLIENT", "MODBUS_CLIENT", "MODBUS_SERVER", "ENIP_CLIENT", "ENIP_SERVER"}) {
    variables.addresses.emplace(servers, "$HOME_NET");
  }
  variables.addresses.emplace("AIM_SERVERS", "$EXTERNAL_NET");
  variables.ports = {{"HTTP_PORTS", "80"},     {"SHELLCODE_PORTS", "!80"},
                     {"ORACLE_PORTS", "1521"}, {"SSH_PORTS", "22"},
                     {"DNP3_PORTS", "20000"},  {"MODBUS_PORTS", "502"},
                     {"FTP_PORTS", "21"},      {"FILE_DATA_PORTS", "[$HTTP_PORTS,110,143]"},
                     {"GENEVE_PORTS", "6081"}, {"VXLAN_PORTS", "4789"},
                     {"TEREDO_PORTS", "3544"}};
  return variables;
}

}  // namespace penumbra::ids
