// SPDX-License-Identifier: Apache-2.0
//
// The Aho-Corasick automaton of a list of patterns, as a full matrix, from which the compact table is made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penumbra::patterns {

/// Returns the byte without the case of ASCII letters.
constexpr std::uint8_t folded(std::uint8_t byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<std::uint8_t>(byte + ('a' - 'A')) : byte;
}

class Automaton {
 public:
  static constexpr std::uint32_t kNoSet = ~0U;

  explicit Automaton(std::span<const std::string> patterns);

  std::uint32_t states() const { return static_cast<std::uint32_t>(depth_.size()); }
  /// Returns the number of classes. Class 0 has all bytes that no pattern has.
  std::uint32_t classes() const { return classes_; }
  const std::array<std::uint8_t, 256>& byte_class() const { return byte_class_; }
  std::uint32_t next(std::uint32_t state, std::uint32_t byte_class) const {
    return next_[std::size_t{state} * classes_ + byte_class];
  }
  std::uint32_t depth(std::uint32_t state) const { return depth_[state]; }
  /// Returns the set of patterns that end in a state, or kNoSet.
  std::uint32_t set_of(std::uint32_t state) const { return set_[state]; }
  /// Return the sets: the patterns of set i are members()[begins()[i]] to members()[begins()[i + 1] - 1].
  const std::vector<std::uint32_t>& begins() const { return begins_; }
  const std::vector<std::uint32_t>& members() const { return members_; }

 private:
  void add(std::span<const std::string> patterns);
  void connect();

  std::array<std::uint8_t, 256> byte_class_{};
  std::uint32_t classes_ = 1;
  std::vector<std::uint32_t> next_, depth_, set_;
  std::vector<std::vector<std::uint32_t>> ends_;  ///< Patterns that end in each state, without those of suffixes.
  std::vector<std::uint32_t> begins_{0}, members_;
};

}  // namespace penumbra::patterns
