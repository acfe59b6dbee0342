// SPDX-License-Identifier: Apache-2.0
//
// The IPv4 table and its small copy with real content: what routers of the Internet held in 2008, 2015 and 2025.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/shared_data.h"
#include "dir24_8.h"
#include "dir24_8_oracle.h"
#include "engines/conformance.h"
#include "shaders/ipv4_runs/ipv4_runs.h"

namespace penumbra {
namespace {

using dir24_8_oracle::entries_of;
using dir24_8_oracle::Oracle;

/// The IPv4 prefixes of a compressed text, the first word of each line, with a next hop that the prefix decides.
std::vector<Dir24_8::Entry> read_table(const std::filesystem::path& file) {
  const std::string command = "gzip --decompress --stdout '" + file.string() + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> text(popen(command.c_str(), "r"), pclose);
  if (text == nullptr) throw std::runtime_error("cannot run " + command);
  std::vector<Dir24_8::Entry> entries;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), text.get()) != nullptr) {
    std::string_view word = line.data();
    word = word.substr(0, word.find_first_of(" \t\r\n"));
    if (word.starts_with(';') || word.find(':') != std::string_view::npos) continue;  // a comment, IPv6
    const auto prefix = parse_ipv4_prefix(word);
    if (!prefix) throw std::runtime_error(file.string() + " has '" + std::string(word) + "' for a prefix");
    const std::uint32_t mixed = (prefix->address.value + prefix->length) * 0x9E3779B1U;
    entries.push_back({*prefix, static_cast<std::uint16_t>(mixed >> 17)});
  }
  return entries;
}

struct RealTable {
  const char* file;
  std::size_t prefixes;
};

class Dir24_8OnRealTables : public testing::TestWithParam<std::string> {
 protected:
  void check(const RealTable& real) {
    const std::filesystem::path file = shared_data(PENUMBRA_SOURCE_FOLDER) / "fib" / real.file;
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here";
    auto entries = read_table(file);
    ASSERT_EQ(entries.size(), real.prefixes);
    for (std::size_t i = 0; i * kSanitizerScale < entries.size(); ++i) entries[i] = entries[i * kSanitizerScale];
    entries.resize((entries.size() + kSanitizerScale - 1) / kSanitizerScale);
    Oracle oracle;
    for (const auto& [prefix, next_hop] : entries) oracle.insert(prefix, next_hop);
    ASSERT_EQ(oracle.size(), entries.size()) << "a prefix stands twice";

    NoReaders no_readers;
    Dir24_8 table(no_readers);
    Ipv4Runs runs(table.table(), no_readers);
    std::array run{conformance::ShaderRun(GetParam(), "ipv4_dir24_8", table.table()),
                   conformance::ShaderRun(GetParam(), "ipv4_runs", runs.table())};
    table.load(entries);
    ASSERT_EQ(table.size(), entries.size());
    ASSERT_EQ(entries_of(table), oracle.entries());
    const auto addresses = probes(entries);
    expect_equal(table, run, oracle, addresses);

    // The same content by single changes in a random order.
    std::shuffle(entries.begin(), entries.end(), random_);
    table.load({});
    for (const auto& [prefix, next_hop] : entries) table.insert(prefix, next_hop);
    table.commit();
    expect_equal(table, run, oracle, addresses);

    // And every other prefix taken out again.
    for (std::size_t i = 0; i < entries.size(); i += 2) {
      ASSERT_EQ(table.remove(entries[i].prefix), oracle.remove(entries[i].prefix));
    }
    table.commit();
    ASSERT_EQ(entries_of(table), oracle.entries());
    std::vector<std::uint32_t> fewer;
    for (std::size_t i = 0; i < addresses.size(); i += 7) fewer.push_back(addresses[i]);
    expect_equal(table, run, oracle, fewer);
  }

 private:
  /// First, last, a random one and both neighbours of every prefix; then any addresses.
  std::vector<std::uint32_t> probes(const std::vector<Dir24_8::Entry>& entries) {
    std::vector<std::uint32_t> addresses;
    for (const auto& [prefix, next_hop] : entries) {
      const std::uint32_t first = prefix.address.value, last = prefix.last().value;
      const auto inside = static_cast<std::uint32_t>(random_()) & ~prefix.mask();
      addresses.insert(addresses.end(), {first, last, first | inside, first - 1, last + 1});
    }
    for (int i = 0; i < 100'000; ++i) addresses.push_back(static_cast<std::uint32_t>(random_()));
    return addresses;
  }

  static void expect_equal(const Dir24_8& table, std::span<conformance::ShaderRun> runs, const Oracle& oracle,
                           const std::vector<std::uint32_t>& addresses) {
    std::vector<std::uint16_t> expected;
    for (const std::uint32_t address : addresses) {
      const auto best = oracle.match({address});
      expected.push_back(best ? best->next_hop : Dir24_8::kNoRoute);
      ASSERT_EQ(table.match({address}), best) << to_string(Ipv4Address{address});
    }
    for (conformance::ShaderRun& run : runs) {
      for (const std::uint32_t batch_items : conformance::kBatchSizes) {
        std::vector<std::uint16_t> found(addresses.size());
        run({addresses.data()}, {found.data()}, addresses.size(), batch_items);
        const auto [wrong, right] = std::mismatch(found.begin(), found.end(), expected.begin());
        ASSERT_EQ(wrong, found.end()) << to_string(Ipv4Address{addresses[wrong - found.begin()]}) << " gave " << *wrong
                                      << " and not " << *right;
      }
    }
  }

  std::mt19937 random_{4};
};

TEST_P(Dir24_8OnRealTables, EqualsTheOracleOn2008) {
  check({"ipasn_20080501.dat.gz", 270'849});
}
TEST_P(Dir24_8OnRealTables, EqualsTheOracleOn2015) {
  check({"ipasn6_20151101.dat.gz", 606'138});
}
TEST_P(Dir24_8OnRealTables, EqualsTheOracleOn2025) {
  check({"bart_full_v4v6_2025.txt.gz", 901'899});
}

PENUMBRA_FOR_EACH_ENGINE(Dir24_8OnRealTables);

}  // namespace
}  // namespace penumbra
