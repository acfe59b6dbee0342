// SPDX-License-Identifier: Apache-2.0
//
// Measures packet classification on one core while another core inserts, deletes and modifies 100,000 rules a second.
// Each structure runs twice on each engine:
//
//   - With every answer checked: the answer must be the best match among the constant rules, or a changing rule that
//     matches and ranks higher.
//   - In short slices with and without changes in turn, to measure the cost of changes.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench.h"
#include "classifying.h"
#include "lookup_contender.h"
#include "pin.h"
#include "runtime/rcu.h"
#include "tables/rules/rule_structures.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kChangeHeaders = 8192;
constexpr std::size_t kChangeBatch = 64;
constexpr std::uint32_t kStaying = 10'000, kChanging = 10'000;  // Rules.
constexpr double kWantedRuleChanges = 100'000;                  // Per second.
constexpr double kChangeTick = 1e-3;                            // Seconds.
constexpr std::size_t kChangesATick = 105;  // Changes per commit; a little more than wanted, to compensate for delays.
constexpr double kCheckedFor = 1, kSliceFor = 0.2;  // Seconds.

/// A task whose first kStaying rules are constant. Each other rule is absent, present, or modified, which changes its
/// priority. Rule number n is the rule at place n - 1 as it is; its modification has the number n + kChanging.
class ChangingRules {
 public:
  explicit ChangingRules(std::uint64_t seed)
      : task_(make_rule_task("",
                             {.fields = RuleFields::ipv4,
                              .rules = kStaying + kChanging,
                              .classes = 64,
                              .full_classes = 64,
                              .matching_classes = 4,
                              .seed = seed},
                             kChangeHeaders)) {
    for (const RuleWords& header : task_.headers) {
      std::uint32_t best = 0;
      for (std::uint32_t number = 1; number <= kStaying && best == 0; ++number) {
        if (matches(rule(number), task_.fields, header)) best = number;  // The earlier of two constant rules wins.
      }
      winners_.push_back(best);
    }
  }

  const RuleTask& task() const { return task_; }
  std::uint64_t rank(std::uint32_t number) const {
    constexpr std::uint64_t kModified = std::uint64_t{1} << 48;
    return number <= kStaying + kChanging ? rank_at(task_, number - 1) : kModified | rank(number - kChanging);
  }
  const RuleMatch& rule(std::uint32_t number) const {
    return task_.rules[number <= kStaying + kChanging ? number - 1 : number - kChanging - 1].match;
  }
  /// True if the rule `number`, or no rule (0), may win for the header at some time.
  bool may_win(std::size_t header, std::uint32_t number) const {
    const std::uint32_t winner = winners_[header];
    if (number == winner) return true;
    return number > kStaying && number <= kStaying + 2 * kChanging &&
           matches(rule(number), task_.fields, task_.headers[header]) && (winner == 0 || rank(number) > rank(winner));
  }

 private:
  RuleTask task_;
  std::vector<std::uint32_t> winners_;  ///< Best match among the constant rules, by header.
};

/// Makes changes at a constant rate.
class RuleChanger {
 public:
  RuleChanger(RuleTable& table, const ChangingRules& rules) : table_(table), rules_(rules), numbers_(kChanging) {
    for (std::uint32_t number = 1; number <= kStaying; ++number) insert(number);
    table_.commit();
  }

  /// Runs for `seconds` seconds. Late changes are made at once.
  void run(double seconds) {
    const double begin = now();
    const auto ticks = static_cast<std::size_t>(std::lround(seconds / kChangeTick));
    for (std::size_t tick = 0; tick < ticks; ++tick) {
      wait_until(begin + static_cast<double>(tick) * kChangeTick);
      const double turn = thread_time();
      for (std::size_t i = 0; i < kChangesATick; ++i) change(next_ = (next_ + kStep) % kChanging);
      table_.commit();
      busy_ += thread_time() - turn;
    }
    wait_until(begin + seconds);
    seconds_ += now() - begin;
  }
  double changes_per_second() const { return static_cast<double>(changes_) / seconds_; }
  /// Returns the changes per second of busy time, without waits.
  double most_per_second() const { return static_cast<double>(changes_) / busy_; }

 private:
  /// Step from rule to rule, coprime to the number of rules, so that every rule changes once per cycle.
  static constexpr std::uint32_t kStep = 7919;

  static void wait_until(double moment) {
    while (now() < moment) {
    }
  }
  void insert(std::uint32_t number) {
    table_.insert(number, normalised(rules_.rule(number), rules_.task().fields), rules_.rank(number));
  }

  /// Inserts a rule, modifies it, or deletes it, by its present state.
  void change(std::uint32_t index) {
    std::uint32_t& number = numbers_[index];
    const std::uint32_t as_it_is = kStaying + 1 + index;
    const std::uint32_t next = number == 0 ? as_it_is : number == as_it_is ? as_it_is + kChanging : 0;
    if (number != 0) table_.remove(number);
    if (next != 0) insert(next);
    number = next;
    ++changes_;
  }

  RuleTable& table_;
  const ChangingRules& rules_;
  std::uint32_t next_ = 0;
  std::vector<std::uint32_t> numbers_;  ///< Number with which the rule is in the table; 0: it is absent.
  std::uint64_t changes_ = 0;
  double seconds_ = 0, busy_ = 0;
};

/// Runs `work` on the last core, and calls `meanwhile` repeatedly until it ends.
template <class Work, class Meanwhile>
void beside_work(Work work, Meanwhile meanwhile) {
  std::exception_ptr failure;
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    try {
      pin_to_last_core();
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    is_over = true;
  });
  while (!is_over) meanwhile();
  other.join();
  if (failure) std::rethrow_exception(failure);
}

/// Classifies the headers repeatedly on one engine.
class ChangesReader {
 public:
  ChangesReader(const ChangingRules& rules, OnEngine& on, runtime::QsbrGracePeriods::Reader& reader)
      : rules_(rules), keys_(rules.task().fields, rules.task().headers), on_(on), reader_(reader) {}

  void classify_next() {
    at_ = (at_ + kChangeBatch) % kChangeHeaders;
    on_.run(keys_.column(at_), numbers_.data(), kChangeBatch);
    keep(numbers_.data());
    reader_.quiescent();
    classified_ += kChangeBatch;
  }
  void check_next() {
    classify_next();
    for (std::size_t i = 0; i < kChangeBatch; ++i) {
      if (rules_.may_win(at_ + i, numbers_[i])) continue;
      throw WrongAnswer(fmt::format("header {} is never rule {}'s", at_ + i, numbers_[i]));
    }
  }
  std::uint64_t classified() const { return classified_; }
  /// Returns M headers per second of this thread's time during `body`.
  template <class Body>
  double rate_during(Body body) {
    const std::uint64_t before = classified_;
    const double begin = thread_time();
    body();
    return static_cast<double>(classified_ - before) / (thread_time() - begin) * 1e-6;
  }

 private:
  const ChangingRules& rules_;
  RuleKeys keys_;
  OnEngine& on_;
  runtime::QsbrGracePeriods::Reader& reader_;
  std::array<std::uint32_t, kChangeBatch> numbers_{};
  std::size_t at_ = 0;
  std::uint64_t classified_ = 0;
};

void measure_changes(const RuleStructure& structure, const std::string& engine, const ChangingRules& rules,
                     const Options& options, Report& report) {
  runtime::QsbrGracePeriods grace_periods(1);
  const auto table = structure.create(rules.task().fields, options.seed, grace_periods);
  RuleChanger changer(*table, rules);
  OnEngine on(engine, table->table());
  if (!on.has_shader()) return;
  runtime::QsbrGracePeriods::Reader presence(grace_periods, 0);
  ChangesReader reader(rules, on, presence);
  const std::string name = classifier_name(engine, structure.name);
  std::exception_ptr wrong;
  beside_work([&] { changer.run(kCheckedFor); },
              [&] {
                try {
                  wrong ? reader.classify_next() : reader.check_next();
                } catch (...) {
                  wrong = std::current_exception();
                }
              });
  if (wrong) std::rethrow_exception(wrong);
  report.checked(fmt::format("{}: {} answers while rules changed", name, reader.classified()));
  const auto for_a_while = [&] {
    for (const double end = now() + kSliceFor; now() < end;) reader.classify_next();
  };
  const auto beside_changes = [&] { beside_work([&] { changer.run(kSliceFor); }, [&] { reader.classify_next(); }); };
  const auto series = interleave({{"no changes", [&] { return reader.rate_during(for_a_while); }, Role::limit},
                                  {"changes", [&] { return reader.rate_during(beside_changes); }}},
                                 options.rounds);
  report.compare(name + ", without and with changes by turns", "M headers/s/core", series, "no changes");
  report.note(fmt::format("{}: up to {:.0f} changes a second of the thread's time", name, changer.most_per_second()));
  report.bar("rule changes/s during lookups by " + name, changer.changes_per_second(), kWantedRuleChanges, true);
}

void run_changes(const Options& options, Report& report) {
  pin_to_first_core();
  if (first_core() == last_core()) report.note("only one core: the changes take their time from the classification");
  const ChangingRules rules(options.seed);
  report.input("rules",
               fmt::format("of 5 fields in 64 classes, of which four match a header; {} stay, {} are inserted, "
                           "modified and deleted in turn, seed {}",
                           kStaying, kChanging, options.seed));
  report.input("changes", fmt::format("{} every millisecond, and a commit; headers in batches of {}", kChangesATick,
                                      kChangeBatch));
  for (const RuleStructure& structure : rule_structures()) {
    if (structure.name == "linear") continue;
    for (const EngineInfo* info : engines_here()) measure_changes(structure, info->name, rules, options, report);
  }
}

[[maybe_unused]] const bool kChangesBenchmark =
    register_benchmark({.name = "classify-changes",
                        .measures = "classification while 100,000 rules a second change: correctness and what it costs",
                        .needs = "two cores",
                        .cost = {9, 2.5},
                        .run = &run_changes});

}  // namespace
}  // namespace penumbra::bench
