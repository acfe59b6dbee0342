// SPDX-License-Identifier: Apache-2.0
//
// The engine `auto`: opportunistic offloading (PacketShader, section 7). It has the other engines of this machine as
// members, and each of its queues hands batches to the one that suits the load: docs/auto.md.
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

namespace penumbra::opportunistic {

/// An engine that `auto` can hand batches to.
struct Member {
  std::string name;
  bool is_synchronous = false;  ///< EngineInfo::is_synchronous
  std::unique_ptr<Engine> engine;
};

/// A shader as each member has it. A batch names this one; a member is given its own.
struct SharedShader : Shader {
  std::vector<const Shader*> of_members;  ///< null: that one has no such shader
};

/// Which members a shader's batches on one table go to.
struct Route {
  const SharedShader* shader = nullptr;
  const Table* table = nullptr;
  Taken taken;
  std::vector<MemberCosts> costs;  ///< as far as they are known
  unsigned size_class = 0;         ///< of the table, when these were measured
  bool is_loaded = false;
};

class AutoQueue;

class AutoEngine final : public Engine {
 public:
  /// Members stand best first. `max_delay` in nanoseconds, see take_best(); `now` is the clock of all that it measures.
  AutoEngine(std::vector<Member> members, std::uint64_t max_delay, Now now);
  ~AutoEngine() override;

  const Shader* find_shader(const std::string& name) const override;
  void use_table(Table& table) override;
  void announce(const Shader& shader, const Table& table) override;
  std::unique_ptr<EngineQueue> open_queue() override { return open({}); }
  std::unique_ptr<EngineQueue> open_queue_for(unsigned core) override { return open(core); }
  std::vector<std::string> notes() const override;
  std::vector<EngineCalibration> calibrations() const override;
  /// Chooses for what is expected, and closes its queues into members that are not chosen for any of it.
  void load_calibrations(std::vector<EngineCalibration> calibrations) override;
  /// The accelerators, and for how many workers it was measured.
  std::string calibration_key() const override;
  std::vector<std::pair<std::string, Engine*>> members() const override;

  // Its queues.

  const std::vector<Member>& all() const noexcept { return members_; }
  /// Writes into `ways`, which has room for all members, where batches go: first under light load, then what is worth a
  /// trial. Of what was not expected these are the best member that answers at once, and the others.
  void find_ways(const SharedShader& shader, const Table& table, std::vector<std::size_t>& ways) const noexcept;
  /// For a queue that has none into the member that is taken: the best member that it has one into, if possible one
  /// that answers at once.
  std::size_t in_its_place(const SharedShader& shader,
                           std::span<const std::unique_ptr<EngineQueue>> queues) const noexcept;
  /// The shader that a member has as `own`.
  const SharedShader& shader_of(std::size_t member, const Shader& own) const noexcept;
  void remove(const AutoQueue& queue);

 private:
  std::unique_ptr<EngineQueue> open(std::optional<unsigned> core);
  bool is_candidate(const SharedShader& shader, std::size_t member) const noexcept;
  /// As many as there are workers: each has a queue for every stage.
  std::vector<AutoQueue*> one_queue_a_core() const;
  bool has_queue_into(std::size_t member) const;
  std::optional<Costs> measure_member(const Route& route, std::size_t member) const;
  void choose(Route& route, const std::vector<EngineCalibration>& calibrations);
  void close_what_is_not_taken();
  void add_words(const Route& route);

  const std::vector<Member> members_;
  const std::uint64_t max_delay_;
  const Now now_;
  mutable std::map<std::string, SharedShader> shaders_;  ///< that were asked for: before there are queues
  std::vector<Route> routes_;                            ///< of what is expected; fixed before the first batch
  mutable std::mutex mutex_;                             ///< of these, for whoever asks for notes:
  std::vector<AutoQueue*> queues_;
  std::vector<std::string> words_;  ///< of routes_, and of members without queues
};

}  // namespace penumbra::opportunistic
