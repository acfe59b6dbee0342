// SPDX-License-Identifier: Apache-2.0
//
// Runs tests of lookup tables on the content of real routers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/prefix_oracle.h"
#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "base/shared_data.h"
#include "engines/conformance.h"
#include "penumbra/ip.h"
#include "penumbra/table.h"
#include "tables/prefix_testing.h"

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

/// Tests a table on the content of real routers. match() of the table may be slow, so every `kMatchEvery`-th probe is
/// compared with it.
template <class Family, class Lpm, std::size_t kMatchEvery>
class Test : public testing::TestWithParam<std::string> {
 protected:
  using Entry = typename Lpm::Entry;
  using Oracle = PrefixOracle<Family, Entry>;

  /// Loads `prefixes` entries of a file, then makes the same content by single changes in random order, then removes
  /// every second entry. After each stage, compares `table` and the shaders of tables that follow it with the oracle.
  void check(const std::string& name, std::size_t prefixes, Lpm& table, std::initializer_list<Table*> looked_up) {
    const std::filesystem::path file = path_of(name);
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here";
    Course& course = course_of(file, prefixes);
    std::list<conformance::ShaderRun> runs;
    for (Table* each : looked_up) runs.emplace_back(GetParam(), each->name(), *each);
    const auto expect_equal = [&](const Oracle& oracle, std::size_t stage) {
      ASSERT_EQ(table.size(), oracle.size());
      if (course.right[stage].empty()) {
        ASSERT_NO_FATAL_FAILURE(ask(table, oracle, course, stage));
      }
      for (conformance::ShaderRun& run : runs) {
        expect_answers(run, prefix_testing::columns(course.probes), course.right[stage],
                       [&](std::size_t number) { return to_string(course.probes[number]); });
      }
    };
    Oracle oracle(course.entries);
    table.load(course.entries);
    ASSERT_NO_FATAL_FAILURE(expect_equal(oracle, 0)) << "loaded";

    std::vector<Entry> entries = course.entries;
    std::shuffle(entries.begin(), entries.end(), std::mt19937(4));
    table.load({});
    for (const auto& [prefix, next_hop] : entries) table.insert(prefix, next_hop);
    table.commit();
    ASSERT_NO_FATAL_FAILURE(expect_equal(oracle, 1)) << "inserted";

    for (std::size_t i = 0; i < entries.size(); i += 2) {
      ASSERT_EQ(table.remove(entries[i].prefix), oracle.remove(entries[i].prefix));
    }
    table.commit();
    ASSERT_NO_FATAL_FAILURE(expect_equal(oracle, 2)) << "half removed";
  }

 private:
  /// The right answers are the same on every engine, so the tests of all engines share them.
  struct Course {
    std::vector<Entry> entries;
    std::vector<typename Family::Address> probes;
    std::array<std::vector<std::uint16_t>, 3> right;  ///< By stage and probe; empty until the oracle was asked.
  };

  static Course& course_of(const std::filesystem::path& file, std::size_t prefixes) {
    static std::map<std::filesystem::path, Course> courses;
    Course& course = courses[file];
    if (!course.entries.empty()) return course;
    course.entries = read<Family, Entry>(file, prefixes);
    Random random(4);
    for (const auto& entry : course.entries) prefix_testing::add_probes(entry.prefix, random, course.probes);
    for (int i = 0; i < 100'000; ++i) course.probes.push_back(prefix_testing::any_inside(around(), random));
    return course;
  }

  /// Returns the prefix that all unicast addresses of the family are in.
  static typename Family::Prefix around() {
    if constexpr (Family::kBits == 128) return parse_ipv6_prefix("2000::/3").value();
    return {};
  }

  /// Computes the right answers, and compares the content of the owner with the oracle.
  static void ask(const Lpm& table, const Oracle& oracle, Course& course, std::size_t stage) {
    ASSERT_EQ(prefix_testing::entries_of(table), oracle.entries());
    std::vector<std::uint16_t>& right = course.right[stage];
    for (std::size_t i = 0; i < course.probes.size(); ++i) {
      right.push_back(oracle.next_hop(course.probes[i]));
      if (i % kMatchEvery != 0) continue;
      ASSERT_EQ(table.match(course.probes[i]), oracle.match(course.probes[i])) << to_string(course.probes[i]);
    }
  }
};

}  // namespace penumbra::real_tables
