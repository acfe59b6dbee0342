// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "machine.h"

namespace penumbra::bench {
namespace {

std::vector<Benchmark>& list() {
  static std::vector<Benchmark> benchmarks;
  return benchmarks;
}

void print(const char* title, const nlohmann::json& object) {
  fmt::print("{}\n", title);
  for (const auto& [key, value] : object.items()) {
    fmt::print("   {}: {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

/// Lines joined by semicolons.
std::string one_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) text.replace(at, 1, "; ");
  return text;
}

void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "write");
    if (written > 0) done += static_cast<std::size_t>(written);
  }
}

std::string read_all(int file) {
  std::string text;
  for (char buffer[4096];;) {
    const ssize_t count = read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw std::system_error(errno, std::generic_category(), "read");
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

/// In the child: runs the benchmark and writes its findings, or {"benchmark", "error"}.
[[noreturn]] void run_as_child(const Benchmark& benchmark, const Options& options, int results) {
  nlohmann::json findings;
  int status = 0;
  try {
    Report report(benchmark.name, options.json);
    benchmark.run(options, report);
    findings = report.json();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", benchmark.name, error.what());
    findings = {{"benchmark", benchmark.name}, {"error", error.what()}};
    status = 1;
  }
  std::fflush(nullptr);
  write_all(results, findings.dump());
  _exit(status);  // DPDK's threads may still run: no destructors of statics
}

/// Runs one benchmark in a process of its own.
nlohmann::json run_apart(const Benchmark& benchmark, const Options& options) {
  int ends[2];
  if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    close(ends[0]);
    run_as_child(benchmark, options, ends[1]);
  }
  close(ends[1]);
  const std::string text = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  nlohmann::json findings = nlohmann::json::parse(text, nullptr, false);
  if (!findings.is_object()) {
    const std::string error = WIFSIGNALED(status) ? fmt::format("ended by signal {}", WTERMSIG(status))
                                                  : fmt::format("ended with status {}", WEXITSTATUS(status));
    fmt::print(stderr, "{}: {}\n", benchmark.name, error);
    findings = {{"benchmark", benchmark.name}, {"error", error}};
  }
  return findings;
}

std::vector<Benchmark> by_name(const std::vector<std::string>& names) {
  if (names.empty()) return benchmarks();
  std::vector<Benchmark> result;
  for (const std::string& name : names) {
    const auto found = std::find_if(list().begin(), list().end(),
                                    [&name](const Benchmark& benchmark) { return benchmark.name == name; });
    if (found == list().end()) throw std::invalid_argument("no benchmark '" + name + "'; see `penumbra bench --list`");
    result.push_back(*found);
  }
  return result;
}

/// Throws if one of these has no use for the files that were given.
void require_takers(const std::vector<Benchmark>& asked, bool Benchmark::* takes, const char* makes,
                    const char* files) {
  const auto without = std::ranges::find(asked, false, takes);
  if (without == asked.end()) return;
  std::vector<std::string> takers;
  for (const Benchmark& benchmark : list()) {
    if (benchmark.*takes) takers.push_back(benchmark.name);
  }
  throw std::invalid_argument(fmt::format("the benchmark '{}' makes {} of its own; name those that take {}: {}",
                                          without->name, makes, files, fmt::join(takers, " ")));
}

std::vector<Benchmark> chosen(const Options& options) {
  std::vector<Benchmark> result = by_name(options.names);
  if (options.routes) require_takers(result, &Benchmark::takes_routes, "a table", "a route file");
  if (!options.rules.empty()) require_takers(result, &Benchmark::takes_rules, "its rules", "a file of rules");
  return result;
}

void print_bars(const BarCount& bars) {
  fmt::print("\nbars: {} met, {} missed, {} not shown\n", bars.met, bars.missed, bars.not_shown);
}

}  // namespace

bool register_benchmark(Benchmark benchmark) {
  const auto place = std::find_if(list().begin(), list().end(),
                                  [&benchmark](const Benchmark& other) { return other.name > benchmark.name; });
  list().insert(place, std::move(benchmark));
  return true;
}

const std::vector<Benchmark>& benchmarks() {
  return list();
}

std::vector<Series> interleave(const std::vector<Contender>& contenders, unsigned rounds) {
  std::vector<Series> series;
  for (const Contender& contender : contenders) {
    contender.sample();
    series.push_back({contender.name, {}});
  }
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) series[i].samples.push_back(contenders[i].sample());
  }
  return series;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::map<std::string, double> thread_times(int process) {
  std::map<std::string, double> result;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
    std::ifstream names(task.path() / "comm"), times(task.path() / "schedstat");
    std::string name;
    double nanoseconds = 0;
    if (std::getline(names, name) && times >> nanoseconds) result[name] = nanoseconds * 1e-9;
  }
  return result;
}

Outcome run(const Options& options, const std::string& version) {
  const std::vector<Benchmark> selection = chosen(options);
  nlohmann::json document = {{"machine", describe_machine()},
                             {"build", {{"version", one_line(version)}, {"flags", PENUMBRA_FLAGS}}},
                             {"seed", options.seed},
                             {"rounds", options.rounds},
                             {"results", nlohmann::json::array()}};
  if (!options.json) {
    print("machine", document["machine"]);
    print("build", document["build"]);
  }
  bool failed = false;
  for (const Benchmark& benchmark : selection) {
    nlohmann::json findings = run_apart(benchmark, options);
    failed = failed || findings.contains("error");
    document["results"].push_back(std::move(findings));
  }
  const BarCount bars = count_bars(document["results"]);
  document["met"] = bars.missed == 0;
  if (bars.missed == 0 && bars.not_shown != 0) document["met"] = nullptr;
  if (options.json) {
    fmt::print("{}\n", document.dump(2));
  } else {
    print_bars(bars);
  }
  if (failed) return Outcome::failed;
  return bars.missed == 0 ? Outcome::ok : Outcome::bar_missed;
}

}  // namespace penumbra::bench
