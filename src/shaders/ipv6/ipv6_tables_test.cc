// SPDX-License-Identifier: Apache-2.0
//
// An IPv6 table with real content: what routers of the Internet held in 2015, 2021 and 2025. Compiled into each table's
// test program.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/random.h"
#include "engines/conformance.h"
#include "shaders/ipv6/ipv6_lookup.h"
#include "shaders/ipv6/ipv6_oracle.h"
#include "shaders/real_tables.h"

namespace penumbra {
namespace {

using ipv6_oracle::Oracle;

class Ipv6OnRealTables : public testing::TestWithParam<std::string> {
 protected:
  void check(const std::string& name, std::size_t prefixes) {
    const std::filesystem::path file = real_tables::path_of(name);
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here";
    const auto entries = real_tables::read<Ipv6, Ipv6Entry>(file, prefixes);
    Random random(4);
    std::vector<Ipv6Address> probes;
    for (const auto& entry : entries) ipv6_oracle::add_probes(entry.prefix, random, probes);
    for (int i = 0; i < 50'000; ++i) probes.push_back({random.next() >> 3 | std::uint64_t{1} << 61, random.next()});
    NoReaders no_readers;
    const auto table = ipv6_oracle::make_table(no_readers);
    conformance::ShaderRun run(GetParam(), table->shader_name(), table->table());
    real_tables::expect_equal_throughout<Oracle>(
        *table, entries, [&](const Oracle& oracle) { expect_equal(*table, run, oracle, probes); });
  }

 private:
  static void expect_equal(const Ipv6Lookup& table, conformance::ShaderRun& run, const Oracle& oracle,
                           const std::vector<Ipv6Address>& addresses) {
    std::vector<std::uint16_t> expected;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const auto best = oracle.match(addresses[i]);
      expected.push_back(best ? best->next_hop : Ipv6Lookup::kNoRoute);
      if (i % 7 != 0) continue;  // slow
      ASSERT_EQ(table.match(addresses[i]), best) << to_string(addresses[i]);
    }
    real_tables::expect_answers(run, ipv6_oracle::columns(addresses), expected,
                                [&](std::size_t number) { return to_string(addresses[number]); });
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
