// SPDX-License-Identifier: Apache-2.0
//
// The benchmark harness behind `penumbra bench`: a list of benchmarks, and interleaved measuring.
//
// The rules that every benchmark keeps:
//   - it checks the answers of all contenders against an oracle before it reports a number (check());
//   - contenders are measured in one process by turns (A B C A B C ...), so that what disturbs the machine disturbs
//   all;
//   - ratios are taken within a round, and then the median over the rounds;
//   - a bar that is missed is told and ends in an exit status of its own, after all the rest has been measured.
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

/// How reports call lookups through an engine.
inline constexpr char kScalarWay[] = "penumbra scalar";
inline constexpr char kGoptWay[] = "penumbra gopt";
/// What a contender with this name is, among Penumbra's and DPDK's.
inline Role role_of(const std::string& contender) {
  return contender.starts_with("rte_") ? Role::rival : Role::ours;
}

inline constexpr unsigned kRounds = 7;  ///< of each comparison: so many for figures to quote

/// What a person may ask for.
struct Options {
  std::vector<std::string> names;               ///< benchmarks and measurements ("E6"), or kAll; empty: nothing
  std::optional<std::filesystem::path> routes;  ///< a route file in place of the generated table
  std::vector<std::filesystem::path> rules;     ///< ClassBench files in place of generated rules (classify)
  unsigned rounds = kRounds;                    ///< measured rounds of each comparison
  std::uint64_t seed = 1;                       ///< of every generated input
  bool large = false;                           ///< sizes too that take many times the memory and time
  bool json = false;                            ///< the document on standard output in place of text
  // NOLINTBEGIN(readability-redundant-member-init): for who leaves them out of an initializer
  /// Seconds for all of it: rounds are fewer then, and what has no time for one is left out.
  std::optional<double> budget = {};
  /// The document's file. What is in it already is not measured again.
  std::optional<std::filesystem::path> output = {};
  // NOLINTEND(readability-redundant-member-init)
};

/// In place of names: every benchmark.
inline constexpr char kAll[] = "all";

/// About how long a benchmark takes: seconds to begin and check, and for each round.
struct Cost {
  double once = 0, a_round = 0;
  bool is_of_each_router = false;  ///< a round takes that for each engine and number of workers (worker_counts())
  double once_on_gpu = 0;          ///< seconds more to begin and check where there is a GPU
  bool is_ours_alone = false;      ///< no measurement of the papers, as cost_here() says

  double of(unsigned rounds) const { return once + a_round * rounds; }
};

/// One benchmark. Registers itself by a namespace-scope constant. Several may have one name: those that measure
/// different things with one set-up.
struct Benchmark {
  std::string name;
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::vector<std::string> measurements = {};  ///< of the papers, {"E6", "E7"}; empty if it is ours alone
  // NOLINTNEXTLINE(readability-redundant-member-init): likewise
  std::string also = {};  ///< a name of others: with these it is measured too, where they can be; empty if none
  std::string measures;   ///< one line
  std::string needs;      ///< what must be there besides the program; empty if nothing
  Cost cost = {};
  bool takes_routes = false;          ///< whether Options::routes has a meaning for it
  bool takes_rules = false;           ///< likewise Options::rules
  Availability (*probe)() = nullptr;  ///< whether this machine can; null: any can
  void (*run)(const Options& options, Report& report) = nullptr;
};

/// What it takes on this machine, with a GPU or without: only who does not fork any more may ask CUDA.
Cost cost_here(const Benchmark& benchmark, bool has_gpu);

/// One of the papers' measurements whose functions are yet to come.
struct Planned {
  std::string measurement, measures, waits_for;
};
const std::vector<Planned>& planned();

/// Adds a benchmark to the list. Returns true.
bool register_benchmark(Benchmark benchmark);
/// Every benchmark of this build: the papers' measurements by number, then the others by name.
const std::vector<Benchmark>& benchmarks();

enum class Outcome {
  ok,          ///< no bar missed; one that could not be shown is named on standard output
  failed,      ///< an answer was wrong or a benchmark could not run, however the bars stand
  bar_missed,  ///< all benchmarks ran, and at least one bar is missed
};

/// Runs the chosen benchmarks, each in a process of its own so that none inherits another's memory, and prints machine,
/// build and results on standard output, and on standard error how far it is. `version` is what `penumbra --version`
/// prints. With `options.json` the document (docs/bench-results.md) goes to `write` in place of the text. Throws
/// std::invalid_argument for an unknown name, for a file that one of the benchmarks has no use for, and for an output
/// file that holds another machine's, build's or input's results; nothing is run then.
Outcome run(const Options& options, const std::string& version, const std::function<void(std::string_view)>& write);

/// Something measured in turn with others: `sample` does a fixed piece of work and returns the figure.
struct Contender {
  std::string name;
  std::function<double()> sample;
  Role role = Role::ours;
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::string curve = {};  ///< as Series::curve
};

/// Whether what contenders do first is as good as what they do later.
enum class FirstRound { unmeasured, measured };

/// Measures the contenders by turns: one round unmeasured, unless the first is as good, then `rounds`. The samples
/// stand in order of rounds.
std::vector<Series> interleave(const std::vector<Contender>& contenders, unsigned rounds,
                               FirstRound first = FirstRound::unmeasured);

/// Thrown when an answer differs from the oracle's: the benchmark then reports nothing.
class WrongAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Seconds on a monotonic clock since an arbitrary moment.
double now();
/// The time stamp counter's frequency in Hz, whatever the core's clock.
double time_stamps_per_second();
/// Seconds that the calling thread has had a core: for work of one thread that waits for nothing, so that a core taken
/// away by another program is not counted.
double thread_time();
/// The same for the threads of a process, by name; of several with one name any one's. Empty if it is gone.
std::map<std::string, double> thread_times(int process);

}  // namespace penumbra::bench
