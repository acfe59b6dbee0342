// SPDX-License-Identifier: Apache-2.0
//
// The bits of `flowbits`.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "functions/ids/rules/rule.h"

namespace penumbra::ids {

/// The numbers of bits that rules name. A name keeps its number for as long as the object lives.
class BitNames {
 public:
  /// Returns the number of a name; a new name gets the next number.
  std::uint32_t number_of(const std::string& name) {
    return numbers_.try_emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
};

/// A command with the numbers of its bits.
struct PreparedBits {
  BitCommand::Kind kind = BitCommand::Kind::set;
  std::vector<std::uint32_t> bits;

  PreparedBits(const BitCommand& command, BitNames& names) : kind(command.kind) {
    for (const std::string& name : command.names) bits.push_back(names.number_of(name));
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
