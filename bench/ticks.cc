// SPDX-License-Identifier: Apache-2.0
//
// Measures the ticks of a function: how late a million timers are on a worker that receives as fast as it can, and what
// a function costs that does nothing but tick.
#include <fmt/format.h>
#include <rte_cycles.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/random.h"
#include "bench.h"
#include "control/config.h"
#include "penumbra/deadlines.h"
#include "penumbra/function.h"
#include "pin.h"
#include "runtime/router.h"

namespace penumbra::bench {
namespace {

constexpr std::uint32_t kTimers = 1'000'000;
constexpr std::uint64_t kPeriod = 1'000'000'000;  ///< Period of each timer, nanoseconds.
constexpr std::uint64_t kTickPeriod = 1'000'000;  ///< Period of the function that only ticks, nanoseconds.
constexpr std::chrono::microseconds kTimerStep(500);
constexpr double kTimerSeconds = 2.5, kIdleSeconds = 1;
/// Time without its core, nanoseconds, from which the timers of a tick are not the worker's to answer for.
constexpr std::uint64_t kLostCore = 200'000;

/// Results of a run's timers. The worker writes.
struct TimerResults {
  std::atomic<std::uint64_t> reached{0}, latest{0}, excused{0}, early{0};
};
TimerResults timer_results;

std::uint64_t thread_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

/// Has timers that are set again when they are reached, and drops all packets.
class TimersWorker final : public FunctionWorker {
 public:
  TimersWorker(const Function& function, std::uint32_t timers, std::uint64_t period)
      : function_(function),
        period_(period),
        due_(timers + 1),
        deadlines_(timers, std::chrono::nanoseconds(clock()), kTimerStep) {
    Random random(1);
    const std::uint64_t begin = clock() + 100'000'000;
    for (std::uint32_t timer = 1; timer <= timers; ++timer) {
      set(timer, begin + random.next() % period);
    }
  }

  void process(Chunk& chunk) noexcept override {
    for (std::uint16_t i = 0; i < chunk.size; ++i) chunk.verdicts[i] = function_.drop(0);
  }
  std::uint64_t tick(std::uint64_t now) noexcept override {
    const std::uint64_t ran = thread_nanoseconds();
    const std::uint64_t wall = now - std::exchange(last_, now), own = ran - std::exchange(last_ran_, ran);
    const bool is_excused = !sleeps_ && wall > own + kLostCore;
    deadlines_.take_due(std::chrono::nanoseconds(now), due_.size(),
                        [&](std::uint32_t timer) { reach(timer, is_excused); });
    timer_results.reached.store(reached_, std::memory_order_relaxed);
    timer_results.excused.store(excused_, std::memory_order_relaxed);
    timer_results.latest.store(latest_, std::memory_order_relaxed);
    timer_results.early.store(early_, std::memory_order_relaxed);
    const auto next = deadlines_.next();
    return next == Deadlines::Time::max() ? kNever : static_cast<std::uint64_t>(next.count());
  }
  std::string trace(const Chunk& /*chunk*/, std::uint16_t /*packet*/) const override { return "dropped"; }

 private:
  static std::uint64_t clock() {
    return static_cast<std::uint64_t>(static_cast<double>(rte_rdtsc()) * 1e9 / static_cast<double>(rte_get_tsc_hz()));
  }
  void set(std::uint32_t timer, std::uint64_t due) {
    due_[timer] = due;
    deadlines_.put(timer, std::chrono::nanoseconds(due));
  }
  void reach(std::uint32_t timer, bool is_excused) {
    const std::uint64_t now = clock(), due = due_[timer];
    ++reached_;
    if (now < due) ++early_;
    if (is_excused) {
      ++excused_;
    } else {
      latest_ = std::max(latest_, now - std::min(due, now));
    }
    set(timer, std::max(due, now) + period_);
  }

  const Function& function_;
  const std::uint64_t period_;
  const bool sleeps_ = period_ == kTickPeriod;
  std::vector<std::uint64_t> due_;
  Deadlines deadlines_;
  std::uint64_t last_ = 0, last_ran_ = 0;
  std::uint64_t reached_ = 0, excused_ = 0, latest_ = 0, early_ = 0;
};

class TimersFunction final : public Function {
 public:
  TimersFunction(std::uint32_t timers, std::uint64_t period) : timers_(timers), period_(period) {}
  const std::vector<Reason>& reasons() const override {
    static const std::vector<Reason> kReasons{{"dropped", Verdict::Kind::drop, "every packet"}};
    return kReasons;
  }
  void bind(std::span<const PortInfo> /*ports*/) override {}
  std::unique_ptr<FunctionWorker> open_worker(const WorkerContext& /*context*/) override {
    return std::make_unique<TimersWorker>(*this, timers_, period_);
  }
  std::vector<std::string> differences(const Function& /*next*/, const ConfigNode& /*config*/) const override {
    return {};
  }
  void exchange(Function& /*next*/) override {}
  nlohmann::ordered_json show(std::string_view /*topic*/, std::span<const std::string> /*arguments*/) const override {
    return {};
  }

 private:
  const std::uint32_t timers_;
  const std::uint64_t period_;
};

template <std::uint32_t kCount, std::uint64_t kTime>
std::unique_ptr<Function> make_timers(const ConfigNode& /*config*/, const FunctionContext& /*context*/) {
  return std::make_unique<TimersFunction>(kCount, kTime);
}

[[maybe_unused]] const bool kTimerFunctions =
    register_function({.name = "bench_timers",
                       .summary = "a million timers",
                       .topics = {},
                       .create = &make_timers<kTimers, kPeriod>,
                       .has_ticks = true}) &&
    register_function({.name = "bench_tick",
                       .summary = "one timer of a millisecond",
                       .topics = {},
                       .create = &make_timers<1, kTickPeriod>,
                       .has_ticks = true}) &&
    register_function({.name = "bench_no_tick", .summary = "no timer", .topics = {}, .create = &make_timers<0, 1>});

/// Runs a router with this function and a device for `seconds`. Returns the part of a core that the worker used.
double share_of_core(const std::string& function, const std::string& device, double seconds) {
  control::RouterConfig config = control::parse_config(
      fmt::format("ports: [{{name: a, device: '{}'}}]\nworkers: {{cores: [{}]}}\npipeline: [{}]\n", device,
                  first_core(), function),
      "ticks.yaml", ".");
  config.control.socket.clear();
  runtime::Router router(config);
  double share = 0;
  std::exception_ptr failure;
  std::thread driver([&] {
    try {
      const auto used = [] { return thread_times(getpid()).at("worker-0"); };
      pin_to_last_core();
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      const double begin = now(), before = used();
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      share = (used() - before) / (now() - begin);
    } catch (...) {
      failure = std::current_exception();
    }
    router.stop();
  });
  router.run({}, [](const runtime::Statistics&) {});
  driver.join();
  if (failure) std::rethrow_exception(failure);
  return share;
}

void run_ticks(const Options& options, Report& report) {
  report.input("timers", fmt::format("{} timers of {} s, at random times; the step of the wheel is {} us", kTimers,
                                     kPeriod / 1'000'000'000, kTimerStep.count()));
  Series late{.name = "latest timer", .samples = {}}, reached{.name = "timers", .samples = {}};
  double excused = 0;
  for (unsigned round = 0; round < options.rounds; ++round) {
    share_of_core("bench_timers", "net_null0", kTimerSeconds);
    const double count = static_cast<double>(timer_results.reached.load());
    if (count < kTimers) throw WrongAnswer("not every timer was reached");
    if (timer_results.early.load() != 0) throw WrongAnswer("a timer was reached early");
    late.samples.push_back(static_cast<double>(timer_results.latest.load()) * 1e-6);
    reached.samples.push_back(count * 1e-6);
    excused = std::max(excused, static_cast<double>(timer_results.excused.load()) / count);
  }
  report.checked("every timer was reached, and none early");
  report.note(
      fmt::format("{:.2f}% of the timers at most are left out, because the worker was without its core when "
                  "they were due",
                  100 * excused));
  report.compare("timers that were reached, in millions", "M", std::span(&reached, 1), "");
  report.compare("lateness of the latest of a million timers, on a worker that receives as fast as it can", "ms",
                 std::span(&late, 1), "");
  report.bar("lateness of the latest timer under load, ms", spread(late.samples).median, 2, false);
  const auto idle = [](const char* function) {
    return [function] { return 100 * share_of_core(function, "net_null0,no-rx=1", kIdleSeconds); };
  };
  const std::vector<Series> series = interleave(
      {{"idle", idle("bench_no_tick"), Role::limit}, {"a tick each millisecond", idle("bench_tick")}}, options.rounds);
  report.compare("a worker without packets", "% of a core", series, "idle");
  report.bar("cost of a function that only ticks, % of a core",
             spread(series[1].samples).median - spread(series[0].samples).median, 1, false);
}

[[maybe_unused]] const bool kTicksBenchmark =
    register_benchmark({.name = "ticks",
                        .measures = "a function's ticks: the lateness of a million timers, and what ticks cost",
                        .needs = "",
                        .cost = {1, 8},
                        .run = &run_ticks});

}  // namespace
}  // namespace penumbra::bench
