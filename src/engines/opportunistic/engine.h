// SPDX-License-Identifier: Apache-2.0
//
// The engine `auto`: opportunistic offloading (PacketShader, section 7). The members of `auto` are the other engines of
// this machine; each of its queues hands batches to the member that suits the load. See docs/auto.md.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "opportunistic/costs.h"
#include "opportunistic/measuring.h"
#include "penumbra/engine.h"
#include "penumbra/sample_input.h"

namespace penumbra::opportunistic {

/// An engine that `auto` can hand batches to.
struct Member {
  std::string name;
  bool is_synchronous = false;  ///< EngineInfo::is_synchronous.
  std::unique_ptr<Engine> engine;
};

/// A shader with the variant of each member. Batches name this shader; a member receives its own.
struct SharedShader : Shader {
  std::vector<const Shader*> of_members;  ///< Null if the member lacks the shader.
};

/// Members that serve batches with payload of one length class, or all batches of a shader without payload.
struct LengthRoute {
  std::uint32_t length = 0;  ///< Bytes of an item's payload with which the class is measured; 0 without payload.
  Taken taken;
  std::vector<MemberCosts> costs;  ///< Costs that are known.
  bool is_loaded = false;
};

/// Members that serve a shader's batches on one table.
struct Route {
  const SharedShader* shader = nullptr;
  const Table* table = nullptr;
  const SampleInput* sample = nullptr;  ///< Null if none is registered.
  const Table* measured_table = nullptr;
  std::vector<LengthRoute> lengths;  ///< For each length class, or a single one without payload.
  unsigned size_class = 0;           ///< Table::size_class() at the time of measuring.
};

class AutoQueue;

class AutoEngine final : public Engine {
 public:
  /// `members` is ordered best first. `max_delay` is in nanoseconds, see take_best(). `now` is the clock of all
  /// measurements.
  AutoEngine(std::vector<Member> members, std::uint64_t max_delay, Now now);
  ~AutoEngine() override;

  const Shader* find_shader(const std::string& name) const override;
  void use_table(Table& table) override;
  void announce(const Shader& shader, const Table& table) override;
  std::unique_ptr<EngineQueue> open_queue() override { return open({}); }
  std::unique_ptr<EngineQueue> open_queue_for(unsigned core) override { return open(core); }
  std::shared_ptr<void> register_memory(const std::shared_ptr<const HugeMemory>& memory) override;
  std::vector<std::string> notes() const override;
  std::vector<EngineCalibration> calibrations() const override;
  /// Chooses members for the announced pairs of shader and table, and closes queues into members that no pair uses.
  void load_calibrations(std::vector<EngineCalibration> calibrations) override;
  /// Returns the accelerators and the number of workers under which costs were measured.
  std::string calibration_key() const override;
  std::vector<std::pair<std::string, Engine*>> members() const override;

  // The following functions are for queues of this engine.

  const std::vector<Member>& all() const noexcept { return members_; }
  /// Writes the members for batches of `shader` on `table` into `ways`: first the member for light load, then those
  /// worth a trial. `length_class` is an index in kLengths, not used without payload. `ways` must have room for all
  /// members. For a pair that was not announced, the best synchronous member comes first, followed by the others.
  void find_ways(const SharedShader& shader, const Table& table, std::size_t length_class,
                 std::vector<std::size_t>& ways) const noexcept;
  /// Returns the substitute for a chosen member that has no element in `queues`: the best member that has one,
  /// preferably a synchronous member.
  std::size_t in_its_place(const SharedShader& shader,
                           std::span<const std::unique_ptr<EngineQueue>> queues) const noexcept;
  /// Returns the shader whose variant in `member` is `own`.
  const SharedShader& shader_of(std::size_t member, const Shader& own) const noexcept;
  void remove(const AutoQueue& queue);

 private:
  std::unique_ptr<EngineQueue> open(std::optional<unsigned> core);
  bool is_candidate(const SharedShader& shader, std::size_t member) const noexcept;
  /// Returns one queue of each worker; each worker has a queue per stage.
  std::vector<AutoQueue*> one_queue_a_core() const;
  bool has_queue_into(std::size_t member) const;
  std::optional<Costs> measure_member(const Route& route, std::uint32_t length, std::size_t member) const;
  void choose(const Route& route, LengthRoute& at, const std::vector<EngineCalibration>& calibrations);
  void close_what_is_not_taken();
  void add_words(const Route& route, const LengthRoute& at);
  EngineCalibration calibration_of(const Route& route, const LengthRoute& at) const;

  std::vector<std::unique_ptr<SampleInput>> samples_;  ///< Their tables outlive the members.
  const std::vector<Member> members_;
  const std::uint64_t max_delay_;
  const Now now_;
  mutable std::map<std::string, SharedShader>
      shaders_;                ///< Shaders that find_shader() was asked for. Fixed before queues exist.
  std::vector<Route> routes_;  ///< Routes of announced pairs. Fixed before the first batch.
  mutable std::mutex mutex_;   ///< Guards the following fields, which notes() reads on any thread.
  std::vector<AutoQueue*> queues_;
  std::vector<std::string> words_;  ///< Text for routes_, and for members without queues.
};

}  // namespace penumbra::opportunistic
