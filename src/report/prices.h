// SPDX-License-Identifier: Apache-2.0
//
// Reads prices of processors and GPUs: a list that the reader can edit (bench/prices.yaml is built in).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penumbra::report {

struct Price {
  std::string part;  ///< A pattern (pattern.h) of the part's name.
  double dollars = 0;
  std::string source;  ///< Source and date of the price.
};

class PriceList {
 public:
  /// Throws InputError with the place of an error.
  static PriceList load(const std::filesystem::path& file);
  static PriceList built_in();

  /// Returns the price of the first matching part in the list, or null.
  const Price* find(std::string_view part) const;

 private:
  explicit PriceList(std::vector<Price> prices) : prices_(std::move(prices)) {}

  std::vector<Price> prices_;
};

}  // namespace penumbra::report
