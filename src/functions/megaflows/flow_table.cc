// SPDX-License-Identifier: Apache-2.0
#include "functions/megaflows/flow_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <stdexcept>
#include <utility>

#include "base/random.h"

namespace penumbra::megaflows {

using packet_fields::in_port_of;

FlowTable::FlowTable(TupleRules::Search search, std::size_t most, std::span<const PortInfo> ports,
                     GracePeriods& grace_periods, std::size_t workers)
    : limit_(most),
      grace_periods_(grace_periods),
      ports_(ports.begin(), ports.end()),
      rules_(search, TupleRules::Sparse{}, std::random_device{}(), grace_periods),
      hits_(workers) {}

std::size_t FlowTable::HashOfMatch::operator()(const SparseMatch& match) const {
  std::uint64_t hash = 0;
  for (std::size_t word = 0; word < match.mask.size(); ++word) {
    hash = Random::mixed(Random::mixed(hash ^ match.value[word]) ^ match.mask[word]);
  }
  return hash;
}

void FlowTable::bind(std::span<const PortInfo> ports) {
  const std::scoped_lock lock(mutex_);
  ports_.assign(ports.begin(), ports.end());
  for (auto& [ufid, held] : flows_) held.actions->sort(ports_);
}

CompiledActions FlowTable::compile(const Flow& flow, const DownPorts& down) const {
  CompiledActions compiled = compile_actions(flow.actions, in_port_of(flow.match), ports_, down);
  for (const Action& action : flow.actions) {
    if (action.kind != Action::Kind::meter) continue;
    const auto found = meters_.find(action.meter);
    if (found == meters_.end()) throw std::invalid_argument(fmt::format("there is no meter {}", action.meter));
    compiled.meters.push_back(found->second.meter);
  }
  return compiled;
}

void FlowTable::replace_actions(Held& held, std::unique_ptr<CompiledActions> actions) {
  std::atomic_ref(actions_of_[held.number]).store(actions.get(), std::memory_order_release);
  replaced_.push_back(std::exchange(held.actions, std::move(actions)));
}

void FlowTable::set_down(DownPorts down) {
  const std::scoped_lock lock(mutex_);
  if (down == down_) return;
  down_ = std::move(down);
  for (auto& [ufid, held] : flows_) {
    try {
      auto actions = std::make_unique<CompiledActions>(compile(held.flow, down_));
      if (actions->down != 0 || held.actions->down != 0) replace_actions(held, std::move(actions));
    } catch (const std::invalid_argument&) {
      continue;  // A port of the megaflow was removed.
    }
  }
  commit();
}

int FlowTable::set_meter(const MeterConfig& config, Owner owner) {
  const std::scoped_lock lock(mutex_);
  if (meters_.size() >= kMostMeters && !meters_.contains(config.number)) return ENOSPC;
  meters_[config.number] = {.meter = std::make_shared<Meter>(config), .owner = owner};
  const auto uses = [&](const Action& action) {
    return action.kind == Action::Kind::meter && action.meter == config.number;
  };
  for (auto& [ufid, held] : flows_) {
    if (std::ranges::none_of(held.flow.actions, uses)) continue;
    try {
      replace_actions(held, std::make_unique<CompiledActions>(compile(held.flow, down_)));
    } catch (const std::invalid_argument&) {
      continue;  // A port of the megaflow, or another meter of it, was removed.
    }
  }
  commit();
  return 0;
}

std::optional<MeterCounts> FlowTable::remove_meter(std::uint32_t number) {
  const std::scoped_lock lock(mutex_);
  const auto found = meters_.find(number);
  if (found == meters_.end()) return std::nullopt;
  MeterCounts counts = found->second.meter->counts();
  meters_.erase(found);
  return counts;
}

std::optional<MeterCounts> FlowTable::meter_counts(std::uint32_t number) const {
  const std::scoped_lock lock(mutex_);
  const auto found = meters_.find(number);
  return found == meters_.end() ? std::nullopt : std::optional(found->second.meter->counts());
}

std::vector<FlowTable::MeterRow> FlowTable::meters(std::size_t most) const {
  const std::scoped_lock lock(mutex_);
  std::vector<MeterRow> rows;
  for (const auto& [number, held] : meters_) {
    if (rows.size() == most) break;
    rows.push_back({held.meter->config(), held.meter->counts()});
  }
  return rows;
}

std::size_t FlowTable::meter_count() const {
  const std::scoped_lock lock(mutex_);
  return meters_.size();
}

DownPorts FlowTable::down() const {
  const std::scoped_lock lock(mutex_);
  return down_;
}

std::vector<std::string> FlowTable::port_names() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  names.reserve(ports_.size());
  for (const PortInfo& port : ports_) names.push_back(port.removed ? "" : port.name);
  return names;
}

/// A number that was removed recently would make the table wait for a grace period, so the oldest one is taken.
std::uint32_t FlowTable::take_number() {
  constexpr std::size_t kResting = 4096;
  if (free_numbers_.size() < kResting && next_number_ <= kMostRules) return next_number_++;
  const std::uint32_t number = free_numbers_.front();
  free_numbers_.pop_front();
  return number;
}

int FlowTable::add(const Flow& flow, std::string& why) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<CompiledActions> actions;
  try {
    compile(flow, {});  // What is possible must not depend on ports that are down.
    actions = std::make_unique<CompiledActions>(compile(flow, down_));
  } catch (const std::invalid_argument& error) {
    why = error.what();
    return EOPNOTSUPP;
  }
  if (const auto known = flows_.find(flow.ufid); known != flows_.end()) {
    Held& held = known->second;
    if (held.flow.match != flow.match) {
      why = "the ufid has another match";
      return EEXIST;
    }
    replace_actions(held, std::move(actions));
    held.flow = flow;
    return 0;
  }
  if (by_match_.contains(flow.match)) {
    why = "another megaflow has the match";
    return EEXIST;
  }
  if (flows_.size() >= limit_) {
    why = "there are as many megaflows as the configuration allows";
    return ENOSPC;
  }
  const std::uint32_t number = take_number();
  try {
    rules_.insert(number, flow.match);
  } catch (const std::length_error& error) {
    free_numbers_.push_back(number);
    why = error.what();
    return ENOSPC;
  }
  hits_.clear(number);
  std::atomic_ref(actions_of_[number]).store(actions.get(), std::memory_order_release);
  most_.store(std::max(most_.load(std::memory_order_relaxed), number), std::memory_order_relaxed);
  by_match_.emplace(flow.match, flow.ufid);
  by_order_.emplace(++order_, flow.ufid);
  by_number_.emplace(number, flow.ufid);
  flows_.emplace(flow.ufid, Held{.flow = flow, .number = number, .order = order_, .actions = std::move(actions)});
  size_.store(flows_.size(), std::memory_order_relaxed);
  return 0;
}

void FlowTable::take_out(Flows::iterator at) {
  Held& held = at->second;
  rules_.remove(held.number);
  by_match_.erase(held.flow.match);
  by_order_.erase(held.order);
  by_number_.erase(held.number);
  going_.push_back(std::move(held));
  flows_.erase(at);
  size_.store(flows_.size(), std::memory_order_relaxed);
}

int FlowTable::remove(const Ufid& ufid) {
  const std::scoped_lock lock(mutex_);
  const auto at = flows_.find(ufid);
  if (at == flows_.end()) return ENOENT;
  take_out(at);
  return 0;
}

std::size_t FlowTable::remove_all(Owner owner) {
  const std::scoped_lock lock(mutex_);
  std::size_t removed = 0;
  for (auto at = flows_.begin(); at != flows_.end();) {
    const auto next = std::next(at);
    if (at->second.flow.owner == owner) {
      take_out(at);
      ++removed;
    }
    at = next;
  }
  std::erase_if(meters_, [owner](const auto& each) { return each.second.owner == owner; });
  return removed;
}

void FlowTable::commit() {
  const std::scoped_lock lock(mutex_);
  rules_.commit();
  last_counts_.clear();
  if (going_.empty() && replaced_.empty()) return;
  grace_periods_.elapsed(grace_periods_.start(), true);
  for (const Held& held : going_) {
    last_counts_[held.flow.ufid] = hits_.of(held.number);
    free_numbers_.push_back(held.number);
  }
  going_.clear();
  replaced_.clear();
}

std::optional<rule_list::Hits> FlowTable::last_counts(const Ufid& ufid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = last_counts_.find(ufid);
  return found == last_counts_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<rule_list::Hits> FlowTable::counts(const Ufid& ufid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = flows_.find(ufid);
  return found == flows_.end() ? std::nullopt : std::optional(hits_.of(found->second.number));
}

std::optional<FlowTable::Flow> FlowTable::find(const Ufid& ufid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = flows_.find(ufid);
  return found == flows_.end() ? std::nullopt : std::optional(found->second.flow);
}

std::optional<FlowTable::Flow> FlowTable::find(const SparseMatch& match) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_match_.find(match);
  return found == by_match_.end() ? std::nullopt : std::optional(flows_.at(found->second).flow);
}

std::optional<FlowTable::Flow> FlowTable::find(std::uint32_t number) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? std::nullopt : std::optional(flows_.at(found->second).flow);
}

std::vector<FlowTable::Row> FlowTable::rows(std::size_t most) const {
  const std::scoped_lock lock(mutex_);
  std::vector<Row> rows;
  for (const auto& [order, ufid] : by_order_) {
    if (rows.size() == most) break;
    const Held& held = flows_.at(ufid);
    rows.push_back({held.flow, hits_.of(held.number)});
  }
  return rows;
}

std::size_t FlowTable::subtables() const {
  const std::scoped_lock lock(mutex_);
  return rules_.subtables();
}

std::size_t FlowTable::memory_bytes() const {
  const std::scoped_lock lock(mutex_);
  return rules_.memory_bytes();
}

}  // namespace penumbra::megaflows
