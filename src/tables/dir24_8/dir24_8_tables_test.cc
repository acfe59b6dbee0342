// SPDX-License-Identifier: Apache-2.0
//
// The IPv4 table and its small copy with real content: tables of Internet routers of 2008, 2015 and 2025.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "base/testing_grace_periods.h"
#include "dir24_8.h"
#include "tables/ipv4_runs/ipv4_runs.h"
#include "tables/real_tables.h"

namespace penumbra {
namespace {

class Dir24_8OnRealTables : public real_tables::Test<Ipv4, Dir24_8, 1> {
 protected:
  void check(const std::string& name, std::size_t prefixes) {
    NoReaders no_readers;
    Dir24_8 table(no_readers);
    Ipv4Runs copy(table.table(), no_readers);
    Test::check(name, prefixes, table, {&table.table(), &copy.table()});
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
