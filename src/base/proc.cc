// SPDX-License-Identifier: Apache-2.0
#include "base/proc.h"

#include <charconv>
#include <fstream>

namespace penumbra {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

std::string proc_value(const std::filesystem::path& file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || trimmed(std::string_view(line).substr(0, colon)) != key) continue;
    return std::string(trimmed(std::string_view(line).substr(colon + 1)));
  }
  return "";
}

std::uint64_t available_memory() {
  const std::string kibibytes = proc_value("/proc/meminfo", "MemAvailable");
  std::uint64_t number = 0;
  std::from_chars(kibibytes.data(), kibibytes.data() + kibibytes.size(), number);
  return number * 1024;
}

}  // namespace penumbra
