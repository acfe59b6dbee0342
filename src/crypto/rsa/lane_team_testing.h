// SPDX-License-Identifier: Apache-2.0
//
// Lanes of a warp on a CPU, for tests of the GPU's arithmetic.
#pragma once

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace penumbra::rsa::gpu {

/// A warp of several lanes. Each lane has a stack of its own, and runs until it needs a value of another lane. Then the
/// next lane runs.
class LaneTeam {
 public:
  class Lane {
   public:
    Lane(LaneTeam& team, unsigned index) : team_(&team), index_(index) {}

    unsigned index() const { return index_; }
    std::uint32_t from(std::uint32_t value, unsigned lane) const { return team_->exchange(index_, value)[lane]; }
    std::uint32_t ballot(bool is) const {
      std::uint32_t bits = 0;
      const std::vector<std::uint32_t>& all = team_->exchange(index_, is ? 1 : 0);
      for (unsigned i = 0; i < all.size(); ++i) bits |= all[i] << i;
      return bits;
    }
    void sync() const { team_->let_others_run(index_); }

   private:
    LaneTeam* team_;
    unsigned index_;
  };

  /// Calls function(lane) by all lanes.
  static void run(unsigned lanes, const std::function<void(const Lane&)>& function) {
    LaneTeam team(lanes, function);
    while (team.left_ > 0) {
      for (unsigned i = 0; i < lanes; ++i) {
        if (team.lanes_[i].has_ended) continue;
        running = {&team, i};
        swapcontext(&team.caller_, &team.lanes_[i].context);
      }
    }
  }

 private:
  struct State {
    ucontext_t context{};
    std::vector<std::byte> stack = std::vector<std::byte>(std::size_t{1} << 19);
    unsigned exchanges = 0;
    bool has_ended = false;
  };
  struct Current {
    LaneTeam* team;
    unsigned lane;
  };

  LaneTeam(unsigned lanes, const std::function<void(const Lane&)>& function)
      : function_(function), lanes_(lanes), left_(lanes) {
    for (auto& values : values_) values.resize(lanes);
    for (State& lane : lanes_) {
      getcontext(&lane.context);
      lane.context.uc_stack.ss_sp = lane.stack.data();
      lane.context.uc_stack.ss_size = lane.stack.size();
      lane.context.uc_link = &caller_;
      makecontext(&lane.context, &LaneTeam::run_lane, 0);
    }
  }

  static void run_lane() {
    const Current own = running;
    own.team->function_(Lane(*own.team, own.lane));
    own.team->lanes_[own.lane].has_ended = true;
    --own.team->left_;
  }
  void let_others_run(unsigned index) { swapcontext(&lanes_[index].context, &caller_); }
  /// Returns the values of all lanes. A lane may begin the next exchange before others have read these, so two arrays
  /// alternate.
  const std::vector<std::uint32_t>& exchange(unsigned index, std::uint32_t value) {
    std::vector<std::uint32_t>& all = values_[lanes_[index].exchanges++ % 2];
    all[index] = value;
    let_others_run(index);
    return all;
  }

  static inline Current running{};

  const std::function<void(const Lane&)>& function_;
  ucontext_t caller_{};
  std::vector<State> lanes_;
  std::array<std::vector<std::uint32_t>, 2> values_;
  unsigned left_;
};

}  // namespace penumbra::rsa::gpu
