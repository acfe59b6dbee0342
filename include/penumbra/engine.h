// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface between functions and engines. An engine is a folder under src/engines that registers an
// EngineInfo. Engines know shaders by name and batches by shape, but not packets.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penumbra/batch.h"
#include "penumbra/huge_memory.h"

namespace penumbra {

/// Tells if an engine can run on this machine. `reason` says why it cannot, or which device was found.
struct Availability {
  bool available = false;
  std::string reason;
};

/// A worker's private access to an engine, used by that worker's thread only. Batches come back in the order of
/// submission, so packets stay in order.
class EngineQueue {
 public:
  enum class Submitted {
    done,    ///< The outputs are written; the batch does not come back through poll().
    queued,  ///< The engine has the batch; poll() will return it.
    full,    ///< The batch was not accepted: call poll(), then try again.
  };

  EngineQueue() = default;
  EngineQueue(const EngineQueue&) = delete;
  EngineQueue& operator=(const EngineQueue&) = delete;
  virtual ~EngineQueue() = default;

  /// Runs `batch` or queues it. The engine must support batch.shader. Never blocks on other threads.
  virtual Submitted submit(Batch& batch) noexcept = 0;
  /// Returns true if functions should prefetch, for each item, the memory that the shader reads first. The shader runs
  /// on the same core next, so the misses overlap with the parsing of other packets (G-Opt, section 4.4). See
  /// Chunk::fetch_ahead.
  virtual bool fetches_ahead() const noexcept { return false; }
  /// Returns the next queued batch that is done, or null.
  virtual Batch* poll() noexcept = 0;
  /// Returns an eventfd that becomes readable soon after a batch in flight may be done, for a service that sleeps in
  /// poll(2) or epoll(7). Returns -1 if no batch is in flight. The queue owns the descriptor. Each call makes it
  /// unreadable and arms it once; call poll() after it and before the sleep. The descriptor may become readable
  /// without a finished batch. An engine that answers `queued` overrides this function. Throws std::system_error if the
  /// process has no descriptor left.
  virtual int wake_descriptor() { return -1; }
  /// Sleeps until poll() returns a batch, and returns the batch. Returns null after `timeout`, or at once if no batch
  /// is in flight. For services: a worker of the router never sleeps here. Throws as wake_descriptor().
  Batch* wait(std::chrono::milliseconds timeout);
  /// Declares memory that columns of later batches may lie in. An engine with its own memory then reads and writes long
  /// columns in place, without a copy on the host. Call during set-up: the call may take as long as touching all of the
  /// memory, unless Engine::register_memory() has registered it. After a device failure, which notes() reports, the
  /// accelerator may still write outputs in this memory.
  virtual void share(std::shared_ptr<const HugeMemory> /*memory*/) {}
  /// Ends share() of the memory, while no batch is in flight.
  virtual void unshare(const HugeMemory& /*memory*/) {}
};

/// A measured optimum of an engine for a shader and one size class of tables.
struct EngineCalibration {
  std::string shader;
  unsigned size_class = 0;  ///< Table::size_class()
  std::uint64_t value = 0;  ///< The best value found, in the engine's own terms.
  double gain = 0;          ///< Speed relative to the simplest configuration, as a factor.
  // NOLINTBEGIN(readability-redundant-member-init): initialisers may omit the members
  std::string calibration_key = {};  ///< The Engine::calibration_key() for which the calibration holds.
  std::vector<double> figures = {};  ///< Further measurements, in the engine's own terms.
  std::uint32_t length = 0;          ///< Bytes of an item's payload with which it was measured; 0 without payload.
  // NOLINTEND(readability-redundant-member-init)
};

/// A place where shaders run. The class is for set-up only; batches go through queues.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  /// Returns the signature of a shader as this engine registered it, or null if the engine has no variant of that name.
  virtual const Shader* find_shader(const std::string& name) const = 0;
  /// Prepares to read `table`; an engine with its own memory attaches a mirror. Call before the first batch that names
  /// the table, on the thread that publishes it. The table must outlive the engine.
  virtual void use_table(Table& table) = 0;
  /// Announces that batches of `shader` on `table` will follow, so that load_calibrations() can calibrate them before
  /// traffic starts. The engine must support `shader` and use `table`.
  virtual void announce(const Shader& /*shader*/, const Table& /*table*/) {}
  /// Returns a queue for one worker. The engine must outlive the queue. Throws std::runtime_error if no more queues are
  /// available.
  virtual std::unique_ptr<EngineQueue> open_queue() = 0;
  /// Returns a queue for a worker that will run on `core`. An engine with several devices selects a near one.
  virtual std::unique_ptr<EngineQueue> open_queue_for(unsigned /*core*/) { return open_queue(); }
  /// Registers memory with the engine's devices until the result is destroyed, so that EngineQueue::share() and
  /// unshare() of it take microseconds. Returns null if the engine has no device. Takes as long as touching all of the
  /// memory. Workers may use their queues meanwhile.
  virtual std::shared_ptr<void> register_memory(const std::shared_ptr<const HugeMemory>& /*memory*/) { return nullptr; }
  /// Returns the engine's measurements and decisions for users, one per line. Any thread.
  virtual std::vector<std::string> notes() const { return {}; }
  /// Returns the calibrations for a later run on this machine. Any thread.
  virtual std::vector<EngineCalibration> calibrations() const { return {}; }
  /// Loads calibrations of an earlier run. The engine may measure missing calibrations of announced shaders now, on
  /// columns of arbitrary values and on sample input (penumbra/sample_input.h), for some tenths of a second. Call
  /// before the first batch. The calibrations are not trusted: they may have any value.
  virtual void load_calibrations(std::vector<EngineCalibration> /*calibrations*/) {}
  /// Returns the conditions of the calibrations apart from machine and build, such as an accelerator's name.
  /// Calibrations of another key are not loaded. Called when queues are open.
  virtual std::string calibration_key() const { return {}; }
  /// Returns the engines, by name, to which this engine hands batches. Callers of notes() and calibrations() also query
  /// the members, and load the members' calibrations first.
  virtual std::vector<std::pair<std::string, Engine*>> members() const { return {}; }
};

/// A numeric setting of an engine: "gopt,width=16". The engine chooses the value if the setting is not given.
struct EngineSetting {
  std::string name;
  std::uint64_t least = 0, most = 0;
  std::string summary;
  std::vector<std::uint64_t> tested;  ///< The values with which the conformance tests run every shader.
};
/// The settings that were given, by name.
using EngineSettings = std::map<std::string, std::uint64_t>;

/// The registration of an engine. `priority` ranks engines: under light load `auto` takes the highest synchronous
/// engine. An engine without `create` is known but not part of this build; its probe says why.
struct EngineInfo {
  std::string name;
  std::string summary;
  int priority = 0;
  bool is_synchronous = false;  ///< True if submit() returns `done`: the engine runs batches on the worker's own core.
  std::vector<EngineSetting> settings;
  Availability (*probe)() = nullptr;
  std::unique_ptr<Engine> (*create)(const EngineSettings& settings) = nullptr;
};

/// Adds an engine to the list and returns true. Call this function to initialise a namespace-scope constant in the
/// engine's own folder.
bool register_engine(EngineInfo info);
/// Returns every engine of this build, best first.
const std::vector<EngineInfo>& engines();
/// Returns the engines that can run on this machine, best first. The list has `auto` only if there is an accelerator to
/// choose.
std::vector<const EngineInfo*> engines_here();
/// Returns the settings of an engine for users: "width=1..256 (SUMMARY)".
std::vector<std::string> describe_settings(const EngineInfo& info);

/// Checks a user's choice of an engine, NAME[,SETTING=NUMBER...]. Throws std::invalid_argument for an unknown name or
/// setting and for a number out of bounds. Does not check that the engine can run on this machine.
void check_engine(const std::string& choice);
/// Returns NAME of a choice.
std::string engine_name(std::string_view choice);
/// Returns why the chosen engine cannot run on this machine, or an empty text if it can. Throws std::invalid_argument
/// for an unknown name.
std::string why_unavailable(const std::string& choice);
/// Creates the chosen engine. Throws like check_engine(), and std::runtime_error with the probe's reason if the engine
/// is not available on this machine.
std::unique_ptr<Engine> create_engine(const std::string& choice);
/// The engine that selects among all other engines at run time.
inline constexpr const char* kAuto = "auto";
/// Returns the engine that will run the shader. `auto` is returned only if several engines are candidates, and
/// otherwise replaced by the only one. Throws like check_engine(). Throws std::runtime_error, which lists the engines
/// with the shader, if the chosen engine lacks it.
std::string resolve_engine(const std::string& choice, const std::string& shader);
/// Returns the best engine on this machine that runs the shader on the worker's own core. Throws std::runtime_error if
/// there is none.
std::string engine_at_once(const std::string& shader);

}  // namespace penumbra
