// SPDX-License-Identifier: Apache-2.0
//
// An IPv6 table with real content: what routers of the Internet held in 2015, 2021 and 2025. Compiled into each table's
// test program.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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
#include "shaders/ipv6/ipv6_lookup.h"
#include "shaders/ipv6/ipv6_oracle.h"

namespace penumbra {
namespace {

using ipv6_oracle::Oracle;

/// The IPv6 prefixes of a text, compressed or not, the first word of each line, with a next hop that the prefix
/// decides.
std::vector<Ipv6Entry> read_table(const std::filesystem::path& file) {
  const std::string command = "gzip --decompress --stdout --force '" + file.string() + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> text(popen(command.c_str(), "r"), pclose);
  if (text == nullptr) throw std::runtime_error("cannot run " + command);
  std::vector<Ipv6Entry> entries;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), text.get()) != nullptr) {
    std::string_view word = line.data();
    word = word.substr(0, word.find_first_of(" \t\r\n"));
    if (word.starts_with(';') || word.find(':') == std::string_view::npos) continue;  // a comment, IPv4
    const auto prefix = parse_ipv6_prefix(word);
    if (!prefix) throw std::runtime_error(file.string() + " has '" + std::string(word) + "' for a prefix");
    const std::uint64_t mixed =
        Random::mixed(prefix->address.high ^ Random::mixed(prefix->address.low + prefix->length));
    entries.push_back({*prefix, static_cast<std::uint16_t>(mixed >> 49)});
  }
  return entries;
}

struct RealTable {
  const char* file;
  std::size_t prefixes;
};

class Ipv6OnRealTables : public testing::TestWithParam<std::string> {
 protected:
  void check(const RealTable& real) {
    const std::filesystem::path file = shared_data(PENUMBRA_SOURCE_FOLDER) / "fib" / real.file;
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here";
    auto entries = read_table(file);
    ASSERT_EQ(entries.size(), real.prefixes);
    for (std::size_t i = 0; i * kSanitizerScale < entries.size(); ++i) entries[i] = entries[i * kSanitizerScale];
    entries.resize((entries.size() + kSanitizerScale - 1) / kSanitizerScale);
    std::vector<Ipv6Address> probes;
    for (const auto& entry : entries) ipv6_oracle::add_probes(entry.prefix, random_, probes);
    for (int i = 0; i < 50'000; ++i) probes.push_back({random_.next() >> 3 | std::uint64_t{1} << 61, random_.next()});
    NoReaders no_readers;
    const auto table = ipv6_oracle::make_table(no_readers);
    conformance::ShaderRun run(GetParam(), table->shader_name(), table->table());
    Oracle oracle;
    for (const auto& [prefix, next_hop] : entries) oracle.insert(prefix, next_hop);
    table->load(entries);
    ASSERT_EQ(table->size(), oracle.size());
    ASSERT_NO_FATAL_FAILURE(expect_equal(*table, run, oracle, probes)) << "loaded";

    // The same content by single changes in a random order.
    std::shuffle(entries.begin(), entries.end(), std::mt19937(4));
    table->load({});
    for (const auto& [prefix, next_hop] : entries) table->insert(prefix, oracle.find(prefix).value());
    table->commit();
    ASSERT_NO_FATAL_FAILURE(expect_equal(*table, run, oracle, probes)) << "inserted";

    // And every other prefix taken out again.
    for (std::size_t i = 0; i < entries.size(); i += 2) {
      ASSERT_EQ(table->remove(entries[i].prefix), oracle.remove(entries[i].prefix));
    }
    table->commit();
    ASSERT_EQ(table->size(), oracle.size());
    ASSERT_NO_FATAL_FAILURE(expect_equal(*table, run, oracle, probes)) << "half removed";
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
    const auto asked = ipv6_oracle::columns(addresses);
    for (const std::uint32_t batch_items : conformance::kBatchSizes) {
      std::vector<std::uint16_t> found(addresses.size());
      run({asked.data()}, {found.data()}, addresses.size(), batch_items);
      const auto [wrong, right] = std::mismatch(found.begin(), found.end(), expected.begin());
      ASSERT_EQ(wrong, found.end()) << to_string(addresses[wrong - found.begin()]) << " gave " << *wrong << " and not "
                                    << *right;
    }
  }

  Random random_{4};
};

TEST_P(Ipv6OnRealTables, EqualTheOracleOn2015) {
  check({"ipasn6_20151101.dat.gz", 27'693});
}
TEST_P(Ipv6OnRealTables, EqualTheOracleOn2021) {
  check({"v6_rv_20210117_as293.txt", 105'363});
}
TEST_P(Ipv6OnRealTables, EqualTheOracleOn2021AtAnotherRouter) {
  check({"v6_rv_20210117_as53828.txt", 104'235});
}
TEST_P(Ipv6OnRealTables, EqualTheOracleOn2025) {
  check({"bart_full_v4v6_2025.txt.gz", 160'147});
}

PENUMBRA_FOR_EACH_ENGINE(Ipv6OnRealTables);

}  // namespace
}  // namespace penumbra
