// SPDX-License-Identifier: Apache-2.0
//
// Limits the number of rows in an answer of `show`, which may have millions. All functions with long tables use the
// same words and format.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/function.h"

namespace penumbra {

class RowLimit {
 public:
  static constexpr std::size_t kUnasked = 1000;
  /// Returns the flag for ShowTopic::flags.
  static ShowTopic::Flag flag();

  /// Removes `all` and `--limit N` from a topic's arguments; the last of several counts. Throws std::invalid_argument
  /// if no number follows.
  explicit RowLimit(std::span<const std::string> arguments);

  std::size_t most() const { return most_; }
  /// Returns true if the arguments had a limit.
  bool is_given() const { return given_; }
  /// Returns the remaining arguments.
  const std::vector<std::string>& rest() const { return rest_; }

  /// Returns {TOPIC: [rows], "total": N, "truncated": true or false} with `shown` of `total` rows or counted items.
  /// Adds "note" if the answer is truncated.
  static nlohmann::ordered_json answer(std::string_view topic, nlohmann::ordered_json rows, std::size_t shown,
                                       std::size_t total);

 private:
  std::size_t most_ = kUnasked;
  bool given_ = false;
  std::vector<std::string> rest_;
};

}  // namespace penumbra
