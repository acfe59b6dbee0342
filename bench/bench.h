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
#include <vector>

#include "report.h"

namespace penumbra::bench {

/// How reports call lookups through an engine.
inline constexpr char kScalarWay[] = "penumbra scalar";
inline constexpr char kGoptWay[] = "penumbra gopt";

/// What a person may ask for.
struct Options {
  std::vector<std::string> names;               ///< the benchmarks to run; empty: all
  std::optional<std::filesystem::path> routes;  ///< a route file in place of the generated table
  std::vector<std::filesystem::path> rules;     ///< ClassBench files in place of generated rules (classify)
  unsigned rounds = 7;                          ///< measured rounds of each comparison, at least 7 for figures to quote
  std::uint64_t seed = 1;                       ///< of every generated input
  bool large = false;                           ///< sizes too that take many times the memory and time
  bool json = false;                            ///< one document with every sample in place of text
};

/// One benchmark. Registers itself by a namespace-scope constant.
struct Benchmark {
  std::string name;
  std::string measures;       ///< one line
  std::string needs;          ///< what must be there besides the program; empty if nothing
  unsigned seconds = 0;       ///< about how long it takes
  bool takes_routes = false;  ///< whether Options::routes has a meaning for it
  bool takes_rules = false;   ///< likewise Options::rules
  void (*run)(const Options& options, Report& report) = nullptr;
};

/// Adds a benchmark to the list. Returns true.
bool register_benchmark(Benchmark benchmark);
/// Every benchmark of this build, by name.
const std::vector<Benchmark>& benchmarks();

enum class Outcome {
  ok,          ///< no bar missed; one that could not be shown is named on standard output
  failed,      ///< an answer was wrong or a benchmark could not run, however the bars stand
  bar_missed,  ///< all benchmarks ran, and at least one bar is missed
};

/// Runs the chosen benchmarks, each in a process of its own so that none inherits another's memory, and prints machine,
/// build and results on standard output; the JSON's "met" is true, false for a missed bar, or null if none is missed
/// but one not shown. `version` is what `penumbra --version` prints. Throws std::invalid_argument for an unknown name
/// and for a route file that one of the benchmarks has no use for; nothing is run then.
Outcome run(const Options& options, const std::string& version);

/// Something measured in turn with others: `sample` does a fixed piece of work and returns the figure.
struct Contender {
  std::string name;
  std::function<double()> sample;
};

/// Measures the contenders by turns: one round unmeasured, then `rounds`. The samples stand in order of rounds.
std::vector<Series> interleave(const std::vector<Contender>& contenders, unsigned rounds);

/// Thrown when an answer differs from the oracle's: the benchmark then reports nothing.
class WrongAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Seconds on a monotonic clock since an arbitrary moment.
double now();
/// Seconds that the calling thread has had a core: for work of one thread that waits for nothing, so that a core taken
/// away by another program is not counted.
double thread_time();
/// The same for the threads of a process, by name; of several with one name any one's. Empty if it is gone.
std::map<std::string, double> thread_times(int process);

}  // namespace penumbra::bench
