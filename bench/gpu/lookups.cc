// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "gpu/bars.h"
#include "gpu/core_team.h"
#include "gpu/cuda_call.h"
#include "gpu/measurements.h"
#include "gpu/tasks.h"
#include "pin.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::array<std::uint32_t, 8> kBatches{32, 256, 1024, 4096, 16'384, 65'536, 262'144, 1'048'576};
constexpr double kLookupSeconds = 0.05;
/// Look-ups that a thread has in flight, within bounds of its batches: several times what the longest way takes.
constexpr std::uint32_t kItemsInFlight = 1U << 18, kMostBatches = 128;

constexpr char kOnCpu[] = "gopt", kByCopies[] = "cuda", kByMapping[] = "cuda,mapped=1";
/// Blocks enough for the queues of all loads, which are open at the same time.
constexpr char kResident[] = "cuda-resident,slots=24,blocks=512";

/// What the bus can carry at most: a key there and an answer back for each look-up, in large copies and nothing else.
class Bus {
 public:
  explicit Bus(const LookupWork& work)
      : in_(kItems * work.key_bytes()),
        out_(kItems * work.answer_bytes()),
        gpu_in_(in_.size()),
        gpu_out_(out_.size()) {}

  /// Million look-ups a second.
  double rate() const {
    const double begin = now();
    for (unsigned i = 0; i < kCopies; ++i) {
      there_.copy(gpu_in_.data(), in_.data(), in_.bytes());
      back_.copy(out_.data(), gpu_out_.data(), out_.bytes());
    }
    there_.wait();
    back_.wait();
    return kCopies * static_cast<double>(kItems) / (now() - begin) * 1e-6;
  }

 private:
  static constexpr std::size_t kItems = std::size_t{1} << 23;
  static constexpr unsigned kCopies = 16;

  SharedArray<std::byte> in_, out_;
  DeviceArray<std::byte> gpu_in_, gpu_out_;
  Stream there_, back_;
};

/// One engine, a batch size and so many threads, each with a queue of its own.
class Load {
 public:
  Load(Engine& engine, LookupWork& work, std::uint32_t items, unsigned threads)
      : items_(items), in_flight_(std::clamp(kItemsInFlight / items, 4U, kMostBatches)) {
    for (unsigned thread = 0; thread < threads; ++thread) {
      streams_.push_back(std::make_unique<LookupStream>(engine, work, items, in_flight_, thread));
    }
  }

  void check() {
    run_team(threads(), [&](unsigned thread) { streams_[thread]->check(std::uint64_t{3} * in_flight_, in_flight_); });
  }
  /// Million look-ups a second: those whose results came back in time.
  double rate() {
    std::atomic<std::uint64_t> batches{0};
    run_team(threads(),
             [&](unsigned thread) { batches += streams_[thread]->run_until(now() + kLookupSeconds, in_flight_); });
    return static_cast<double>(batches * items_) / kLookupSeconds * 1e-6;
  }
  std::string name() const { return fmt::format("batches of {}, {}", items_, team()); }
  std::string team() const { return fmt::format("{} thread{}", threads(), threads() == 1 ? "" : "s"); }

 private:
  unsigned threads() const { return static_cast<unsigned>(streams_.size()); }

  std::uint32_t items_, in_flight_;
  std::vector<std::unique_ptr<LookupStream>> streams_;
};

/// An engine's loads beside the bus, one batch size after the other; the best of all stands for the engine.
void measure(const char* choice, const Bar* bar, const Task& task, const Bus& bus, const Options& options,
             Report& report) {
  // The kernel that never stops has something of the bus also when nothing is looked up: the limit is the bus alone.
  double alone = 0;
  for (unsigned round = 0; round < options.rounds; ++round) alone = std::max(alone, bus.rate());
  const OpenedEngine opened = open_engine(choice, *task.work);
  if (!opened.engine) {
    report.note(fmt::format("{}: {} is absent: {}", task.name, choice, opened.why_not));
    if (bar != nullptr) report.bar_not_shown(bar->what, opened.why_not);
    return;
  }
  // An engine's own thread needs a core too.
  const unsigned most = std::max(core_count(), 2U) - 1;
  double best = 0;
  for (const std::uint32_t items : kBatches) {
    std::deque<Load> loads;
    std::vector<Contender> turns{
        {"the bus", [&bus] { return bus.rate(); }, Role::limit, fmt::format("the bus beside {}", choice)}};
    for (const unsigned threads : team_sizes({4, most}, most)) {
      Load& load = loads.emplace_back(*opened.engine, *task.work, items, threads);
      load.check();
      turns.push_back(
          {load.name(), [&load] { return load.rate(); }, Role::ours, fmt::format("{}, {}", choice, load.team())});
    }
    const std::vector<Series> series = interleave(turns, options.rounds);
    report.compare(fmt::format("{}: look-ups by {}", task.name, choice), "M lookups/s", series, "the bus",
                   Place{{"E11", task.name, "batch"}, static_cast<double>(items)});
    for (std::size_t i = 1; i < series.size(); ++i) best = std::max(best, spread(series[i].samples).median);
  }
  report_notes(choice, *opened.engine, report);
  report.note(fmt::format("{}: the bus alone {:.0f} M lookups/s, {} at best {:.0f}", task.name, alone, choice, best));
  if (bar != nullptr) bar->tell(report, best / alone);
}

void look_up(const Options& options, const Task& task, Report& report) {
  report.input(task.name, task.description);
  const Bus bus(*task.work);
  measure(kOnCpu, nullptr, task, bus, options, report);
  measure(kByCopies, task.by_cuda, task, bus, options, report);
  measure(kByMapping, nullptr, task, bus, options, report);
  measure(kResident, task.by_resident, task, bus, options, report);
  report.checked(
      fmt::format("{}: every look-up of three rounds of batches of every load equals the oracle's", task.name));
}

}  // namespace

void measure_lookups(const Options& options, Report& report) {
  look_up(options, ipv4_task(options), report);
  for (const Task& task : more_tasks(options)) look_up(options, task, report);
}

}  // namespace penumbra::bench::gpu
