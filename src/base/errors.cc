// SPDX-License-Identifier: Apache-2.0
#include "penumbra/errors.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace penumbra {
namespace {

std::string place(const SourceLocation& location) {
  if (location.file.empty()) return "";
  std::string text = location.file;
  if (location.line > 0) text += ":" + std::to_string(location.line);
  if (location.line > 0 && location.column > 0) text += ":" + std::to_string(location.column);
  return text + ": ";
}

}  // namespace

InputError::InputError(SourceLocation location, const std::string& message)
    : std::runtime_error(place(location) + message), location_(std::move(location)), message_(message) {}

std::string quote(std::string_view text) {
  constexpr std::size_t kMost = 60;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "'";
  for (const char letter : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x20 && byte < 0x7F) {
      quoted += letter;
    } else {
      quoted += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 0xF]};
    }
  }
  return quoted + (text.size() > kMost ? "...'" : "'");
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before_last, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t exchanged = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, exchanged});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace penumbra
