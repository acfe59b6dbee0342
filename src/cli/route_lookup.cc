// SPDX-License-Identifier: Apache-2.0
#include "cli/route_lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>

#include "cli/command.h"
#include "cli/engine_choice.h"

namespace penumbra::cli {
namespace {

constexpr std::size_t kBatchItems = 4096;

/// Returns a port for each name in the routes.
template <class RouteList>
std::vector<PortInfo> ports_of(const RouteList& routes) {
  std::set<std::string> names;
  for (const auto& target : routes.targets) {
    for (const auto& hop : target.next_hops) names.insert(hop.port);
  }
  std::vector<PortInfo> ports;
  for (const auto& name : names) {
    PortInfo& port = ports.emplace_back();
    port.name = name;
    port.index = static_cast<std::uint16_t>(ports.size() - 1);
  }
  return ports;
}

}  // namespace

template <class Family>
RouteLookup<Family>::RouteLookup(const RouteList& routes, const std::string& engine)
    : fib_(ports_of(routes), grace_periods_),
      engine_(create_engine_for_one_batch(engine, fib_.shader())),
      shader_(engine_->find_shader(fib_.shader())) {
  fib_.load(routes);
  engine_->use_table(fib_.table());
  queue_ = engine_->open_queue();
}

template <class Family>
std::vector<std::uint16_t> RouteLookup<Family>::run_shader(std::span<const Address> addresses) {
  std::vector<typename Family::Column> columns(addresses.size());
  std::ranges::transform(addresses, columns.begin(), Family::column);
  std::vector<std::uint16_t> next_hops(addresses.size());
  for (std::size_t begin = 0; begin < addresses.size(); begin += kBatchItems) {
    Batch batch;
    batch.shader = shader_;
    batch.table = &fib_.table();
    batch.items = static_cast<std::uint32_t>(std::min(kBatchItems, addresses.size() - begin));
    batch.inputs[0] = columns.data() + begin;
    batch.outputs[0] = next_hops.data() + begin;
    auto result = queue_->submit(batch);
    while (result == EngineQueue::Submitted::full) result = queue_->submit(batch);
    while (result == EngineQueue::Submitted::queued && queue_->poll() == nullptr) std::this_thread::yield();
  }
  return next_hops;
}

template <class Family>
const std::string& RouteLookup<Family>::target_of(std::uint16_t next_hop) {
  const auto [target, is_new] = targets_.try_emplace(next_hop);
  if (is_new) target->second = fib_.describe(next_hop);
  return target->second;
}

template <class Family>
std::vector<typename RouteLookup<Family>::Answer> RouteLookup<Family>::answer(std::span<const Address> addresses) {
  const std::vector<std::uint16_t> next_hops = run_shader(addresses);
  std::vector<Answer> answers(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto known = fib_.lookup(addresses[i]);
    Answer& answer = answers[i];
    answer.next_hop = next_hops[i];
    if (next_hops[i] != Family::LookupTable::kNoRoute) answer.target = &target_of(next_hops[i]);
    if (known ? answer.target == nullptr || *answer.target != known->target : answer.target != nullptr) {
      throw Failure(
          ExitCode::mismatch,
          fmt::format("{}: the shader says '{}', the control plane '{}'", to_string(addresses[i]),
                      answer.target == nullptr ? "no route" : *answer.target, known ? known->target : "no route"));
    }
    if (known) answer.prefix = known->prefix;
  }
  return answers;
}

template class RouteLookup<ipv4::Family>;
template class RouteLookup<ipv6::Family>;

}  // namespace penumbra::cli
