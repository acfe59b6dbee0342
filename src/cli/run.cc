// SPDX-License-Identifier: Apache-2.0
//
// `penumbra run CONFIG`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cmath>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/log.h"
#include "cli/announcement.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/reload.h"
#include "cli/run_summary.h"
#include "cli/service.h"
#include "io/eal.h"
#include "runtime/calibration.h"
#include "runtime/router.h"

namespace penumbra::cli {
namespace {

struct RunOptions {
  std::string config;
  std::optional<double> seconds;
  std::optional<std::uint64_t> packets;
  bool progress = false, json = false;

  runtime::RunLimits limits() const {
    runtime::RunLimits limits;
    if (seconds) limits.time = std::chrono::nanoseconds(std::llround(*seconds * 1e9));
    limits.packets = packets;
    return limits;
  }
};

std::atomic<bool> stop_requested{false};
std::atomic<bool> reload_requested{false};
std::atomic<runtime::Router*> running_router{nullptr};

extern "C" void stop_running_router(int /*signal*/) {
  stop_requested = true;
  if (runtime::Router* router = running_router.load(); router != nullptr) router->stop();
}

extern "C" void request_reload(int /*signal*/) {
  reload_requested = true;
}

/// On SIGHUP, makes the router read its configuration again. A long configuration takes seconds, so a separate thread
/// does it. The log has the result.
class ReloadOnSignal {
 public:
  explicit ReloadOnSignal(runtime::Router& router) : router_(router) {}

  /// Starts a reload if one was requested since the last start and none is in progress.
  void tick() {
    if (under_way_ || !reload_requested.exchange(false)) return;
    under_way_ = true;
    try {
      thread_ = std::jthread([this] {
        reload();
        under_way_ = false;
      });
    } catch (const std::system_error& error) {
      under_way_ = false;
      log_error(fmt::format("reload: {}", error.what()));
    }
  }

 private:
  void reload() {
    try {
      std::istringstream lines(reload_in_words(router_.reload("apply", {}), false));
      for (std::string line; std::getline(lines, line);) log_info("reload: " + line);
    } catch (const std::exception& error) {
      log_error(fmt::format("reload: {}", error.what()));
    }
  }

  runtime::Router& router_;
  std::atomic<bool> under_way_{false};
  std::jthread thread_;  ///< joined before the objects that it uses are destroyed
};

/// Makes SIGINT and SIGTERM stop the current or future router until the program ends, and SIGHUP request a reload. A
/// signal before the router runs leaves no files, and a later signal still gives a summary.
void stop_on_signal() {
  struct sigaction action{};
  action.sa_handler = stop_running_router;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = request_reload;
  sigaction(SIGHUP, &action, nullptr);
}

/// The router that a signal stops. Stops it immediately if the signal has already come.
class Stoppable {
 public:
  explicit Stoppable(runtime::Router& router) {
    running_router = &router;
    if (stop_requested) router.stop();
  }
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;
  ~Stoppable() { running_router = nullptr; }
};

RunSummary summarise(const control::RouterConfig& config, const runtime::Router& router) {
  RunSummary summary;
  summary.statistics = router.statistics();
  summary.device_losses = router.device_losses();
  summary.cores = config.cores;
  summary.ports = router.port_names();
  summary.engines = router.engines();
  for (const auto& engine : router.show("engines", {})) {
    for (const auto& note : engine.at("notes")) {
      summary.notes.emplace_back(engine.at("engine").get<std::string>(), note.get<std::string>());
    }
  }
  summary.memory = io::start_eal({}, 0).memory;
  return summary;
}

/// Stores the calibrations for later runs. A failure is only logged, because it costs no more than the next run's first
/// trials.
void store_calibrations(const runtime::Calibration& calibration, const runtime::Router& router) {
  const auto findings = router.calibrations();
  if (findings.empty()) return;
  try {
    calibration.keep(findings);
  } catch (const std::exception& error) {
    log_warning(error.what());
  }
}

void run(const RunOptions& options) {
  stop_on_signal();
  control::finish_save(options.config);
  const control::RouterConfig config = control::load_config(options.config);
  runtime::Router router(config);
  for (const auto& warning : router.warnings()) log_warning(warning);
  const runtime::Calibration calibration(runtime::Calibration::default_file());
  router.load_calibrations(calibration.load());
  {
    const Stoppable stoppable(router);
    Progress progress(options.progress);
    Service service;
    ReloadOnSignal reload(router);
    bool announced = false;
    router.run(options.limits(), [&](const runtime::Statistics& now) {
      if (!announced) log_info(announcement(config, router));
      announced = true;
      progress.tick(now);
      service.tick([&router] { return router.workers_came_round(); });
      reload.tick();
    });
  }
  log_info("ended");
  store_calibrations(calibration, router);
  const RunSummary summary = summarise(config, router);
  write_output(options.json ? to_json(summary).dump(2) + "\n" : to_text(summary));
  flush_output();
  if (const std::string wrong = contradiction(summary.statistics); !wrong.empty()) {
    throw Failure(ExitCode::mismatch, "the counters do not add up: " + wrong);
  }
  if (const auto failures = router.failures(); !failures.empty()) {
    throw Failure(ExitCode::failure, fmt::format("{}", fmt::join(failures, "\n")));
  }
}

void set_up_run(CLI::App& command) {
  const auto options = std::make_shared<RunOptions>();
  command.add_option("CONFIG", options->config, "The configuration")->required()->type_name("FILE");
  command.add_option("--for", options->seconds, "End after this time: 10s, 250ms, 2m, 1h; a bare number is seconds")
      ->transform(as_seconds())
      ->type_name("TIME");
  command.add_option("--packets", options->packets, "End after so many packets received")
      ->transform(as_count())
      ->type_name("N");
  command.add_flag("--progress", options->progress,
                   "Write a line a second to standard error even if it is no terminal");
  add_json_flag(command, options->json);
  command.footer(
      "A run ends by itself when every source is finite and drained, and cleanly on SIGINT and SIGTERM. On SIGHUP the "
      "router reads its configuration again, as by `penumbra reload`.");
  command.callback([options] { run(*options); });
}

const bool kRunCommand = register_command({"run", "Run a router", set_up_run});

}  // namespace
}  // namespace penumbra::cli
