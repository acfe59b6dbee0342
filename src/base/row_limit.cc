// SPDX-License-Identifier: Apache-2.0
#include "base/row_limit.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "penumbra/errors.h"

namespace penumbra {
namespace {

constexpr std::string_view kLimit = "--limit";

std::size_t limit_of(std::string_view word) {
  std::size_t limit = 0;
  const auto [rest, failure] = std::from_chars(word.data(), word.data() + word.size(), limit);
  if (failure == std::errc{} && rest == word.data() + word.size()) return limit;
  throw std::invalid_argument(fmt::format("expected how many to show after {}, found {}", kLimit, quote(word)));
}

}  // namespace

ShowTopic::Flag RowLimit::flag() {
  return {.name = std::string(kLimit),
          .help = fmt::format("At most so many of them; {} if neither this nor 'all' is given", kUnasked),
          .value = "N"};
}

RowLimit::RowLimit(std::span<const std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == kLimit) {
      if (++i == arguments.size()) throw std::invalid_argument(fmt::format("expected a number after {}", kLimit));
      most_ = limit_of(arguments[i]);
    } else if (arguments[i] == "all") {
      most_ = SIZE_MAX;
    } else {
      rest_.push_back(arguments[i]);
    }
  }
  given_ = rest_.size() < arguments.size();
}

nlohmann::ordered_json RowLimit::answer(std::string_view topic, nlohmann::ordered_json rows, std::size_t shown,
                                        std::size_t total) {
  nlohmann::ordered_json answer;
  answer[std::string(topic)] = std::move(rows);
  answer["total"] = total;
  answer["truncated"] = shown < total;
  if (shown < total) answer["note"] = fmt::format("{} of {}; 'show {} all' shows every one", shown, total, topic);
  return answer;
}

}  // namespace penumbra
