// SPDX-License-Identifier: Apache-2.0
//
// The seam between functions and engines. An engine is a folder under src/engines that registers one EngineInfo; it
// knows shaders by name and batches by shape, and nothing of packets.
#pragma once

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

/// Whether an engine can run on this machine, and in words why not (or what it found).
struct Availability {
  bool available = false;
  std::string reason;
};

/// A worker's private way into an engine. Used by that one thread. Batches come back in the order in which they went
/// in, so that what was in order stays in order.
class EngineQueue {
 public:
  enum class Submitted {
    done,    ///< the outputs are written; the batch does not come back through poll()
    queued,  ///< the engine has the batch; poll() will hand it back
    full,    ///< not taken: poll, then try again
  };

  EngineQueue() = default;
  EngineQueue(const EngineQueue&) = delete;
  EngineQueue& operator=(const EngineQueue&) = delete;
  virtual ~EngineQueue() = default;

  /// Runs `batch` or takes it for running. batch.shader must be one that the engine supports. Never blocks on other
  /// threads; never throws.
  virtual Submitted submit(Batch& batch) noexcept = 0;
  /// Whether functions are to ask for what a shader reads first of an item while they prepare the next batch: it runs
  /// on the same core next, and the wait then overlaps the other packets' headers (G-Opt, section 4.4). See
  /// Chunk::fetch_ahead.
  virtual bool fetches_ahead() const noexcept { return false; }
  /// The next queued batch that is done, or null.
  virtual Batch* poll() noexcept = 0;
  /// Columns of later batches may lie in this memory: an engine with a memory of its own then reads and writes long
  /// ones where they are, without a copy on the host. Set-up: it may take as long as touching all of the memory.
  /// Whoever shares memory of outputs has to know that an accelerator which the engine gave up for lost (notes() says
  /// so) may still write what it had been given.
  virtual void share(std::shared_ptr<const HugeMemory> /*memory*/) {}
};

/// What an engine has found best for a shader on tables of about one size, by measuring.
struct EngineCalibration {
  std::string shader;
  unsigned size_class = 0;  ///< Table::size_class()
  std::uint64_t value = 0;  ///< what was found best, in the engine's own terms
  double gain = 0;          ///< how many times as fast that is as the plainest way
  // NOLINTBEGIN(readability-redundant-member-init): so g++ lets initialisers leave them out
  std::string calibration_key = {};  ///< Engine::calibration_key() under which that holds
  std::vector<double> figures = {};  ///< more of what was measured, in the engine's own terms
  // NOLINTEND(readability-redundant-member-init)
};

/// A place where shaders run. Set-up only; the work goes through queues.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  /// The shader's signature as this engine registered it; null if the engine has no variant of that name.
  virtual const Shader* find_shader(const std::string& name) const = 0;
  /// Prepares to read the table (an engine with memory of its own attaches a mirror). Before the first batch that names
  /// it, from the thread that publishes the table, which outlives the engine.
  virtual void use_table(Table& table) = 0;
  /// Batches of this shader, one of its own, on this table, which it uses, will come: what it can find out beforehand
  /// it finds out in load_calibrations().
  virtual void announce(const Shader& /*shader*/, const Table& /*table*/) {}
  /// A queue for one worker, which the engine outlives. Throws std::runtime_error when the engine has no more.
  virtual std::unique_ptr<EngineQueue> open_queue() = 0;
  /// The same for a worker that will run on this core: an engine with several devices gives it a near one.
  virtual std::unique_ptr<EngineQueue> open_queue_for(unsigned /*core*/) { return open_queue(); }
  /// What it has found out and decided, a line each, for people. From any thread.
  virtual std::vector<std::string> notes() const { return {}; }
  /// The same for another run on this machine. From any thread.
  virtual std::vector<EngineCalibration> calibrations() const { return {}; }
  /// What an earlier run found, to begin with; what it did not find of the expected may be measured now, on columns of
  /// any values, for some tenths of a second. Before the first batch. Calibrations may be of any value.
  virtual void load_calibrations(std::vector<EngineCalibration> /*calibrations*/) {}
  /// What its calibrations depend on beside this machine and this build, an accelerator's name, say: those made under
  /// other conditions are not recalled. Asked when queues are open.
  virtual std::string calibration_key() const { return {}; }
  /// Engines to which it hands batches on, by name. Whoever asks it for notes and calibrations asks these too, and has
  /// them recall before it does.
  virtual std::vector<std::pair<std::string, Engine*>> members() const { return {}; }
};

/// A number that an engine can be told: "gopt,width=16". Without it the engine decides.
struct EngineSetting {
  std::string name;
  std::uint64_t least = 0, most = 0;
  std::string summary;
  std::vector<std::uint64_t> tested;  ///< the values under which the conformance tests run every shader
};
/// By name; those that were told.
using EngineSettings = std::map<std::string, std::uint64_t>;

/// How an engine presents itself. `priority` ranks engines: of those that answer at once the highest is what `auto`
/// takes under light load. Without `create` the engine is known and no part of this build; its probe says why.
struct EngineInfo {
  std::string name;
  std::string summary;
  int priority = 0;
  bool is_synchronous = false;  ///< submit() answers `done`: it runs batches on the worker's own core
  std::vector<EngineSetting> settings;
  Availability (*probe)() = nullptr;
  std::unique_ptr<Engine> (*create)(const EngineSettings& settings) = nullptr;
};

/// Adds an engine to the list; for a namespace-scope constant in the engine's own folder. Returns true.
bool register_engine(EngineInfo info);
/// Every engine of this build, best first.
const std::vector<EngineInfo>& engines();
/// Those that can run here, best first; the one that chooses among the others only where there is an accelerator to
/// choose.
std::vector<const EngineInfo*> engines_here();
/// What an engine can be told, for people: "width=1..256 (SUMMARY)".
std::vector<std::string> describe_settings(const EngineInfo& info);

/// A person's choice of an engine is a text, NAME[,SETTING=NUMBER...]. Throws std::invalid_argument for an unknown name
/// or setting and for a number out of bounds; whether the engine can run here is seen when it is created.
void check_engine(const std::string& choice);
/// NAME of such a text.
std::string engine_name(std::string_view choice);
/// Why the chosen engine cannot run on this machine; empty if it can. Throws std::invalid_argument for an unknown name.
std::string why_unavailable(const std::string& choice);
/// Creates the chosen engine. Throws like check_engine, and std::runtime_error with the probe's reason when it is not
/// available here.
std::unique_ptr<Engine> create_engine(const std::string& choice);
/// The engine that chooses among all others while it runs.
inline constexpr const char* kAuto = "auto";
/// The engine that shall run the shader: the chosen one; for `auto` only if there is a choice, and otherwise the engine
/// that it would take. Throws likewise, and std::runtime_error with the engines that have it if this one does not.
std::string resolve_engine(const std::string& choice, const std::string& shader);
/// The best engine here that runs the shader on the worker's own core. Throws std::runtime_error if there is none.
std::string engine_at_once(const std::string& shader);

}  // namespace penumbra
