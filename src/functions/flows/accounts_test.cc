// SPDX-License-Identifier: Apache-2.0
//
// Tests accounts with a manual clock, and with threads that count at the same time.
#include "functions/flows/accounts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "functions/flows/ipfix_testing.h"
#include "tables/flows/flow_testing.h"

namespace penumbra::flows {
namespace {

using namespace testing_support;

Settings settings_of(const std::string& text) {
  return read_settings(ConfigNode::parse(text, "test.yaml", "."));
}

flow_key tcp_flow(std::uint16_t port) {
  return to_key({.is_ipv6 = false,
                 .source = {0, 1},
                 .destination = {0, 2},
                 .source_port = port,
                 .destination_port = 80,
                 .protocol = 6});
}

/// Holds accounts without a thread. The test calls take().
struct World {
  explicit World(const std::string& settings)
      : accounts(settings_of(settings), grace_periods, [this] { return now; }) {}

  /// Processes a packet like a worker.
  void see(const flow_key& key, std::uint8_t flags = 0x10, std::uint32_t bytes = 100) {
    const FlowPacket packet{.bytes = bytes, .time = accounts.now(), .tcp_flags = flags};
    const auto* const view = static_cast<const flows_view*>(accounts.table().view());
    std::uint32_t record = 0;
    flows_lookup(*view, &key, &record, 1);
    if (record != FLOWS_NO_RECORD) {
      if (accounts.count_found(record, packet)) {
        const UnknownPacket ended{.ended = record};
        accounts.take({&ended, 1});
      }
    } else {
      const UnknownPacket unknown{.key = key, .packet = packet};
      accounts.take({&unknown, 1});
    }
  }
  void wait(milliseconds time) {
    for (const milliseconds end = now + time; now < end;) {
      now += milliseconds(50);
      accounts.take({});
      grace_periods.end_all();
    }
    accounts.take({});
  }
  std::map<flow_key, FlowCounts, FlowKeyLess> open() const {
    std::map<flow_key, FlowCounts, FlowKeyLess> found;
    accounts.for_each(
        [&](std::uint32_t /*record*/, const ClosedFlow& flow) { return found.emplace(flow.key, flow.counts).second; });
    return found;
  }

  /// Returns the number of closed accounts, except forced ones.
  std::uint64_t closed() const {
    const EndedFlows flows = accounts.state().closed;
    return flows.idle + flows.active + flows.ended;
  }

  milliseconds now{0xFFFF'FF00};  // its lower half wraps soon
  ManualGracePeriods grace_periods;
  Accounts accounts;
};

class AccountsTest : public testing::Test, protected World {
 protected:
  AccountsTest() : World("{max_flows: 3, idle_timeout: 10s, active_timeout: 60s}") {}
};

TEST_F(AccountsTest, CountsEachPacketOnce) {
  see(tcp_flow(1), 0x02);
  see(tcp_flow(1), 0x10, 50);
  const UnknownPacket told_meanwhile{.key = tcp_flow(1),
                                     .packet = {.bytes = 7, .time = accounts.now() - 5, .tcp_flags = 0x08}};
  accounts.take({&told_meanwhile, 1});
  see(tcp_flow(2));
  const auto flows = open();
  ASSERT_EQ(flows.size(), 2U);
  const FlowCounts& counts = flows.at(tcp_flow(1));
  EXPECT_EQ(counts.packets, 3U);
  EXPECT_EQ(counts.bytes, 157U);
  EXPECT_EQ(counts.tcp_flags, 0x1A);
  EXPECT_EQ(counts.last - counts.first, 5U);
}

TEST_F(AccountsTest, ClosesWhatIsIdle) {
  see(tcp_flow(1));
  wait(milliseconds(9'000));
  see(tcp_flow(2));
  EXPECT_EQ(open().size(), 2U);
  wait(milliseconds(3'000));
  EXPECT_EQ(open().size(), 1U);
  EXPECT_TRUE(open().contains(tcp_flow(2)));
  EXPECT_EQ(accounts.state().closed.idle, 1U);
}

/// Readers of a mirror find a flow until the mirror receives its removal. A grace period that began earlier would not
/// cover these readers.
TEST_F(AccountsTest, TellsMirrorsBeforeItsGracePeriodsBegin) {
  struct Mirror final : TableMirror {
    void published(std::span<const std::byte> /*view*/, std::span<const TableRegion> /*regions*/) override {}
    void changed(std::size_t /*region*/, std::size_t /*offset*/, std::size_t /*bytes*/) override { ++uncommitted; }
    void committed() override { uncommitted = 0; }
    int uncommitted = 0;
  };
  Mirror mirror;
  accounts.table().attach(mirror);
  int periods = 0;
  grace_periods.while_starting = [&] {
    ++periods;
    EXPECT_EQ(mirror.uncommitted, 0);
  };
  see(tcp_flow(1), 0x11);
  see(tcp_flow(2));
  wait(milliseconds(12'000));
  EXPECT_GT(periods, 0);
  EXPECT_EQ(open().size(), 0U);
  grace_periods.while_starting = [] {};
  accounts.table().detach(mirror);
}

TEST_F(AccountsTest, ClosesWhatHasEnded) {
  see(tcp_flow(1), 0x11);
  see(tcp_flow(2), 0x04);
  see(tcp_flow(3), 0x02);
  wait(milliseconds(4'000));
  EXPECT_EQ(open().size(), 1U);
  EXPECT_EQ(accounts.state().closed.ended, 2U);
}

TEST_F(AccountsTest, ClosesWhatGoesOnAndOpensItAgain) {
  for (int i = 0; i < 70; ++i) {
    see(tcp_flow(1));
    wait(milliseconds(1'000));
  }
  EXPECT_EQ(accounts.state().closed.active, 1U);
  EXPECT_EQ(accounts.state().opened, 2U);
  EXPECT_EQ(open().size(), 1U);
}

/// Timeouts may be late by at most a tenth plus 100 ms, independent of the other timeouts.
TEST(AccountsTimes, HoldWhateverTheOthersAre) {
  constexpr milliseconds kTurn(50);
  const auto expect_in_time = [](milliseconds time, milliseconds limit, const std::string& which) {
    EXPECT_GE(time, limit) << which;
    EXPECT_LE(time, limit + limit / 10 + milliseconds(100)) << which;
  };
  for (const char* const idle : {"100ms", "15s", "80s", "1440m"}) {
    for (const char* const active : {"100ms", "1s", "30m"}) {
      const std::string which = std::string("{idle_timeout: ") + idle + ", active_timeout: " + active + "}";
      const Settings settings = settings_of(which);
      World goes_on(which);
      const milliseconds opened = goes_on.now;
      for (milliseconds seen{0}; goes_on.closed() == 0; goes_on.wait(kTurn)) {
        if (goes_on.now - seen < std::min(settings.idle_timeout / 2, milliseconds(10'000))) continue;
        goes_on.see(tcp_flow(1));
        seen = goes_on.now;
      }
      expect_in_time(goes_on.now - opened, settings.active_timeout, "active, " + which);

      World ends(which);
      ends.see(tcp_flow(1), 0x02);
      ends.see(tcp_flow(1), 0x11);
      if (settings.active_timeout > milliseconds(2'000) && settings.idle_timeout > milliseconds(2'000)) {
        ends.wait(milliseconds(700));
        ends.see(tcp_flow(1), 0x10);
      }
      const milliseconds last = ends.now;
      while (ends.closed() == 0) ends.wait(kTurn);
      const milliseconds limit = std::min({settings.active_timeout, settings.idle_timeout, milliseconds(2'000)});
      expect_in_time(ends.now - last, limit, "ended, " + which);
    }
  }
}

TEST_F(AccountsTest, HoldsTimesThatHaveBecomeShorter) {
  see(tcp_flow(1));
  wait(milliseconds(3'000));
  accounts.change(settings_of("{max_flows: 3, idle_timeout: 4s, active_timeout: 60s}"));
  wait(milliseconds(500));
  EXPECT_EQ(open().size(), 1U);
  wait(milliseconds(1'000));
  EXPECT_EQ(accounts.state().closed.idle, 1U);
}

/// A worker that found the record earlier may still count into it.
TEST_F(AccountsTest, KeepsARecordUntilNobodyCountsIntoIt) {
  see(tcp_flow(1));
  now += milliseconds(20'000);
  for (int i = 0; i < 100; ++i) accounts.take({});
  EXPECT_EQ(open().size(), 0U);
  EXPECT_EQ(accounts.state().closed.idle, 0U);
  grace_periods.end_all();
  accounts.take({});
  EXPECT_EQ(accounts.state().closed.idle, 1U);
}

TEST_F(AccountsTest, CountsWhatFindsNoRoom) {
  for (std::uint16_t port = 1; port <= 5; ++port) see(tcp_flow(port));
  EXPECT_EQ(open().size(), 3U);
  EXPECT_EQ(accounts.state().unaccounted.table_full, 2U);
  wait(milliseconds(20'000));
  see(tcp_flow(5));
  EXPECT_EQ(open().size(), 1U);
}

TEST_F(AccountsTest, TakesOverOtherTimes) {
  see(tcp_flow(1));
  accounts.change(settings_of("{max_flows: 9, idle_timeout: 100s, active_timeout: 30s}"));
  wait(milliseconds(20'000));
  EXPECT_EQ(open().size(), 1U);
  EXPECT_EQ(accounts.state().most, 3U);
  wait(milliseconds(25'000));
  EXPECT_EQ(accounts.state().closed.active, 1U);
}

/// Two workers count some hundred flows that begin and end repeatedly. The test compares their packets with the
/// exports.
TEST(AccountsOfThreads, LoseNoPacket) {
  constexpr std::size_t kWorkers = 2, kRounds = 400'000 / kSanitizerScale, kGroup = 100, kGroups = 5;
  Collector collector;
  QuiescentStates states(kWorkers);
  std::atomic<std::int64_t> now{1'000'000};
  // The table never gets full, so that the workers know all unaccounted packets.
  const std::string config = "{max_flows: 100000, idle_timeout: 100ms, active_timeout: 300ms, export: {collector: '" +
                             collector.address() + "'}}";
  auto accounts =
      std::make_unique<Accounts>(settings_of(config), states, [&now] { return milliseconds(now.load()); }, kWorkers);
  accounts->start();
  std::atomic<std::size_t> left = 0, turns = 0;
  std::vector<std::jthread> workers;
  workers.reserve(kWorkers);
  for (std::size_t worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&, worker] {
      Random random(worker);
      for (std::size_t round = 0; round < kRounds; ++round) {
        const std::size_t group = round * 10 * kGroups / kRounds % kGroups;
        const flow_key key = tcp_flow(static_cast<std::uint16_t>(group * kGroup + random.below(kGroup)));
        const FlowPacket packet{.bytes = 10, .time = accounts->now(), .tcp_flags = 0x10};
        const auto* const view = static_cast<const flows_view*>(accounts->table().view());
        std::uint32_t record = 0;
        flows_lookup(*view, &key, &record, 1);
        if (record != FLOWS_NO_RECORD) {
          static_cast<void>(accounts->count_found(record, packet));
        } else {
          accounts->tell({.key = key, .packet = packet}, worker);
        }
        states.quiescent(worker);
        if (round % (kRounds / 1000) == 0) ++now;
        if (round % (kRounds / 50) != 0) continue;
        // The clock waits for the thread that closes accounts.
        for (const std::size_t seen = turns.load(); turns.load() == seen; states.quiescent(worker)) {
          std::this_thread::yield();
        }
      }
      states.leave(worker);
      ++left;
    });
  }
  while (left < kWorkers) {
    accounts->take({});
    collector.collect();
    ++turns;
  }
  workers.clear();
  const std::uint64_t ring_full = accounts->state().unaccounted.ring_full;
  EXPECT_GT(accounts->state().closed.idle + accounts->state().closed.active, kGroup);
  accounts.reset();
  collector.collect();
  std::uint64_t packets = 0, bytes = 0;
  for (const Record& record : collector.records) {
    packets += number(record, kPackets);
    bytes += number(record, kOctets);
  }
  EXPECT_EQ(packets + ring_full, kWorkers * kRounds);
  EXPECT_EQ(bytes, packets * 10);
  EXPECT_GT(packets, 0U);
}

}  // namespace
}  // namespace penumbra::flows
