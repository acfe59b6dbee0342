// SPDX-License-Identifier: Apache-2.0
//
// The addresses and ports of a rule's header.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "functions/ids/rules/range_set.h"
#include "functions/ids/rules/source.h"
#include "functions/ids/rules/variables.h"
#include "penumbra/ip.h"

namespace penumbra::ids {

using Ipv6Number = unsigned __int128;
inline Ipv6Number number_of(Ipv6Address address) {
  return Ipv6Number{address.high} << 64 | address.low;
}

struct AddressSet {
  RangeSet<std::uint32_t> ipv4;
  RangeSet<Ipv6Number> ipv6;

  static AddressSet all() { return {RangeSet<std::uint32_t>::all(), RangeSet<Ipv6Number>::all()}; }
  bool contains(Ipv4Address address) const { return ipv4.contains(address.value); }
  bool contains(Ipv6Address address) const { return ipv6.contains(number_of(address)); }
  bool is_all() const { return ipv4.is_all() && ipv6.is_all(); }
  bool empty() const { return ipv4.empty() && ipv6.empty(); }
  AddressSet complement() const { return {ipv4.complement(), ipv6.complement()}; }
  AddressSet operator|(const AddressSet& other) const { return {ipv4 | other.ipv4, ipv6 | other.ipv6}; }
  AddressSet operator-(const AddressSet& other) const { return {ipv4 - other.ipv4, ipv6 - other.ipv6}; }
  bool operator==(const AddressSet&) const = default;
};

using PortSet = RangeSet<std::uint16_t>;

/// Reads the address and port lists of rules. Equal texts share one set.
class HeaderSets {
 public:
  explicit HeaderSets(Variables variables) : variables_(std::move(variables)) {}

  /// Reads "any", an address, a prefix, "LOW-HIGH", "$VARIABLE", "!X" or "[X,Y,...]". Throws RuleError at the word that
  /// was not understood, or if nothing would match.
  std::shared_ptr<const AddressSet> addresses(const RuleSource& source, std::string_view text);
  /// Reads "any", a port, "LOW:HIGH", ":HIGH", "LOW:", "$VARIABLE", "!X" or "[X,Y,...]".
  std::shared_ptr<const PortSet> ports(const RuleSource& source, std::string_view text);

 private:
  template <class Set>
  using Known = std::unordered_map<std::string, std::shared_ptr<const Set>>;

  Variables variables_;
  Known<AddressSet> addresses_;
  Known<PortSet> ports_;
};

}  // namespace penumbra::ids
