// SPDX-License-Identifier: Apache-2.0
//
// The IPv4 table and its small copy with real content: tables of Internet routers of 2008, 2015 and 2025.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dir24_8.h"
#include "dir24_8_oracle.h"
#include "engines/conformance.h"
#include "tables/ipv4_runs/ipv4_runs.h"
#include "tables/real_tables.h"

namespace penumbra {
namespace {

using dir24_8_oracle::entries_of;
using dir24_8_oracle::Oracle;

class Dir24_8OnRealTables : public testing::TestWithParam<std::string> {
 protected:
  using Course = real_tables::Course<Dir24_8::Entry, std::uint32_t>;

  void check(const std::string& name, std::size_t prefixes) {
    const std::filesystem::path file = real_tables::path_of(name);
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here";
    Course& course = course_of(file, prefixes);
    NoReaders no_readers;
    Dir24_8 table(no_readers);
    Ipv4Runs copy(table.table(), no_readers);
    std::array runs{conformance::ShaderRun(GetParam(), "ipv4_dir24_8", table.table()),
                    conformance::ShaderRun(GetParam(), "ipv4_runs", copy.table())};
    const auto expect_equal = [&](const Oracle& oracle, std::size_t stage) {
      if (course.right[stage].empty()) {
        ASSERT_NO_FATAL_FAILURE(ask(table, oracle, course, stage));
      }
      for (conformance::ShaderRun& run : runs) {
        real_tables::expect_answers(run, course.probes, course.right[stage],
                                    [&](std::size_t number) { return to_string(Ipv4Address{course.probes[number]}); });
      }
    };
    real_tables::expect_equal_throughout<Oracle>(table, course.entries, expect_equal);
  }

 private:
  static Course& course_of(const std::filesystem::path& file, std::size_t prefixes) {
    static std::map<std::filesystem::path, Course> courses;
    Course& course = courses[file];
    if (!course.entries.empty()) return course;
    course.entries = real_tables::read<Ipv4, Dir24_8::Entry>(file, prefixes);
    course.probes = probes(course.entries);
    return course;
  }

  /// Computes the right answers, and compares the content of the owner with the oracle.
  static void ask(const Dir24_8& table, const Oracle& oracle, Course& course, std::size_t stage) {
    ASSERT_EQ(entries_of(table), oracle.entries());
    std::vector<std::uint16_t> right;
    for (const std::uint32_t address : course.probes) {
      const auto best = oracle.match({address});
      right.push_back(best ? best->next_hop : Dir24_8::kNoRoute);
      ASSERT_EQ(table.match({address}), best) << to_string(Ipv4Address{address});
    }
    course.right[stage] = std::move(right);
  }

  /// Returns the first, last and a random address of every prefix and both neighbours, then random addresses.
  static std::vector<std::uint32_t> probes(const std::vector<Dir24_8::Entry>& entries) {
    std::mt19937 random(4);
    std::vector<std::uint32_t> addresses;
    for (const auto& [prefix, next_hop] : entries) {
      const std::uint32_t first = prefix.address.value, last = prefix.last().value;
      const auto inside = static_cast<std::uint32_t>(random()) & ~prefix.mask();
      addresses.insert(addresses.end(), {first, last, first | inside, first - 1, last + 1});
    }
    for (int i = 0; i < 100'000; ++i) addresses.push_back(static_cast<std::uint32_t>(random()));
    return addresses;
  }
};

TEST_P(Dir24_8OnRealTables, EqualsTheOracleOn2008) {
  check("ipasn_20080501.dat.gz", 270'849);
}
TEST_P(Dir24_8OnRealTables, EqualsTheOracleOn2015) {
  check("ipasn6_20151101.dat.gz", 606'138);
}
TEST_P(Dir24_8OnRealTables, EqualsTheOracleOn2025) {
  check("bart_full_v4v6_2025.txt.gz", 901'899);
}

PENUMBRA_FOR_EACH_ENGINE(Dir24_8OnRealTables);

}  // namespace
}  // namespace penumbra
