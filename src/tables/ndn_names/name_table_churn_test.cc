// SPDX-License-Identifier: Apache-2.0
//
// Lookups while names are added, removed and rerouted. A lookup must find the next hop of a name that was present at
// some moment of the lookup. That name must not be shorter than a matching name that was present all the time.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "engines/conformance.h"
#include "name_oracle.h"

namespace penumbra::ndn {
namespace {

using testing_support::any_name;
using testing_support::bytes_of;
using testing_support::Components;
using testing_support::encoded;

constexpr std::size_t kReaders = 2, kBatch = 64, kAsked = 2000, kChanges = 200'000 / kSanitizerScale;

/// The changes of each name: pairs of a number of changes and the next hop from then on.
using History = std::vector<std::pair<std::size_t, std::uint16_t>>;

struct NameScript {
  NameScript() {
    Random random(9);
    while (names.size() < 3000) names.push_back(any_name(random, 6));
    while (asked.size() < kAsked) {
      asked.push_back(any_name(random, 7));
      texts.push_back(encoded(asked.back()));
    }
    while (changes.size() < kChanges) {
      const std::string name = encoded(names[random.below(3000)]);
      const auto next_hop =
          static_cast<std::uint16_t>(random.below(3) == 0 ? NameTable::kNoRoute : random.below(60'000));
      changes.emplace_back(name, next_hop);
      histories[name].emplace_back(changes.size(), next_hop);
    }
  }

  bool right(std::size_t index, std::uint16_t answer, std::size_t first, std::size_t last) const {
    for (std::size_t count = asked[index].size() + 1; count-- > 0;) {
      const auto history = histories.find(encoded(asked[index], count));
      bool always = history != histories.end();
      if (!always) continue;
      std::uint16_t before = NameTable::kNoRoute;
      for (const auto& [change, next_hop] : history->second) {
        if (change > last) break;
        if (change > first) {
          if (before == answer && before != NameTable::kNoRoute) return true;
          always = always && before != NameTable::kNoRoute;
        }
        before = next_hop;
      }
      if (before == answer && before != NameTable::kNoRoute) return true;
      if (always && before != NameTable::kNoRoute) return false;
    }
    return answer == NameTable::kNoRoute;
  }

  std::vector<Components> names, asked;
  std::vector<std::string> texts;
  std::vector<std::pair<std::string, std::uint16_t>> changes;
  std::map<std::string, History> histories;
};

struct Progress {
  std::atomic<std::size_t> begun{0}, complete{0}, wrong{0};
  std::atomic<bool> over{false};
  std::array<std::atomic<std::size_t>, kReaders> lookups{};
};

class NameChurn : public testing::TestWithParam<std::string> {};

TEST_P(NameChurn, AnswersWithWhatWasThereMeanwhile) {
  QuiescentStates states(kReaders);
  NameTable table({1, 2}, states);
  const NameScript script;
  conformance::ShaderRun run(GetParam(), "ndn_names", table.table());
  Progress progress;
  const auto read = [&](conformance::ShaderQueue& lookup, std::size_t reader) {
    Random random(100 + reader);
    std::vector<ndn_names_key> keys(kBatch);
    std::vector<std::uint32_t> found(kBatch);
    std::vector<std::size_t> chosen(kBatch);
    std::vector<std::uint16_t> answers(kBatch);
    while (!progress.over) {
      const std::size_t complete = progress.complete;
      for (std::size_t i = 0; i < kBatch; ++i) {
        chosen[i] = random.below(kAsked);
        table.fill(bytes_of(script.texts[chosen[i]]), keys[i]);
      }
      lookup({keys.data()}, {found.data()}, kBatch, kBatch);
      for (std::size_t i = 0; i < kBatch; ++i) answers[i] = table.next_hop(found[i], bytes_of(script.texts[chosen[i]]));
      const std::size_t begun = progress.begun;
      states.quiescent(reader);
      for (std::size_t i = 0; i < kBatch; ++i) {
        if (!script.right(chosen[i], answers[i], complete, begun)) ++progress.wrong;
      }
      ++progress.lookups[reader];
    }
    states.leave(reader);
  };
  std::vector<std::unique_ptr<conformance::ShaderQueue>> queues;
  queues.reserve(kReaders);
  for (std::size_t reader = 0; reader < kReaders; ++reader) queues.push_back(run.open_queue());
  std::vector<std::thread> readers;
  readers.reserve(kReaders);
  for (std::size_t reader = 0; reader < kReaders; ++reader) {
    readers.emplace_back([&, reader] { read(*queues[reader], reader); });
  }
  for (std::size_t i = 0; i < script.changes.size(); ++i) {
    const auto& [name, next_hop] = script.changes[i];
    progress.begun = i + 1;
    if (next_hop == NameTable::kNoRoute) {
      table.remove(bytes_of(name));
    } else {
      table.insert(bytes_of(name), next_hop);
    }
    table.commit();
    progress.complete = i + 1;
    if ((i + 1) % (kChanges / 8) != 0) continue;
    for (auto& lookups : progress.lookups) {
      for (const std::size_t before = lookups; lookups == before;) std::this_thread::yield();
    }
  }
  progress.over = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(progress.wrong, 0U);
}

PENUMBRA_FOR_EACH_ENGINE(NameChurn);

}  // namespace
}  // namespace penumbra::ndn
