// SPDX-License-Identifier: Apache-2.0
#include "functions/gswitch/compiled_actions.h"

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

/// Compiles the actions of a flow one by one.
class Planner {
 public:
  explicit Planner(std::size_t router_ports) : router_ports_(router_ports), is_taken_(router_ports) {}

  void take(const FlowAction& action);
  CompiledActions finish() && { return std::move(actions_); }

 private:
  void output(std::uint16_t port);
  void output_alone(CompiledActions::Kind kind, const char* name);
  void add(std::span<const std::uint16_t> ports);

  std::size_t router_ports_;
  CompiledActions actions_;
  FlowActions sets_;  ///< fields set since the last output
  std::size_t variants_ = 0;
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
      return output_alone(CompiledActions::Kind::in_port, "in_port");
    case kControllerPort:
      return output_alone(CompiledActions::Kind::to_controller, "controller");
    case kLocalPort:
      return output_alone(CompiledActions::Kind::to_local, "local");
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

void Planner::output_alone(CompiledActions::Kind kind, const char* name) {
  if (variants_ != 0) refuse(fmt::format("'{}' cannot be combined with another output", name));
  actions_.kind = kind;
  actions_.variants[0].sets = std::move(sets_);
  sets_.clear();
  variants_ = 1;
}

void Planner::add(std::span<const std::uint16_t> ports) {
  if (variants_ != 0 && actions_.kind != CompiledActions::Kind::output) {
    refuse("'in_port', 'controller' and 'local' cannot be combined with another output");
  }
  actions_.kind = CompiledActions::Kind::output;
  if (variants_ == 0 || !sets_.empty()) {
    if (variants_ == actions_.variants.size()) {
      refuse(fmt::format("outputs with more than {} different headers cannot be done", actions_.variants.size()));
    }
    actions_.variants[variants_++].sets = std::move(sets_);
    sets_.clear();
  }
  for (const std::uint16_t port : ports) {
    if (is_taken_[port]) refuse(fmt::format("port {} twice cannot be done", port + 1));
    is_taken_[port] = true;
    actions_.variants[variants_ - 1].ports.push_back(port);
  }
}

}  // namespace

CompiledActions::OutputPorts CompiledActions::output_ports(std::size_t index, std::uint32_t payload_bytes,
                                                           std::uint16_t rx_port,
                                                           std::span<const PortInfo> router_ports) const noexcept {
  const std::span<const std::uint16_t> all = variants[index].ports;
  const auto takes = [&](std::uint16_t port) { return router_ports[port].mtu >= payload_bytes; };
  const auto others = [rx_port](std::span<const std::uint16_t> ports) {
    return static_cast<std::uint16_t>(ports.size() - static_cast<std::size_t>(std::ranges::count(ports, rx_port)));
  };
  const auto count = static_cast<std::size_t>(std::ranges::partition_point(all, takes) - all.begin());
  return {.ports = all.first(count), .count = others(all.first(count)), .too_short = others(all.subspan(count))};
}

void CompiledActions::sort(std::span<const PortInfo> router_ports) {
  for (HeaderVariant& variant : variants) {
    std::ranges::stable_sort(variant.ports, std::ranges::greater{},
                             [&](std::uint16_t port) { return router_ports[port].mtu; });
  }
}

CompiledActions compile_actions(const FlowActions& actions, std::size_t router_ports) {
  Planner planner(router_ports);
  for (const FlowAction& action : actions) planner.take(action);
  CompiledActions compiled = std::move(planner).finish();
  compiled.text = to_string(actions);
  return compiled;
}

CompiledActions compile_actions(Miss miss, std::size_t router_ports) {
  CompiledActions actions;
  switch (miss) {
    case Miss::drop:
      actions.kind = CompiledActions::Kind::miss_dropped;
      actions.text = "miss: drop";
      break;
    case Miss::punt:
      actions.kind = CompiledActions::Kind::miss_punted;
      actions.text = "miss: punt";
      break;
    case Miss::flood:
      actions.kind = CompiledActions::Kind::output;
      actions.variants[0].ports = all_ports(router_ports);
      actions.text = "miss: flood";
      break;
  }
  return actions;
}

}  // namespace penumbra::gswitch
