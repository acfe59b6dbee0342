// SPDX-License-Identifier: Apache-2.0
//
// The bits of `flowbits`, and the numbers of the bits of `xbits` and `hostbits`.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "functions/ids/rules/rule.h"

namespace penumbra::ids {

/// The numbers of bits that rules name. A name keeps its number for as long as the object lives. The bits of flows,
/// addresses and hosts are numbered apart.
class BitNames {
 public:
  /// Returns the number of a name; a new name gets the next number.
  std::uint32_t number_of(BitCommand::Scope scope, const std::string& name) {
    Numbers& numbers = numbers_[scope == BitCommand::Scope::flow ? 0 : BitCommand::is_of_host(scope) ? 2 : 1];
    return numbers.try_emplace(name, static_cast<std::uint32_t>(numbers.size())).first->second;
  }
  /// Returns how many bits of flows have a number.
  std::size_t flow_bits() const { return numbers_[0].size(); }

 private:
  using Numbers = std::map<std::string, std::uint32_t, std::less<>>;
  std::array<Numbers, 3> numbers_;  ///< The bits of flows, of addresses and of hosts.
};

/// A command with the numbers of its bits.
struct PreparedBits {
  BitCommand::Kind kind = BitCommand::Kind::set;
  BitCommand::Scope scope = BitCommand::Scope::flow;
  std::uint32_t expire_seconds = 0;
  std::vector<std::uint32_t> bits;

  PreparedBits(const BitCommand& command, BitNames& names)
      : kind(command.kind), scope(command.scope), expire_seconds(command.expire_seconds) {
    for (const std::string& name : command.names) bits.push_back(names.number_of(command.scope, name));
  }
  bool is_test() const { return kind == BitCommand::Kind::is_set || kind == BitCommand::Kind::is_not_set; }
};

/// The bits of one flow. It has room for the bits of all rules, so that packets cause no allocation.
class FlowBits {
 public:
  static constexpr std::size_t kMost = 1024;  ///< Names. All numbers of bits must be less.

  /// Returns true if the test holds. Several bits of one command are alternatives.
  bool test(const PreparedBits& command) const {
    bool some = false;
    for (const std::uint32_t bit : command.bits) some |= bits_[bit];
    return some == (command.kind == BitCommand::Kind::is_set);
  }
  /// Carries out set, unset or toggle.
  void change(const PreparedBits& command) {
    for (const std::uint32_t bit : command.bits) {
      bits_[bit] = command.kind == BitCommand::Kind::set || (command.kind == BitCommand::Kind::toggle && !bits_[bit]);
    }
  }

 private:
  std::bitset<kMost> bits_;
};

}  // namespace penumbra::ids
