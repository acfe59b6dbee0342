// SPDX-License-Identifier: Apache-2.0
#include "cli/route_lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>

#include "cli/command.h"
#include "shaders/dir24_8/dir24_8.h"

namespace penumbra::cli {
namespace {

constexpr std::size_t kBatchItems = 4096;

/// A port for every name that the routes mention.
std::vector<PortInfo> ports_of(const control::RouteList& routes) {
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

RouteLookup::RouteLookup(const control::RouteList& routes, const std::string& engine)
    : fib_(ports_of(routes), grace_periods_),
      engine_(create_engine(engine_name(engine) == kAuto ? engine_at_once(fib_.table().name())
                                                         : resolve_engine(engine, fib_.table().name()))),
      shader_(engine_->find_shader(fib_.table().name())),
      targets_(Dir24_8::kMaxNextHops) {
  fib_.load(routes);
  engine_->use_table(fib_.table());
  queue_ = engine_->open_queue();
}

void RouteLookup::run_shader(std::span<const std::uint32_t> addresses, std::span<std::uint16_t> next_hops) {
  for (std::size_t begin = 0; begin < addresses.size(); begin += kBatchItems) {
    Batch batch;
    batch.shader = shader_;
    batch.table = &fib_.table();
    batch.items = static_cast<std::uint32_t>(std::min(kBatchItems, addresses.size() - begin));
    batch.inputs[0] = addresses.data() + begin;
    batch.outputs[0] = next_hops.data() + begin;
    auto result = queue_->submit(batch);
    while (result == EngineQueue::Submitted::full) result = queue_->submit(batch);
    while (result == EngineQueue::Submitted::queued && queue_->poll() == nullptr) std::this_thread::yield();
  }
}

const std::string& RouteLookup::target_of(std::uint16_t next_hop) {
  auto& target = targets_[next_hop];
  if (target == nullptr) target = std::make_unique<std::string>(fib_.describe(next_hop));
  return *target;
}

std::vector<RouteLookup::Answer> RouteLookup::answer(std::span<const std::uint32_t> addresses) {
  std::vector<std::uint16_t> next_hops(addresses.size());
  run_shader(addresses, next_hops);
  std::vector<Answer> answers(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto known = fib_.lookup({addresses[i]});
    Answer& answer = answers[i];
    answer.next_hop = next_hops[i];
    if (next_hops[i] != Dir24_8::kNoRoute) answer.target = &target_of(next_hops[i]);
    if (known ? answer.target == nullptr || *answer.target != known->target : answer.target != nullptr) {
      throw Failure(
          ExitCode::mismatch,
          fmt::format("{}: the shader says '{}', the control plane '{}'", to_string(Ipv4Address{addresses[i]}),
                      answer.target == nullptr ? "no route" : *answer.target, known ? known->target : "no route"));
    }
    if (known) answer.prefix = known->prefix;
  }
  return answers;
}

}  // namespace penumbra::cli
