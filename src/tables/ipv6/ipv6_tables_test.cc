// SPDX-License-Identifier: Apache-2.0
//
// An IPv6 table with real content: tables of Internet routers of 2015, 2021 and 2025. Compiled into each table's test
// program.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engines/conformance.h"
#include "tables/ipv6/ipv6_lookup.h"
#include "tables/ipv6/ipv6_oracle.h"
#include "tables/real_tables.h"

namespace penumbra {
namespace {

using ipv6_oracle::Oracle;

class Ipv6OnRealTables : public testing::TestWithParam<std::string> {
 protected:
  using Course = real_tables::Course<Ipv6Entry, Ipv6Address>;

  void check(const std::string& name, std::size_t prefixes) {
    const std::filesystem::path file = real_tables::path_of(name);
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here";
    Course& course = course_of(file, prefixes);
    NoReaders no_readers;
    const auto table = ipv6_oracle::make_table(no_readers);
    conformance::ShaderRun run(GetParam(), table->shader_name(), table->table());
    real_tables::expect_equal_throughout<Oracle>(*table, course.entries, [&](const Oracle& oracle, std::size_t stage) {
      if (course.right[stage].empty()) {
        ASSERT_NO_FATAL_FAILURE(ask(*table, oracle, course, stage));
      }
      real_tables::expect_answers(run, ipv6_oracle::columns(course.probes), course.right[stage],
                                  [&](std::size_t number) { return to_string(course.probes[number]); });
    });
  }

 private:
  static Course& course_of(const std::filesystem::path& file, std::size_t prefixes) {
    static std::map<std::filesystem::path, Course> courses;
    Course& course = courses[file];
    if (!course.entries.empty()) return course;
    course.entries = real_tables::read<Ipv6, Ipv6Entry>(file, prefixes);
    Random random(4);
    for (const auto& entry : course.entries) ipv6_oracle::add_probes(entry.prefix, random, course.probes);
    for (int i = 0; i < 50'000; ++i) {
      course.probes.push_back({random.next() >> 3 | std::uint64_t{1} << 61, random.next()});
    }
    return course;
  }

  /// Computes the right answers, and compares the owner's match() with the oracle.
  static void ask(const Ipv6Lookup& table, const Oracle& oracle, Course& course, std::size_t stage) {
    std::vector<std::uint16_t> right;
    for (std::size_t i = 0; i < course.probes.size(); ++i) {
      if (stage == 1 && i % 7 != 0) {  // the oracle is slow, and stage 0 has the same content
        right.push_back(course.right[0][i]);
        continue;
      }
      const auto best = oracle.match(course.probes[i]);
      right.push_back(best ? best->next_hop : Ipv6Lookup::kNoRoute);
      if (i % 7 != 0) continue;  // slow
      ASSERT_EQ(table.match(course.probes[i]), best) << to_string(course.probes[i]);
    }
    course.right[stage] = std::move(right);
  }
};

TEST_P(Ipv6OnRealTables, EqualTheOracleOn2015) {
  check("ipasn6_20151101.dat.gz", 27'693);
}
TEST_P(Ipv6OnRealTables, EqualTheOracleOn2021) {
  check("v6_rv_20210117_as293.txt", 105'363);
}
TEST_P(Ipv6OnRealTables, EqualTheOracleOn2021AtAnotherRouter) {
  check("v6_rv_20210117_as53828.txt", 104'235);
}
TEST_P(Ipv6OnRealTables, EqualTheOracleOn2025) {
  check("bart_full_v4v6_2025.txt.gz", 160'147);
}

PENUMBRA_FOR_EACH_ENGINE(Ipv6OnRealTables);

}  // namespace
}  // namespace penumbra
