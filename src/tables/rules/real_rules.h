// SPDX-License-Identifier: Apache-2.0
//
// Rules and headers of ClassBench (Taylor, Turner: ClassBench: A Packet Classification Benchmark, 2007), for tests. A
// rule is a line: @, both addresses with prefix lengths, both port ranges (from : to), protocol/mask, and fields that
// are ignored here. The first rule wins. A header is a line of five numbers.
#pragma once

#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/shared_data.h"
#include "penumbra/rule.h"

namespace penumbra::real_rules {

inline std::filesystem::path path_of(const std::string& name) {
  return shared_data() / "acl" / name;
}

/// Calls visit(line) for each line of a text, which may be compressed.
template <class Visit>
void for_each_line(const std::filesystem::path& file, Visit visit) {
  const std::string command = "gzip --decompress --stdout --force '" + file.string() + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> text(popen(command.c_str(), "r"), pclose);
  if (text == nullptr) throw std::runtime_error("cannot run " + command);
  std::array<char, 512> line{};
  while (std::fgets(line.data(), line.size(), text.get()) != nullptr) visit(line.data());
}

/// The numbers of a line, decimal or hexadecimal (0x), with any separators.
class LineNumbers {
 public:
  explicit LineNumbers(const char* line) : at_(line) {}
  /// Throws std::runtime_error if no number is left.
  std::uint64_t next() {
    while (*at_ != 0 && std::isdigit(static_cast<unsigned char>(*at_)) == 0) ++at_;
    if (*at_ == 0) throw std::runtime_error("a line has too few numbers");
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(at_, &end, at_[0] == '0' && at_[1] == 'x' ? 16 : 10);
    at_ = end;
    return number;
  }

 private:
  const char* at_;
};

/// Returns rules of equal priority: the first rule wins.
inline std::vector<Rule> read_rules(const std::filesystem::path& file) {
  std::vector<Rule> rules;
  for_each_line(file, [&](const char* line) {
    LineNumbers numbers(line);
    RuleMatch match;
    for (const unsigned shift : {32U, 0U}) {
      std::uint64_t address = 0;
      for (int byte = 0; byte < 4; ++byte) address = address << 8 | numbers.next();
      const std::uint64_t bits = numbers.next();
      match.value[0] |= address << shift;
      match.mask[0] |= (bits == 0 ? 0 : 0xFFFFFFFFULL << (32 - bits) & 0xFFFFFFFF) << shift;
    }
    for (PortRange* const ports : {&match.source_ports, &match.destination_ports}) {
      ports->first = static_cast<std::uint16_t>(numbers.next());
      ports->last = static_cast<std::uint16_t>(numbers.next());
    }
    match.value[1] = numbers.next() << kProtocolShift;
    match.mask[1] = numbers.next() << kProtocolShift;
    rules.push_back({normalised(match, RuleFields::ipv4), 0});
  });
  return rules;
}

inline std::vector<RuleWords> read_headers(const std::filesystem::path& file) {
  std::vector<RuleWords> headers;
  for_each_line(file, [&](const char* line) {
    LineNumbers numbers(line);
    RuleWords& header = headers.emplace_back();
    header[0] = numbers.next() << 32;
    header[0] |= numbers.next();
    for (const unsigned shift : {kSourcePortShift, kDestinationPortShift, kProtocolShift}) {
      header[1] |= numbers.next() << shift;
    }
  });
  return headers;
}

}  // namespace penumbra::real_rules
