// SPDX-License-Identifier: Apache-2.0
//
// Reads tables of real routers for tests, and runs tests of lookup tables on the content.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "base/shared_data.h"
#include "engines/conformance.h"
#include "penumbra/ip.h"

namespace penumbra::real_tables {

/// Returns the path of a table, which exists only if the test data are present.
inline std::filesystem::path path_of(const std::string& name) {
  return shared_data() / "fib" / name;
}

/// Returns the prefixes of the family in a text: the first word of each line. The text may be compressed. A hash of the
/// prefix determines the next hop. Builds with a sanitizer read only a part of the text. Throws std::runtime_error if
/// the text does not have `count` prefixes.
template <class Family, class Entry>
std::vector<Entry> read(const std::filesystem::path& file, std::size_t count) {
  const std::string command = "gzip --decompress --stdout --force '" + file.string() + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> text(popen(command.c_str(), "r"), pclose);
  if (text == nullptr) throw std::runtime_error("cannot run " + command);
  std::vector<Entry> entries;
  std::size_t seen = 0;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), text.get()) != nullptr) {
    std::string_view word = line.data();
    word = word.substr(0, word.find_first_of(" \t\r\n"));
    const bool is_ipv6 = word.find(':') != std::string_view::npos;
    // A comment or a prefix of another family.
    if (word.starts_with(';') || is_ipv6 != (Family::kBits == 128)) continue;
    const auto prefix = Family::parse_prefix(word);
    if (!prefix) throw std::runtime_error(file.string() + " has '" + std::string(word) + "' for a prefix");
    if (seen++ % kSanitizerScale != 0) continue;
    entries.push_back({*prefix, static_cast<std::uint16_t>(Random::mixed(hash(*prefix)) >> 49)});
  }
  if (seen != count) throw std::runtime_error(file.string() + " has " + std::to_string(seen) + " prefixes");
  return entries;
}

/// A sequence of changes of a table (expect_equal_throughout()) and the right answers after each stage. The right
/// answers are the same on every engine, so the tests of all engines share them.
template <class Entry, class Address>
struct Course {
  static constexpr std::size_t kStages = 3;

  std::vector<Entry> entries;
  std::vector<Address> probes;
  std::array<std::vector<std::uint16_t>, kStages>
      /// By the oracle, for each probe; empty until the oracle was asked.
      right;
};

/// Loads the entries, then makes the same content by single changes in random order, then removes every second entry.
/// Calls `expect_equal` with the oracle and the number of the stage after each stage.
template <class Oracle, class Lpm, class Entry, class ExpectEqual>
void expect_equal_throughout(Lpm& table, std::vector<Entry> entries, ExpectEqual expect_equal) {
  Oracle oracle;
  for (const auto& [prefix, next_hop] : entries) oracle.insert(prefix, next_hop);
  table.load(entries);
  ASSERT_EQ(table.size(), oracle.size());
  ASSERT_NO_FATAL_FAILURE(expect_equal(oracle, 0)) << "loaded";

  std::shuffle(entries.begin(), entries.end(), std::mt19937(4));
  table.load({});
  for (const auto& [prefix, next_hop] : entries) table.insert(prefix, next_hop);
  table.commit();
  ASSERT_NO_FATAL_FAILURE(expect_equal(oracle, 1)) << "inserted";

  for (std::size_t i = 0; i < entries.size(); i += 2) {
    ASSERT_EQ(table.remove(entries[i].prefix), oracle.remove(entries[i].prefix));
  }
  table.commit();
  ASSERT_EQ(table.size(), oracle.size());
  ASSERT_NO_FATAL_FAILURE(expect_equal(oracle, 2)) << "half removed";
}

/// Expects that a run returns `expected` in batches of every size. `name_of` returns the address for its index.
template <class Run, class Column, class NameOf>
void expect_answers(Run& run, const std::vector<Column>& asked, const std::vector<std::uint16_t>& expected,
                    NameOf name_of) {
  for (const std::uint32_t batch_items : conformance::kBatchSizes) {
    std::vector<std::uint16_t> found(asked.size());
    run({asked.data()}, {found.data()}, asked.size(), batch_items);
    const auto [wrong, right] = std::mismatch(found.begin(), found.end(), expected.begin());
    ASSERT_EQ(wrong, found.end()) << name_of(static_cast<std::size_t>(wrong - found.begin())) << " gave " << *wrong
                                  << " and not " << *right;
  }
}

}  // namespace penumbra::real_tables
