// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace penumbra {

/// A place in a user's file. Line and column count from 1; 0 means unknown.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
};

/// An error in a user's input (configuration, routes, rules or captures) with its place. what() returns
/// "FILE:LINE:COLUMN: MESSAGE" without the unknown parts.
class InputError : public std::runtime_error {
 public:
  InputError(SourceLocation location, const std::string& message);
  const SourceLocation& location() const { return location_; }
  /// Returns what() without the place.
  const std::string& message() const { return message_; }

 private:
  SourceLocation location_;
  std::string message_;
};

/// Returns text of a user's file for use in a message: quoted, with unprintable bytes escaped, and cut if very long.
std::string quote(std::string_view text);

/// Returns "did you mean 'X'?" with the candidate nearest to `word` by edit distance. Returns an empty text if the
/// distance is over a third of the letters (at least one), or if `word` is a candidate itself.
template <class Candidates>
std::string did_you_mean(const std::string& word, const Candidates& candidates);

/// Returns did_you_mean(), or "there are: A, B, C" with the first candidates if none is near. Returns an empty text if
/// there are no candidates.
template <class Candidates>
std::string did_you_mean_or_list(const std::string& word, const Candidates& candidates);

/// Returns the edit distance: the number of letters to insert, delete, replace or swap with a neighbour.
std::size_t edit_distance(const std::string& a, const std::string& b);

template <class Candidates>
std::string did_you_mean(const std::string& word, const Candidates& candidates) {
  constexpr std::size_t kLongestTypo = 64;  // Longer words are no typos, and the comparison costs their square.
  if (word.size() > kLongestTypo) return "";
  std::string nearest;
  // At least one letter must be right.
  std::size_t best = std::min(std::max<std::size_t>(word.size() / 3, 1) + 1, word.size());
  for (const auto& candidate : candidates) {
    if (std::string_view(candidate).empty()) continue;
    const std::size_t distance = edit_distance(word, std::string(candidate));
    if (distance == 0) return "";
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest.empty() ? "" : "did you mean '" + nearest + "'?";
}

template <class Candidates>
std::string did_you_mean_or_list(const std::string& word, const Candidates& candidates) {
  if (std::string hint = did_you_mean(word, candidates); !hint.empty()) return hint;
  constexpr std::size_t kMostListed = 40;
  std::string all;
  std::size_t listed = 0;
  for (const auto& candidate : candidates) {
    if (std::string_view(candidate).empty()) continue;
    if (listed == kMostListed) return all + ", ...";
    all += (listed++ == 0 ? "there are: " : ", ") + std::string(candidate);
  }
  return all;
}

}  // namespace penumbra
