// SPDX-License-Identifier: Apache-2.0
//
// What processors and GPUs cost: a list that the reader edits (bench/prices.yaml is built in).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penumbra::report {

struct Price {
  std::string part;  ///< a pattern (pattern.h) of its name
  double dollars = 0;
  std::string source;  ///< where the price comes from, and when
};

class PriceList {
 public:
  /// Throws InputError with the place of what is wrong.
  static PriceList load(const std::filesystem::path& file);
  static PriceList built_in();

  /// Of the first part in the list that matches, or null.
  const Price* find(std::string_view part) const;

 private:
  explicit PriceList(std::vector<Price> prices) : prices_(std::move(prices)) {}

  std::vector<Price> prices_;
};

}  // namespace penumbra::report
