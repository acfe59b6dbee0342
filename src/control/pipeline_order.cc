// SPDX-License-Identifier: Apache-2.0
#include "control/pipeline_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "penumbra/errors.h"
#include "penumbra/function.h"

namespace penumbra::control {
namespace {

using Ethertypes = std::set<std::uint16_t>;

const FunctionInfo& info_of(const StageConfig& stage) {
  return *find_function(stage.function);  // read_stage() has checked that the function exists.
}

/// Returns the ethertypes that later functions claim, without the function's own main ethertype.
Ethertypes left_to_others(const FunctionInfo& info, std::span<const StageConfig> later) {
  Ethertypes others;
  for (const StageConfig& stage : later) {
    const auto& its = info_of(stage).ethertypes;
    others.insert(its.begin(), its.end());
  }
  if (!info.ethertypes.empty()) others.erase(info.ethertypes.front());
  return others;
}

/// The packets that are still undecided between two functions.
class Undecided {
 public:
  /// Updates the set after `stage`. `later` are the stages after it.
  void pass(const StageConfig& stage, std::span<const StageConfig> later) {
    const FunctionInfo& info = info_of(stage);
    if (info.passes_on == PassesOn::whatever_it_does_not_drop) return;
    Ethertypes left;
    if (info.passes_on == PassesOn::ethertypes_of_others) left = left_to_others(info, later);
    if (left_) std::erase_if(left, [this](std::uint16_t ethertype) { return !left_->contains(ethertype); });
    left_ = std::move(left);
    taker_ = &stage;
  }

  bool is_all() const { return !left_; }
  bool reaches(const FunctionInfo& info) const {
    if (!left_) return true;
    return info.ethertypes.empty() ? !left_->empty() : left_->contains(info.ethertypes.front());
  }
  const StageConfig& taker() const { return *taker_; }

 private:
  std::optional<Ethertypes> left_;  ///< nullopt: packets of all ethertypes.
  const StageConfig* taker_ = nullptr;
};

}  // namespace

std::vector<std::string> check_order(std::span<const StageConfig> pipeline) {
  std::vector<std::string> warnings;
  Undecided undecided;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const StageConfig& stage = pipeline[i];
    const FunctionInfo& info = info_of(stage);
    const auto same = std::ranges::find(pipeline.first(i), stage.function, &StageConfig::function);
    const bool twice = same != pipeline.begin() + static_cast<std::ptrdiff_t>(i);
    if (!undecided.reaches(info)) {
      const StageConfig& taker = undecided.taker();
      throw InputError(stage.location,
                       fmt::format("no packet reaches {}: {} in line {} takes them all; {}", quote(stage.function),
                                   quote(taker.function), taker.location.line,
                                   twice ? "leave one of them out" : "put it before " + quote(taker.function)));
    }
    if (twice) {
      warnings.emplace_back(
          InputError(stage.location,
                     fmt::format("{} is in line {} already, and packets go through both; leave one out unless "
                                 "that is meant",
                                 quote(stage.function), same->location.line))
              .what());
    } else if (!undecided.is_all() && info.ethertypes.empty()) {
      warnings.emplace_back(
          InputError(stage.location,
                     fmt::format("{} gets only packets that {} in line {} leaves to functions after it; put it before "
                                 "{} unless that is meant",
                                 quote(stage.function), quote(undecided.taker().function),
                                 undecided.taker().location.line, quote(undecided.taker().function)))
              .what());
    }
    undecided.pass(stage, pipeline.subspan(i + 1));
  }
  return warnings;
}

}  // namespace penumbra::control
