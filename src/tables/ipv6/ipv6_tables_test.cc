// SPDX-License-Identifier: Apache-2.0
//
// An IPv6 table with real content: tables of Internet routers of 2015, 2021 and 2025. Compiled into each table's test
// program.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/testing_grace_periods.h"
#include "tables/ipv6/ipv6_testing.h"
#include "tables/real_tables.h"

namespace penumbra {
namespace {

class Ipv6OnRealTables : public real_tables::Test<Ipv6, Ipv6Lookup, 7> {
 protected:
  void check(const std::string& name, std::size_t prefixes) {
    NoReaders no_readers;
    const std::unique_ptr<Ipv6Lookup> table = ipv6_testing::make_table(no_readers);
    Test::check(name, prefixes, *table, {&table->table()});
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
