// SPDX-License-Identifier: Apache-2.0
#include "functions/gswitch/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace penumbra::gswitch {
namespace {

using control::rules::FlowAction;
using control::rules::FlowActions;

std::vector<std::uint16_t> all_ports(std::size_t count) {
  std::vector<std::uint16_t> ports(count);
  for (std::size_t i = 0; i < count; ++i) ports[i] = static_cast<std::uint16_t>(i);
  return ports;
}

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument(why);
}

/// Carries out the actions of a flow on paper.
class Planner {
 public:
  explicit Planner(std::size_t router_ports) : router_ports_(router_ports), is_taken_(router_ports) {}

  void take(const FlowAction& action);
  Plan finish() && { return std::move(plan_); }

 private:
  void output(std::uint16_t port);
  void output_alone(Plan::Kind kind, const char* name);
  void add(std::span<const std::uint16_t> ports);

  std::size_t router_ports_;
  Plan plan_;
  FlowActions sets_;  ///< since the last output
  std::size_t likenesses_ = 0;
  std::vector<bool> is_taken_;
};

void Planner::take(const FlowAction& action) {
  if (action.kind == FlowAction::Kind::enqueue) refuse("'enqueue' cannot be done: ports have no queues to choose from");
  if (action.kind == FlowAction::Kind::output) {
    output(static_cast<std::uint16_t>(action.value));
  } else {
    sets_.push_back(action);
  }
}

void Planner::output(std::uint16_t port) {
  using namespace control::rules;
  switch (port) {
    case kInPort:
      return output_alone(Plan::Kind::in_port, "in_port");
    case kControllerPort:
      return output_alone(Plan::Kind::to_controller, "controller");
    case kLocalPort:
      return output_alone(Plan::Kind::to_local, "local");
    case kFloodPort:
    case kAllPorts:
      return add(all_ports(router_ports_));
    case kNormalPort:
      refuse("'normal' cannot be done: this is no switch that learns (that is the function l2)");
    default:
      if (port < 1 || port > router_ports_) {
        refuse(fmt::format("there is no port {}: the router's are 1 to {}, in the order of its configuration", port,
                           router_ports_));
      }
      const auto index = static_cast<std::uint16_t>(port - 1);
      return add({&index, 1});
  }
}

void Planner::output_alone(Plan::Kind kind, const char* name) {
  if (likenesses_ != 0) refuse(fmt::format("'{}' cannot be done beside another output", name));
  plan_.kind = kind;
  plan_.likenesses[0].sets = std::move(sets_);
  sets_.clear();
  likenesses_ = 1;
}

void Planner::add(std::span<const std::uint16_t> ports) {
  if (likenesses_ != 0 && plan_.kind != Plan::Kind::output) {
    refuse("'in_port', 'controller' and 'local' cannot be done beside another output");
  }
  plan_.kind = Plan::Kind::output;
  if (likenesses_ == 0 || !sets_.empty()) {
    if (likenesses_ == plan_.likenesses.size()) {
      refuse(fmt::format("outputs with more than {} different headers cannot be done", plan_.likenesses.size()));
    }
    plan_.likenesses[likenesses_++].sets = std::move(sets_);
    sets_.clear();
  }
  for (const std::uint16_t port : ports) {
    if (is_taken_[port]) refuse(fmt::format("port {} twice cannot be done", port + 1));
    is_taken_[port] = true;
    plan_.likenesses[likenesses_ - 1].ports.push_back(port);
  }
}

}  // namespace

Plan::Takers Plan::takers(std::size_t index, std::uint32_t payload_bytes, std::uint16_t rx_port,
                          std::span<const PortInfo> router_ports) const noexcept {
  const std::span<const std::uint16_t> all = likenesses[index].ports;
  const auto takes = [&](std::uint16_t port) { return router_ports[port].mtu >= payload_bytes; };
  const auto others = [rx_port](std::span<const std::uint16_t> ports) {
    return static_cast<std::uint16_t>(ports.size() - static_cast<std::size_t>(std::ranges::count(ports, rx_port)));
  };
  const auto count = static_cast<std::size_t>(std::ranges::partition_point(all, takes) - all.begin());
  return {.ports = all.first(count), .count = others(all.first(count)), .too_short = others(all.subspan(count))};
}

void Plan::sort(std::span<const PortInfo> router_ports) {
  for (Likeness& likeness : likenesses) {
    std::ranges::stable_sort(likeness.ports, std::ranges::greater{},
                             [&](std::uint16_t port) { return router_ports[port].mtu; });
  }
}

Plan plan_of(const FlowActions& actions, std::size_t router_ports) {
  Planner planner(router_ports);
  for (const FlowAction& action : actions) planner.take(action);
  Plan plan = std::move(planner).finish();
  plan.text = to_string(actions);
  return plan;
}

Plan plan_of(Miss miss, std::size_t router_ports) {
  Plan plan;
  switch (miss) {
    case Miss::drop:
      plan.kind = Plan::Kind::miss_dropped;
      plan.text = "miss: drop";
      break;
    case Miss::punt:
      plan.kind = Plan::Kind::miss_punted;
      plan.text = "miss: punt";
      break;
    case Miss::flood:
      plan.kind = Plan::Kind::output;
      plan.likenesses[0].ports = all_ports(router_ports);
      plan.text = "miss: flood";
      break;
  }
  return plan;
}

}  // namespace penumbra::gswitch
