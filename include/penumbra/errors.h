// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace penumbra {

/// A place in a file that a person wrote. Line and column count from 1; 0 means unknown.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
};

/// What is wrong with a person's input (configuration, routes, rules, captures), where, and what was expected. what()
/// reads "FILE:LINE:COLUMN: MESSAGE", with the unknown parts left out.
class InputError : public std::runtime_error {
 public:
  InputError(SourceLocation location, const std::string& message);
  const SourceLocation& location() const { return location_; }
  /// what() without the place.
  const std::string& message() const { return message_; }

 private:
  SourceLocation location_;
  std::string message_;
};

/// Text from a person's file as it may stand in a message: in quotes, unprintable bytes escaped, cut if it is very
/// long.
std::string quote(std::string_view text);

/// "did you mean 'X'?" with the candidate nearest to `word` by edit distance, or an empty string if none is within a
/// third of its letters (at least one), or if `word` is one itself: then it only stands in the wrong place.
template <class Candidates>
std::string did_you_mean(const std::string& word, const Candidates& candidates);

/// The same, but "there are: A, B, C" if none is near, of many the first ones; an empty string if there is none at all.
template <class Candidates>
std::string did_you_mean_or_list(const std::string& word, const Candidates& candidates);

/// How many letters have to be added, taken away, exchanged or swapped with their neighbour to make one word the other.
std::size_t edit_distance(const std::string& a, const std::string& b);

template <class Candidates>
std::string did_you_mean(const std::string& word, const Candidates& candidates) {
  constexpr std::size_t kLongestTypo = 64;  // nobody meant a longer word, and comparing costs its square
  if (word.size() > kLongestTypo) return "";
  std::string nearest;
  std::size_t best = std::min(std::max<std::size_t>(word.size() / 3, 1) + 1, word.size());  // a letter has to be right
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
