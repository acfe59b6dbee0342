// SPDX-License-Identifier: Apache-2.0
//
// How many rows `show` answers with where there may be millions, and how it says that there are more: the same words
// and the same shape for every function's long tables.
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
  /// For ShowTopic::flags.
  static ShowTopic::Flag flag();

  /// Takes `all` and `--limit N` out of a topic's arguments; of several the last one counts. Throws
  /// std::invalid_argument if no number follows.
  explicit RowLimit(std::span<const std::string> arguments);

  std::size_t most() const { return most_; }
  /// Whether either was there.
  bool is_given() const { return given_; }
  /// The other arguments.
  const std::vector<std::string>& rest() const { return rest_; }

  /// {TOPIC: [rows], "total": N, "truncated": true or false}: `shown` of `total` rows, or of what one counts in them,
  /// are there. With "note" if they are not all.
  static nlohmann::ordered_json answer(std::string_view topic, nlohmann::ordered_json rows, std::size_t shown,
                                       std::size_t total);

 private:
  std::size_t most_ = kUnasked;
  bool given_ = false;
  std::vector<std::string> rest_;
};

}  // namespace penumbra
