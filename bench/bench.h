// SPDX-License-Identifier: Apache-2.0
//
// Benchmark harness of `penumbra-bench`: a list of benchmarks, and interleaved measuring.
//
// Every benchmark keeps these rules:
//   - It checks the answers of all contenders against an oracle before it reports a number (check()).
//   - It measures contenders in one process in turn (A B C A B C ...), so that disturbances affect all.
//   - It takes ratios within a round, and then the median over the rounds.
//   - A missed bar is reported and gives a distinct exit status, after everything else has been measured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/engine.h"
#include "report.h"

namespace penumbra::bench {

/// Names of lookups through an engine in reports.
inline constexpr char kScalarWay[] = "penumbra scalar";
inline constexpr char kGoptWay[] = "penumbra gopt";
/// Returns whose a contender is by its name: DPDK's, or Penumbra's.
inline Role role_of(const std::string& contender) {
  return contender.starts_with("rte_") ? Role::rival : Role::ours;
}

inline constexpr unsigned kRounds = 7;  ///< Rounds of each comparison, enough for figures to quote.

/// Options of a run.
struct Options {
  std::vector<std::string> names;               ///< Benchmarks and measurements ("E6"), or kAll; empty: none.
  std::optional<std::filesystem::path> routes;  ///< A route file to use instead of the generated table.
  std::vector<std::filesystem::path> rules;     ///< ClassBench files to use instead of generated rules (classify).
  unsigned rounds = kRounds;                    ///< Measured rounds of each comparison.
  std::uint64_t seed = 1;                       ///< Seed of every generated input.
  bool large = false;                           ///< Adds sizes that take many times the memory and time.
  bool json = false;                            ///< Prints the document on standard output instead of text.
  // NOLINTBEGIN(readability-redundant-member-init): initializers may omit the members
  /// Time limit of the whole run, seconds. The limit reduces rounds, and skips benchmarks without time for one round.
  std::optional<double> budget = {};
  /// File of the document. Results that it already has are not measured again.
  std::optional<std::filesystem::path> output = {};
  // NOLINTEND(readability-redundant-member-init)
};

/// Used as a name: every benchmark.
inline constexpr char kAll[] = "all";

/// Approximate duration of a benchmark: seconds for set-up and checks, and for each round.
struct Cost {
  double once = 0, a_round = 0;
  bool is_of_each_router =
      false;               ///< True if a round takes that time for each engine and number of workers (worker_counts()).
  double once_on_gpu = 0;  ///< Additional seconds for set-up and checks if there is a GPU.
  bool is_ours_alone = false;  ///< True if it is no measurement of the papers; set by cost_here().

  double of(unsigned rounds) const { return once + a_round * rounds; }
};

/// A benchmark. Each registers itself by a namespace-scope constant. Several may share a name: they measure different
/// things with one set-up.
struct Benchmark {
  std::string name;
  // NOLINTNEXTLINE(readability-redundant-member-init): initializers may omit the member
  std::vector<std::string> measurements =
      {};  ///< Measurements of the papers, {"E6", "E7"}; empty if it belongs to none.
  // NOLINTNEXTLINE(readability-redundant-member-init): initializers may omit the member
  std::string also =
      {};  ///< Name of other benchmarks with which this one is measured too if possible; empty if there are none.
  std::string measures;  ///< One line.
  std::string needs;     ///< Requirements besides the program; empty if there are none.
  Cost cost = {};
  bool takes_routes = false;          ///< True if it uses Options::routes.
  bool takes_rules = false;           ///< True if it uses Options::rules.
  Availability (*probe)() = nullptr;  ///< Returns if this machine can run it; null: any machine can.
  void (*run)(const Options& options, Report& report) = nullptr;
};

/// Returns the cost on this machine, with or without a GPU. The caller passes `has_gpu`, because a process that asks
/// CUDA cannot fork afterwards.
Cost cost_here(const Benchmark& benchmark, bool has_gpu);

/// Adds a benchmark to the list. Always returns true.
bool register_benchmark(Benchmark benchmark);
/// Returns every benchmark of this build: the papers' measurements by number, then the others by name.
const std::vector<Benchmark>& benchmarks();

enum class Outcome {
  ok,          ///< No bar missed; a bar that could not be shown is named on standard output.
  failed,      ///< An answer was wrong or a benchmark could not run; the bars do not matter.
  bar_missed,  ///< All benchmarks ran, and at least one bar is missed.
};

/// Runs the chosen benchmarks, each in its own process so that none inherits another's memory. Prints machine, build
/// and results on standard output, and progress on standard error. `version` is the output of `penumbra --version`.
/// With `options.json`, `write` receives the document (docs/bench-results.md), and no text is printed. Throws
/// std::invalid_argument before anything runs, for an unknown name or a file that a chosen benchmark cannot use. Also
/// throws it for an output file with results of another machine, build or input.
Outcome run(const Options& options, const std::string& version, const std::function<void(std::string_view)>& write);

/// A candidate of a comparison. `sample` does a fixed amount of work and returns the figure.
struct Contender {
  std::string name;
  std::function<double()> sample;
  Role role = Role::ours;
  // NOLINTNEXTLINE(readability-redundant-member-init): initializers may omit the member
  std::string curve = {};  ///< See Series::curve.
};

/// Selects if interleave() starts with an unmeasured round. `measured` requires that the first round is as good as
/// later ones.
enum class FirstRound { unmeasured, measured };

/// Measures the contenders in turn, for `rounds` rounds after an unmeasured one. `first` == FirstRound::measured omits
/// the unmeasured round. The samples are in the order of rounds.
std::vector<Series> interleave(const std::vector<Contender>& contenders, unsigned rounds,
                               FirstRound first = FirstRound::unmeasured);

/// Thrown when an answer differs from the oracle's; the benchmark then reports nothing.
class WrongAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Returns the seconds on a monotonic clock since an arbitrary moment.
double now();
/// Returns the frequency of the time stamp counter in Hz, which does not depend on the core's clock.
double time_stamps_per_second();
/// Returns the seconds for which the calling thread has had a core. Use it for work of one thread that waits for
/// nothing, so that time of other programs on the core is not counted.
double thread_time();
/// Returns the same for the threads of a process, by name; of several threads with one name any one counts. Empty if
/// the process has ended.
std::map<std::string, double> thread_times(int process);

}  // namespace penumbra::bench
