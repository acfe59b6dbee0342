// SPDX-License-Identifier: Apache-2.0
#include "control/pipeline_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "control/stage_graph.h"
#include "penumbra/errors.h"
#include "penumbra/function.h"

namespace penumbra::control {
namespace {

using Ethertypes = std::set<std::uint16_t>;

const FunctionInfo& info_of(const StageConfig& stage) {
  return *find_function(stage.function);  // read_stage() has checked that the function exists.
}

/// Returns the ethertypes that the functions of `later` claim, without the function's own main ethertype.
Ethertypes left_to_others(const FunctionInfo& info, std::span<const StageConfig> pipeline, const StageSet& later) {
  Ethertypes others;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    if (!later[i]) continue;
    const auto& its = info_of(pipeline[i]).ethertypes;
    others.insert(its.begin(), its.end());
  }
  if (!info.ethertypes.empty()) others.erase(info.ethertypes.front());
  return others;
}

/// The packets that reach a stage.
class Undecided {
 public:
  static Undecided all() {
    Undecided packets;
    packets.left_.reset();
    return packets;
  }

  /// Adds the packets of another way to the same stage.
  void merge(const Undecided& other) {
    if (other.taker_ != nullptr) taker_ = other.taker_;
    if (!left_ || !other.left_) {
      left_.reset();
    } else {
      left_->insert(other.left_->begin(), other.left_->end());
    }
  }
  /// Returns the packets that `stage` does not decide on. `left` are the ethertypes that it leaves to later stages.
  Undecided after(const StageConfig& stage, Ethertypes left) const {
    const FunctionInfo& info = info_of(stage);
    if (info.passes_on == PassesOn::whatever_it_does_not_drop) return *this;
    if (left_) std::erase_if(left, [this](std::uint16_t ethertype) { return !left_->contains(ethertype); });
    Undecided rest;
    rest.left_ = std::move(left);
    rest.taker_ = &stage;
    return rest;
  }

  bool is_all() const { return !left_; }
  bool reaches(const FunctionInfo& info) const {
    if (!left_) return true;
    return info.ethertypes.empty() ? !left_->empty() : left_->contains(info.ethertypes.front());
  }
  /// Returns the function that decides on the packets that do not come, or null if they go to other stages.
  const StageConfig* taker() const { return taker_; }

 private:
  std::optional<Ethertypes> left_ = Ethertypes();  ///< nullopt: packets of all ethertypes.
  const StageConfig* taker_ = nullptr;
};

/// Throws InputError at a `go_to` that leads packets back to a stage in which they were.
void check_loops(std::span<const StageConfig> pipeline, std::span<const StageSet> reachable) {
  const std::vector<std::string> names = stage_names(pipeline);
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    for (const GoTo& go_to : pipeline[i].go_to) {
      // Each loop has a way back to an earlier stage.
      if (go_to.target > i || (go_to.target != i && !reachable[go_to.target][i])) continue;
      throw InputError(go_to.location, fmt::format("packets of {} that go to {} come back to {}; choose a stage from "
                                                   "which no way leads there",
                                                   quote(names[i]), quote(go_to.stage), quote(names[i])));
    }
  }
}

InputError unreached(std::span<const StageConfig> pipeline, std::size_t at, const StageConfig* taker, bool twice) {
  const StageConfig& stage = pipeline[at];
  if (taker == nullptr && at > 0 && info_of(pipeline[at - 1]).passes_on == PassesOn::nothing) taker = &pipeline[at - 1];
  if (taker == nullptr) {
    return {stage.location, fmt::format("no packet reaches {}: packets of earlier functions go to other stages; leave "
                                        "it out, or let packets go to it",
                                        quote(stage.function))};
  }
  return {stage.location, fmt::format("no packet reaches {}: {} in line {} takes them all; {}", quote(stage.function),
                                      quote(taker->function), taker->location.line,
                                      twice ? "leave one of them out" : "put it before " + quote(taker->function))};
}

}  // namespace

std::vector<std::string> check_order(std::span<const StageConfig> pipeline) {
  std::vector<std::string> warnings;
  const std::vector<StageSet> reachable = reachable_stages(pipeline);
  check_loops(pipeline, reachable);
  StageSet named;  // The stages that a `go_to` names.
  for (const StageConfig& stage : pipeline) {
    for (const GoTo& go_to : stage.go_to) named.set(go_to.target);
  }
  std::vector<std::size_t> order(pipeline.size());
  std::iota(order.begin(), order.end(), 0);
  // Without loops, a stage reaches more stages than each stage that it reaches.
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return reachable[i].count(); });
  std::vector<Undecided> coming(pipeline.size() + 1);  // The last element stands for the pipeline's end.
  coming[0] = Undecided::all();
  for (const std::size_t i : order) {
    const StageConfig& stage = pipeline[i];
    const FunctionInfo& info = info_of(stage);
    const auto same = std::ranges::find(pipeline.first(i), stage.function, &StageConfig::function);
    const bool twice = same != pipeline.begin() + static_cast<std::ptrdiff_t>(i);
    const Undecided& undecided = coming[i];
    if (!undecided.reaches(info)) throw unreached(pipeline, i, undecided.taker(), twice);
    if (twice && !named[i]) {
      warnings.emplace_back(
          InputError(stage.location,
                     fmt::format("{} is in line {} already, and packets go through both; leave one out unless "
                                 "that is meant",
                                 quote(stage.function), same->location.line))
              .what());
    } else if (!undecided.is_all() && info.ethertypes.empty() && undecided.taker() != nullptr) {
      warnings.emplace_back(
          InputError(stage.location,
                     fmt::format("{} gets only packets that {} in line {} leaves to functions after it; put it before "
                                 "{} unless that is meant",
                                 quote(stage.function), quote(undecided.taker()->function),
                                 undecided.taker()->location.line, quote(undecided.taker()->function)))
              .what());
    }
    for (const GoTo& go_to : stage.go_to) {
      if (go_to.reason != GoTo::kPass) coming[go_to.target].merge(undecided);
    }
    if (info.passes_on == PassesOn::nothing) continue;
    coming[stage_after(pipeline, i)].merge(undecided.after(stage, left_to_others(info, pipeline, reachable[i])));
  }
  return warnings;
}

}  // namespace penumbra::control
