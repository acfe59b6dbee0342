// SPDX-License-Identifier: Apache-2.0
#include "tables/patterns/automaton.h"

#include <algorithm>

namespace penumbra::patterns {
namespace {

constexpr std::uint32_t kNone = ~0U;

}  // namespace

Automaton::Automaton(std::span<const std::string> patterns) {
  std::array<bool, 256> is_used{};
  for (const std::string& pattern : patterns) {
    for (const char byte : pattern) is_used[folded(static_cast<std::uint8_t>(byte))] = true;
  }
  // Upper-case letters are in the class of their lower-case ones, so there are at most 230 other classes.
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    if (is_used[byte]) byte_class_[byte] = static_cast<std::uint8_t>(classes_++);
  }
  for (std::uint32_t byte = 0; byte < 256; ++byte)
    byte_class_[byte] = byte_class_[folded(static_cast<std::uint8_t>(byte))];
  add(patterns);
  connect();
}

/// Makes the tree of the patterns.
void Automaton::add(std::span<const std::string> patterns) {
  const auto new_state = [this](std::uint32_t depth) {
    next_.insert(next_.end(), classes_, kNone);
    depth_.push_back(depth);
    ends_.emplace_back();
    return states() - 1;
  };
  new_state(0);
  for (std::uint32_t i = 0; i < patterns.size(); ++i) {
    std::uint32_t state = 0, depth = 0;
    for (const char byte : patterns[i]) {
      const std::size_t move = std::size_t{state} * classes_ + byte_class_[static_cast<std::uint8_t>(byte)];
      if (next_[move] == kNone) {
        const std::uint32_t made = new_state(depth + 1);
        next_[move] = made;
      }
      state = next_[move];
      ++depth;
    }
    ends_[state].push_back(i);
  }
}

/// Completes the moves by those of the longest suffix, in the order of depth, and numbers the sets.
void Automaton::connect() {
  std::vector<std::uint32_t> suffix(states(), 0), queue;
  set_.assign(states(), kNoSet);
  queue.reserve(states());
  for (std::uint32_t c = 0; c < classes_; ++c) {
    if (next_[c] == kNone) {
      next_[c] = 0;
    } else {
      queue.push_back(next_[c]);
    }
  }
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::uint32_t state = queue[i], shorter = suffix[state];
    if (ends_[state].empty()) {
      set_[state] = set_[shorter];
    } else {
      set_[state] = static_cast<std::uint32_t>(begins_.size() - 1);
      members_.insert(members_.end(), ends_[state].begin(), ends_[state].end());
      if (const std::uint32_t set = set_[shorter]; set != kNoSet) {
        const std::vector<std::uint32_t> more(members_.begin() + begins_[set], members_.begin() + begins_[set + 1]);
        members_.insert(members_.end(), more.begin(), more.end());
      }
      begins_.push_back(static_cast<std::uint32_t>(members_.size()));
    }
    for (std::uint32_t c = 0; c < classes_; ++c) {
      std::uint32_t& move = next_[std::size_t{state} * classes_ + c];
      const std::uint32_t of_shorter = next(shorter, c);
      if (move == kNone) {
        move = of_shorter;
      } else {
        suffix[move] = of_shorter;
        queue.push_back(move);
      }
    }
  }
}

}  // namespace penumbra::patterns
