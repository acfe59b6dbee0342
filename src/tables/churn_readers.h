// SPDX-License-Identifier: Apache-2.0
//
// Readers of a changing table, for tests. The changes are known in advance, and so are the right answers of each
// address after each change. A reader notes how many changes were complete before its lookup and how many had begun
// after its lookup. The answer must be right after some number of changes between both counts.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/testing_grace_periods.h"
#include "engines/conformance.h"

namespace penumbra::churn {

inline constexpr std::size_t kReaders = 2;
inline constexpr std::size_t kBatch = 64;

/// Right answers of one address: pairs of a number of changes and the answer from then on.
template <class Answer>
using AnswersOf = std::vector<std::pair<std::size_t, Answer>>;
using Answers = AnswersOf<std::uint16_t>;

/// Returns true if `answer` is right after some number of changes from `first` to `last`.
template <class Answer>
bool right_between(const AnswersOf<Answer>& answers, std::type_identity_t<Answer> answer, std::size_t first,
                   std::size_t last) {
  const auto later = [](std::size_t changes, const auto& step) { return changes < step.first; };
  auto step = std::upper_bound(answers.begin(), answers.end(), first, later) - 1;
  for (; step != answers.end() && step->first <= last; ++step) {
    if (step->second == answer) return true;
  }
  return false;
}

/// Progress of the changes, for the readers, and counts of the readers, for the test.
struct Progress {
  std::atomic<std::size_t> begun{0}, complete{0};
  std::atomic<bool> over{false};
  std::array<std::atomic<std::size_t>, kReaders> lookups{};
  std::atomic<std::size_t> wrong{0};
};

/// Looks up random addresses of `columns` until the changes are over. `answers` has the right answers of each address.
template <class Column, class Answer>
void read(conformance::ShaderQueue& lookup, const std::vector<Column>& columns,
          const std::vector<AnswersOf<Answer>>& answers, QuiescentStates& states, std::size_t reader,
          Progress& progress) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(100 + reader));
  std::vector<std::size_t> chosen(kBatch);
  std::vector<Column> addresses(kBatch);
  std::vector<Answer> found(kBatch);
  while (!progress.over) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      chosen[i] = random() % columns.size();
      addresses[i] = columns[chosen[i]];
    }
    const std::size_t complete = progress.complete;
    lookup({addresses.data()}, {found.data()}, kBatch, kBatch);
    const std::size_t begun = progress.begun;
    states.quiescent(reader);
    for (std::size_t i = 0; i < kBatch; ++i) {
      if (!right_between(answers[chosen[i]], found[i], complete, begun)) ++progress.wrong;
    }
    ++progress.lookups[reader];
  }
  states.leave(reader);
}

/// Makes `changes` changes by `apply(number)` while kReaders threads look up. Returns the number of wrong answers.
/// Looks up all addresses after every `round` changes, with no change in progress.
template <class Column, class Answer, class Apply>
std::size_t wrong_answers(conformance::ShaderRun& run, const std::vector<Column>& columns,
                          const std::vector<AnswersOf<Answer>>& answers, QuiescentStates& states, std::size_t changes,
                          std::size_t round, Apply apply) {
  Progress progress;
  std::vector<std::unique_ptr<conformance::ShaderQueue>> queues;
  queues.reserve(kReaders);
  std::vector<std::thread> readers;
  readers.reserve(kReaders);
  for (std::size_t reader = 0; reader < kReaders; ++reader) queues.push_back(run.open_queue());
  for (std::size_t reader = 0; reader < kReaders; ++reader) {
    readers.emplace_back([&, reader] { read(*queues[reader], columns, answers, states, reader, progress); });
  }
  std::vector<Answer> found(columns.size());
  std::size_t wrong_at_rest = 0;
  for (std::size_t i = 0; i < changes; ++i) {
    progress.begun = i + 1;
    apply(i);
    progress.complete = i + 1;
    if ((i + 1) % round != 0) continue;
    // No change is in progress here, so each address has exactly one right answer.
    run({columns.data()}, {found.data()}, found.size(), kBatch);
    for (std::size_t j = 0; j < found.size(); ++j) {
      wrong_at_rest += right_between(answers[j], found[j], i + 1, i + 1) ? 0 : 1;
    }
    for (auto& lookups : progress.lookups) {
      for (const std::size_t before = lookups; lookups == before;) std::this_thread::yield();
    }
  }
  progress.over = true;
  for (auto& reader : readers) reader.join();
  return wrong_at_rest + progress.wrong;
}

}  // namespace penumbra::churn
