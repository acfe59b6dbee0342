// SPDX-License-Identifier: Apache-2.0
#include "runtime/port_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace penumbra::runtime {

std::vector<PlacedPort> PortChanges::ports() const {
  const std::shared_lock lock(parts_.layout.mutex);
  std::vector<PlacedPort> ports;
  for (std::size_t i = 0; i < parts_.layout.ports.size(); ++i) {
    const PortSlot& each = parts_.layout.slot(i);
    ports.push_back({each.config(), each.is_removed()});
  }
  return ports;
}

void PortChanges::apply(const PortPlan& plan) {
  if (plan.changes.empty()) return;
  const std::lock_guard one(parts_.layout.changing);
  parts_.layout.free_unused_memory();
  std::vector<Arrival> arrivals = open_arrivals(plan);
  if (parts_.layout.host != nullptr) parts_.layout.host->make_room(plan.placed.ports);
  std::vector<Departure> departures;
  std::vector<HostPath::NewTwin> twins;
  parts_.layout.change([&] { exchange(plan, arrivals, departures, twins); });
  for (auto& [place, port] : departures) {
    const std::unique_lock lock(parts_.layout.mutex);
    slot(place).settle(*port);
  }
  departures.clear();
  twins.clear();
  std::vector<std::string> names;
  names.reserve(plan.placed.ports.size());
  for (const auto& port : plan.placed.ports) names.push_back(port.twin);
  parts_.feed.set_twins(std::move(names));
  reopen(plan);
  for (const auto& change : plan.changes) log_info(change);
}

PortChanges::Opened PortChanges::open(const control::PortConfig& config) const {
  const auto workers = static_cast<std::uint16_t>(parts_.layout.workers.size());
  Opened opened{std::move(parts_.open_ports(std::span(&config, 1), workers).front()), nullptr};
  opened.quiet = HostPath::keep_off(config, *opened.port);
  opened.port->start();
  return opened;
}

std::vector<PortChanges::Arrival> PortChanges::open_arrivals(const PortPlan& plan) {
  const auto& configs = plan.placed.ports;
  std::vector<Arrival> arrivals;
  for (const std::uint16_t place : plan.added) {
    Arrival& arrival = arrivals.emplace_back();
    arrival.place = place;
    Opened opened = open(configs[place]);
    arrival.port = std::move(opened.port);
    arrival.quiet = std::move(opened.quiet);
    if (place < parts_.layout.ports.size()) continue;
    const auto workers = static_cast<std::uint16_t>(parts_.layout.workers.size());
    arrival.slot = std::make_unique<PortSlot>(configs[place], std::move(arrival.port), workers);
  }
  for (const std::uint16_t place : plan.new_twins) arrivals.emplace_back().place = place;
  const auto has_twin = [&](const Arrival& arrival) { return !configs[arrival.place].twin.empty(); };
  if (std::ranges::any_of(arrivals, has_twin)) make_host(plan.placed);
  for (Arrival& arrival : arrivals) {
    const control::PortConfig& config = configs[arrival.place];
    if (config.twin.empty()) continue;
    const io::Port& port = arrival.slot != nullptr ? *arrival.slot : slot(arrival.place);
    const PortInfo& info = arrival.port != nullptr ? arrival.port->info() : port.info();
    if (arrival.quiet == nullptr) arrival.quiet = HostPath::keep_off(config, port);
    arrival.twin = parts_.layout.host->prepare(config, port, info, std::move(arrival.quiet));
  }
  return arrivals;
}

/// The first twin needs a path to the host.
void PortChanges::make_host(const control::RouterConfig& placed) {
  if (parts_.layout.host != nullptr) return;
  auto host = std::make_unique<HostPath>(placed, HostPath::Ports{}, parts_.layout.pipeline);
  for (std::size_t i = 0; i < parts_.layout.ports.size(); ++i) host->add_port();
  host->start();
  parts_.layout.change([&] {
    parts_.layout.host = std::move(host);
    for (const auto& worker : parts_.layout.workers) worker->set_host(parts_.layout.host.get());
  });
}

/// No worker works and nobody looks.
void PortChanges::exchange(const PortPlan& plan, std::vector<Arrival>& arrivals, std::vector<Departure>& departures,
                           std::vector<HostPath::NewTwin>& twins) {
  PortLayout& layout = parts_.layout;
  const auto remove_twin = [&](std::uint16_t place) {
    if (layout.host != nullptr) twins.push_back(layout.host->remove(place));
  };
  for (const std::uint16_t place : plan.removed) {
    if (slot(place).has_device()) departures.push_back({place, slot(place).detach()});
    slot(place).remove();
    remove_twin(place);
  }
  for (const std::uint16_t place : plan.new_twins) remove_twin(place);
  for (const std::uint16_t place : plan.reopened) {
    if (slot(place).has_device()) departures.push_back({place, slot(place).detach()});
  }
  for (std::size_t i = 0; i < layout.ports.size(); ++i) {
    if (!slot(static_cast<std::uint16_t>(i)).is_removed()) layout.slot(i).set_config(plan.placed.ports[i]);
  }
  for (Arrival& arrival : arrivals) put_in_place(plan, arrival);
  for (const std::uint16_t place : plan.resized) {
    if (layout.host != nullptr) layout.host->renew(slot(place), nullptr);  // it has no interface
  }
  layout.pipeline.rebind(layout.infos());
  std::vector<std::string> names;
  names.reserve(layout.ports.size());
  for (const auto& info : layout.infos()) names.push_back(info.name);
  parts_.tracer.set_ports(names);
  parts_.captures.set_ports(names);
  // Commands do not end a run: where nothing can come any more, it waits for ports as one does that has none.
  const auto may_receive = [](io::Port& port) {
    for (std::uint16_t queue = 0; queue < port.rx_queues(); ++queue) {
      if (!port.rx_queue(queue).exhausted()) return true;
    }
    return false;
  };
  parts_.has_ports.store(std::ranges::any_of(layout.ports, [&](const auto& port) { return may_receive(*port); }));
  if (layout.host != nullptr) layout.host->look_again();
}

void PortChanges::put_in_place(const PortPlan& plan, Arrival& arrival) {
  PortLayout& layout = parts_.layout;
  if (arrival.slot != nullptr) {
    layout.memory.push_back(arrival.slot->memory());
    layout.ports.push_back(std::move(arrival.slot));
    const auto workers = static_cast<std::uint16_t>(layout.workers.size());
    for (std::uint16_t i = 0; i < workers; ++i) {
      layout.workers[i]->add_port(slot(arrival.place).tx_queue(i));
    }
    if (layout.host != nullptr) layout.host->add_port();
    connect_workers(slot(arrival.place));
  } else if (arrival.port != nullptr) {
    layout.memory.push_back(arrival.port->memory());
    slot(arrival.place).replace(plan.placed.ports[arrival.place], std::move(arrival.port));
    connect_workers(slot(arrival.place));
  }
  if (arrival.twin.empty()) return;
  const std::uint16_t worker = host_worker(arrival.place);
  layout.host->add(std::move(arrival.twin), worker, layout.workers[worker]->doorbell());
}

/// Those of its queues that no worker has go to the workers with the fewest.
void PortChanges::connect_workers(PortSlot& slot) {
  const auto& workers = parts_.layout.workers;
  const std::uint16_t place = slot.info().index;
  for (std::uint16_t queue = 0; queue < slot.rx_queues(); ++queue) {
    const auto has_it = [&](const auto& worker) {
      return std::ranges::any_of(worker->receive_queues(),
                                 [&](const ReceiveQueue& each) { return each.port == place && each.index == queue; });
    };
    if (std::ranges::any_of(workers, has_it)) continue;
    const auto fewest = std::ranges::min_element(workers, {}, [](const auto& worker) { return worker->open_queues(); });
    (*fewest)->add_queue({&slot.rx_queue(queue), place, queue});
  }
  for (const auto& worker : workers) worker->look_again();
}

/// A worker that has a queue of the port.
std::uint16_t PortChanges::host_worker(std::uint16_t place) const {
  const auto& workers = parts_.layout.workers;
  const auto has_queue = [&](const auto& worker) {
    return std::ranges::find(worker->receive_queues(), place, &ReceiveQueue::port) != worker->receive_queues().end();
  };
  const auto at = std::ranges::find_if(workers, has_queue);
  return at == workers.end() ? std::uint16_t{0} : static_cast<std::uint16_t>(at - workers.begin());
}

/// Opens devices that take another MTU. One that cannot be opened is tried again by the PortKeeper.
void PortChanges::reopen(const PortPlan& plan) {
  for (const std::uint16_t place : plan.reopened) {
    const control::PortConfig& config = plan.placed.ports[place];
    slot(place).set_reopen([config, open_ports = parts_.open_ports, workers = parts_.layout.workers.size()] {
      return std::move(open_ports(std::span(&config, 1), static_cast<std::uint16_t>(workers)).front());
    });
    Opened opened = open(config);
    parts_.layout.change([&] {
      parts_.layout.memory.push_back(opened.port->memory());
      slot(place).replace(config, std::move(opened.port));
      parts_.layout.pipeline.rebind(parts_.layout.infos());
      if (parts_.layout.host != nullptr) parts_.layout.host->renew(slot(place), std::move(opened.quiet));
    });
  }
}

}  // namespace penumbra::runtime
