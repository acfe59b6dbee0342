// SPDX-License-Identifier: Apache-2.0
//
// The megaflows of a function: their table for shaders, their actions and their counters.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "functions/megaflows/actions.h"
#include "functions/megaflows/messages.h"
#include "functions/rule_list/hits.h"
#include "penumbra/function.h"
#include "penumbra/huge_memory.h"
#include "tables/rules_tuple/tuple_rules.h"

namespace penumbra::megaflows {

/// Up to `most` megaflows by ufid. Several threads may change and query the table. Workers read it through table() and
/// the functions that say so.
class FlowTable {
 public:
  static constexpr std::size_t kMostMeters = 65'536;
  using Owner = std::uint64_t;
  /// Owner of the megaflows of commands.
  static constexpr Owner kCommands = 0;

  struct Flow {
    Ufid ufid{};
    // NOLINTBEGIN(readability-redundant-member-init): initialisers may omit the members
    SparseMatch match = {};
    std::vector<Action> actions = {};
    // NOLINTEND(readability-redundant-member-init)
    Owner owner = kCommands;
  };
  struct Row {
    Flow flow;
    rule_list::Hits hits;
  };

  /// `search` is the structure of the table, and `most` at most kMostRules.
  FlowTable(TupleRules::Search search, std::size_t most, std::span<const PortInfo> ports, GracePeriods& grace_periods,
            std::size_t workers);

  /// Takes over the ports. Megaflows that name removed ports stay, and send nothing there.
  void bind(std::span<const PortInfo> ports);
  /// Takes over which ports are down. The outputs of megaflows change at once.
  void set_down(DownPorts down);
  DownPorts down() const;
  /// Returns the names of the ports by index; a removed port has an empty name.
  std::vector<std::string> port_names() const;

  /// Keeps other threads out until the lock is gone, so that a commit() has the caller's changes only.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> hold() const { return std::unique_lock(mutex_); }

  /// Adds a megaflow, or gives a megaflow of the same ufid and match other actions. Takes effect at commit(). Returns
  /// an errno: EEXIST if another megaflow has the match, or the ufid with another match; ENOSPC; EOPNOTSUPP for actions
  /// that cannot be carried out, with the reason in `why`.
  int add(const Flow& flow, std::string& why);
  /// Removes a megaflow. Takes effect at commit(), which makes the counts final. Returns ENOENT if no megaflow has the
  /// ufid.
  int remove(const Ufid& ufid);
  /// Removes all megaflows and meters of an owner. Returns the number of megaflows.
  std::size_t remove_all(Owner owner);
  /// Makes the changes effective at once. If megaflows were removed, waits until no packet can be counted by them.
  void commit();
  /// Returns the last counts of a megaflow that the last commit() removed.
  std::optional<rule_list::Hits> last_counts(const Ufid& ufid) const;

  /// Adds a meter, or gives it another configuration and new counts. Megaflows that use it change at once. Returns
  /// ENOSPC if there are too many.
  int set_meter(const MeterConfig& config, Owner owner);
  /// Removes a meter and returns its last counts. Megaflows that use it keep it. Returns nothing if there is none.
  std::optional<MeterCounts> remove_meter(std::uint32_t number);
  std::optional<MeterCounts> meter_counts(std::uint32_t number) const;
  struct MeterRow {
    MeterConfig config;
    MeterCounts counts;
  };
  /// Returns at most `most` meters, by number.
  std::vector<MeterRow> meters(std::size_t most) const;
  std::size_t meter_count() const;

  std::optional<rule_list::Hits> counts(const Ufid& ufid) const;
  std::optional<Flow> find(const Ufid& ufid) const;
  std::optional<Flow> find(const SparseMatch& match) const;
  std::optional<Flow> find(std::uint32_t number) const;
  /// Returns at most `most` megaflows, in the order in which they were added.
  std::vector<Row> rows(std::size_t most) const;
  std::size_t subtables() const;
  std::size_t memory_bytes() const;
  /// Any thread.
  std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

  const std::string& shader() const { return rules_.shader(); }
  Table& table() { return rules_.table(); }

  // Workers.

  /// Must be called before the worker's first packet.
  void prepare(std::size_t worker) noexcept { hits_.prepare(worker, most_.load(std::memory_order_relaxed)); }
  std::uint32_t state() const noexcept { return rules_.state(); }
  /// Returns the actions of a number that a lookup returned.
  const CompiledActions& actions(std::uint32_t number) const noexcept {
    return *std::atomic_ref(actions_of_[number]).load(std::memory_order_acquire);
  }
  void count(std::size_t worker, std::uint32_t number, std::uint32_t bytes, std::uint64_t now_ms) noexcept {
    hits_.count(worker, number, bytes, now_ms);
  }

 private:
  struct Held {
    Flow flow;
    std::uint32_t number = 0;
    std::uint64_t order = 0;
    std::unique_ptr<CompiledActions> actions;
  };
  struct HashOfUfid {
    std::size_t operator()(const Ufid& ufid) const { return ufid[0] ^ (ufid[1] * 0x9E3779B97F4A7C15U); }
  };
  struct HashOfMatch {
    std::size_t operator()(const SparseMatch& match) const;
  };
  using Flows = std::unordered_map<Ufid, Held, HashOfUfid>;

  struct HeldMeter {
    std::shared_ptr<Meter> meter;
    Owner owner = kCommands;
  };

  /// Throws std::invalid_argument for actions that cannot be carried out.
  CompiledActions compile(const Flow& flow, const DownPorts& down) const;
  void replace_actions(Held& held, std::unique_ptr<CompiledActions> actions);
  std::uint32_t take_number();
  void take_out(Flows::iterator at);

  mutable std::recursive_mutex mutex_;
  const std::size_t limit_;
  GracePeriods& grace_periods_;
  std::vector<PortInfo> ports_;
  DownPorts down_;
  TupleRules rules_;
  Flows flows_;
  std::unordered_map<SparseMatch, Ufid, HashOfMatch> by_match_;
  std::map<std::uint64_t, Ufid> by_order_;
  std::unordered_map<std::uint32_t, Ufid> by_number_;
  std::map<std::uint32_t, HeldMeter> meters_;
  std::uint64_t order_ = 0;
  std::uint32_t next_number_ = 1;
  std::deque<std::uint32_t> free_numbers_;
  std::vector<Held> going_;                                            ///< removed since the last commit
  std::vector<std::unique_ptr<CompiledActions>> replaced_;             ///< workers may still use them
  std::unordered_map<Ufid, rule_list::Hits, HashOfUfid> last_counts_;  ///< of the last commit
  mutable rule_list::HitCounters hits_;
  mutable HugeArray<CompiledActions*> actions_of_{kMostRules + 1};  ///< by number
  std::atomic<std::uint32_t> most_{0};                              ///< the largest number that was ever in use
  std::atomic<std::size_t> size_{0};
};

}  // namespace penumbra::megaflows
