// SPDX-License-Identifier: Apache-2.0
//
// Rules and headers of ClassBench (Taylor, Turner: ClassBench: A Packet Classification Benchmark, 2007), for tests. A
// rule is a line: @ addresses of both ends with prefix lengths, ports of both ends from : to, protocol/mask, and what
// is not looked at here. The first rule wins. A header is a line of five numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/shared_data.h"
#include "penumbra/rule.h"

namespace penumbra::real_rules {

inline std::filesystem::path path_of(const std::string& name) {
  return shared_data(PENUMBRA_SOURCE_FOLDER) / "acl" / name;
}

/// Calls visit(line) for each line of a text, compressed or not.
template <class Visit>
void for_each_line(const std::filesystem::path& file, Visit visit) {
  const std::string command = "gzip --decompress --stdout --force '" + file.string() + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> text(popen(command.c_str(), "r"), pclose);
  if (text == nullptr) throw std::runtime_error("cannot run " + command);
  std::array<char, 512> line{};
  while (std::fgets(line.data(), line.size(), text.get()) != nullptr) visit(line.data());
}

/// Of equal priority: that which was added first wins.
inline std::vector<Rule> read_rules(const std::filesystem::path& file) {
  std::vector<Rule> rules;
  for_each_line(file, [&](const char* line) {
    std::array<unsigned, 4> source{}, destination{};
    unsigned source_bits = 0, destination_bits = 0, protocol = 0, protocol_mask = 0;
    std::array<unsigned, 4> ports{};
    const int read =
        std::sscanf(line, "@%u.%u.%u.%u/%u %u.%u.%u.%u/%u %u : %u %u : %u %x/%x", &source[0], &source[1], &source[2],
                    &source[3], &source_bits, &destination[0], &destination[1], &destination[2], &destination[3],
                    &destination_bits, &ports[0], &ports[1], &ports[2], &ports[3], &protocol, &protocol_mask);
    if (read != 16) throw std::runtime_error(file.string() + " has a rule that is none: " + line);
    const auto address = [](const std::array<unsigned, 4>& bytes) {
      return std::uint64_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
    };
    const auto mask = [](unsigned bits) { return bits == 0 ? 0 : 0xFFFFFFFFULL << (32 - bits) & 0xFFFFFFFF; };
    RuleMatch match{
        .value = {address(source) << 32 | address(destination), std::uint64_t{protocol} << kProtocolShift},
        .mask = {mask(source_bits) << 32 | mask(destination_bits), std::uint64_t{protocol_mask} << kProtocolShift},
        .source_ports = {static_cast<std::uint16_t>(ports[0]), static_cast<std::uint16_t>(ports[1])},
        .destination_ports = {static_cast<std::uint16_t>(ports[2]), static_cast<std::uint16_t>(ports[3])}};
    rules.push_back({normalised(match, RuleFields::ipv4), 0});
  });
  return rules;
}

inline std::vector<RuleWords> read_headers(const std::filesystem::path& file) {
  std::vector<RuleWords> headers;
  for_each_line(file, [&](const char* line) {
    unsigned long source = 0, destination = 0, source_port = 0, destination_port = 0, protocol = 0;
    const int read =
        std::sscanf(line, "%lu %lu %lu %lu %lu", &source, &destination, &source_port, &destination_port, &protocol);
    if (read != 5) throw std::runtime_error(file.string() + " has a header that is none: " + line);
    headers.push_back({std::uint64_t{source} << 32 | destination, std::uint64_t{source_port} << kSourcePortShift |
                                                                      destination_port << kDestinationPortShift |
                                                                      protocol << kProtocolShift});
  });
  return headers;
}

}  // namespace penumbra::real_rules
