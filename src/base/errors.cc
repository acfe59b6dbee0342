// SPDX-License-Identifier: Apache-2.0
#include "penumbra/errors.h"

#include <algorithm>
#include <numeric>
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
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row[b.size()];
}

}  // namespace penumbra
