// SPDX-License-Identifier: Apache-2.0
#include "runtime/port_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "io/packet_pool.h"
#include "runtime/placement.h"

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
  PortLayout& layout = parts_.layout;
  const std::lock_guard one(layout.changing);
  layout.free_unused_memory();
  Arrivals arrivals = open_arrivals(plan);
  if (layout.host != nullptr) layout.host->make_room(plan.placed.ports);
  std::vector<Departure> departures;
  std::vector<HostPath::NewTwin> twins;
  const std::vector<std::uint16_t> closed = close_reopened(plan);
  try {
    for (const std::uint16_t place : closed) {
      auto [port, quiet] = open(plan.placed.ports[place]);
      arrivals.each.push_back(
          {.place = place, .port = std::move(port), .slot = nullptr, .quiet = std::move(quiet), .twin = {}});
    }
    layout.change([&] { exchange(plan, arrivals, departures, twins); });
  } catch (...) {
    arrivals = {};  // closes new devices, because a device can be open only once
    for (const std::uint16_t place : closed) give_back(place);
    throw;
  }
  for (auto& [place, port] : departures) {
    const std::unique_lock lock(layout.mutex);
    slot(place).settle(*port);
  }
  departures.clear();
  twins.clear();
  std::vector<std::string> names;
  names.reserve(plan.placed.ports.size());
  for (const auto& port : plan.placed.ports) names.push_back(port.twin);
  parts_.feed.set_twins(std::move(names));
  for (const auto& change : plan.changes) log_info(change);
}

PortChanges::Opened PortChanges::open(const control::PortConfig& config) const {
  const auto workers = static_cast<std::uint16_t>(parts_.layout.workers.size());
  control::PortConfig with_room = config;
  with_room.held_packets = parts_.layout.pipeline.most_held();
  Opened opened{std::move(parts_.open_ports(std::span(&with_room, 1), workers).front()), nullptr};
  opened.quiet = HostPath::keep_off(config, *opened.port);
  opened.port->start();
  return opened;
}

PortChanges::Arrivals PortChanges::open_arrivals(const PortPlan& plan) const {
  const auto& configs = plan.placed.ports;
  Arrivals arrivals;
  for (const std::uint16_t place : plan.added) {
    Arrival& arrival = arrivals.each.emplace_back();
    arrival.place = place;
    Opened opened = open(configs[place]);
    arrival.port = std::move(opened.port);
    arrival.quiet = std::move(opened.quiet);
    if (place < parts_.layout.ports.size()) continue;
    const auto workers = static_cast<std::uint16_t>(parts_.layout.workers.size());
    arrival.slot = std::make_unique<PortSlot>(configs[place], std::move(arrival.port), workers);
  }
  for (const std::uint16_t place : plan.new_twins) arrivals.each.emplace_back().place = place;
  const auto has_twin = [&](const Arrival& arrival) { return !configs[arrival.place].twin.empty(); };
  HostPath* host = parts_.layout.host.get();
  if (host == nullptr && std::ranges::any_of(arrivals.each, has_twin)) {
    arrivals.host = make_host(plan.placed);
    host = arrivals.host.get();
  }
  for (Arrival& arrival : arrivals.each) {
    const control::PortConfig& config = configs[arrival.place];
    if (config.twin.empty()) continue;
    const io::Port& port = arrival.slot != nullptr ? *arrival.slot : slot(arrival.place);
    const PortInfo& info = arrival.port != nullptr ? arrival.port->info() : port.info();
    if (arrival.quiet == nullptr) arrival.quiet = HostPath::keep_off(config, port);
    arrival.twin = host->prepare(config, port, info, std::move(arrival.quiet));
  }
  return arrivals;
}

/// Returns a path to the host for the first twin.
std::unique_ptr<HostPath> PortChanges::make_host(const control::RouterConfig& placed) const {
  auto host = std::make_unique<HostPath>(placed, HostPath::Ports{}, parts_.layout.pipeline);
  for (std::size_t i = 0; i < parts_.layout.ports.size(); ++i) host->add_port();
  host->start();
  return host;
}

/// Closes the devices that need another MTU. Returns their places. Omits places without a device,
/// because the PortReopener opens their devices when the interfaces return.
std::vector<std::uint16_t> PortChanges::close_reopened(const PortPlan& plan) const {
  std::vector<std::uint16_t> places = plan.reopened;
  std::erase_if(places, [this](std::uint16_t place) { return !slot(place).has_device(); });
  if (!places.empty()) parts_.layout.close(places);
  return places;
}

/// Reopens a device with its previous settings after a failed change.
void PortChanges::give_back(std::uint16_t place) const noexcept {
  PortSlot& slot = this->slot(place);
  try {
    auto [port, quiet] = open(slot.config());
    parts_.layout.put_back(slot, std::move(port), std::move(quiet));
  } catch (const std::exception& error) {
    slot.set_reopen(reopen_of(slot.config()));
    log_warning(fmt::format("port '{}': cannot be opened again: {}", slot.info().name, error.what()));
  }
}

io::Reopen PortChanges::reopen_of(const control::PortConfig& config) const {
  const auto workers = static_cast<std::uint16_t>(parts_.layout.workers.size());
  return [config, open_ports = parts_.open_ports, workers] {
    return std::move(open_ports(std::span(&config, 1), workers).front());
  };
}

/// Returns all ports in the state after the plan, as functions see them.
std::vector<PortInfo> PortChanges::infos_after(const PortPlan& plan, const Arrivals& arrivals) const {
  std::vector<PortInfo> infos = parts_.layout.infos();
  for (PortInfo& info : infos) {
    const control::PortConfig& config = plan.placed.ports[info.index];
    info.name = config.info.name;
    info.addresses = config.info.addresses;
    info.ipv6_addresses = config.info.ipv6_addresses;
  }
  for (const std::uint16_t place : plan.resized) infos[place].mtu = plan.placed.ports[place].info.mtu;
  for (const std::uint16_t place : plan.removed) {
    infos[place] = {};
    infos[place].index = place;
    infos[place].removed = true;
  }
  for (const Arrival& arrival : arrivals.each) {
    if (arrival.slot != nullptr) infos.push_back(arrival.slot->info());
    if (arrival.port != nullptr)
      infos[arrival.place] = PortSlot::info_of(plan.placed.ports[arrival.place], *arrival.port);
  }
  return infos;
}

/// Runs while no worker works and no thread reads the ports. The functions come first, because only functions can
/// refuse.
void PortChanges::exchange(const PortPlan& plan, Arrivals& arrivals, std::vector<Departure>& departures,
                           std::vector<HostPath::NewTwin>& twins) {
  PortLayout& layout = parts_.layout;
  layout.pipeline.rebind(infos_after(plan, arrivals));
  const auto new_host_rests = arrivals.host == nullptr ? std::unique_lock<std::mutex>() : arrivals.host->rest();
  if (arrivals.host != nullptr) {
    layout.host = std::move(arrivals.host);
    for (const auto& worker : layout.workers) worker->set_host(layout.host.get());
  }
  const auto remove_twin = [&](std::uint16_t place) {
    if (layout.host != nullptr) twins.push_back(layout.host->remove(place));
  };
  for (const std::uint16_t place : plan.removed) {
    if (slot(place).has_device()) departures.push_back({place, slot(place).detach()});
    slot(place).remove();
    remove_twin(place);
  }
  for (const std::uint16_t place : plan.new_twins) remove_twin(place);
  for (std::size_t i = 0; i < layout.ports.size(); ++i) {
    if (!slot(static_cast<std::uint16_t>(i)).is_removed()) layout.slot(i).set_config(plan.placed.ports[i]);
  }
  for (Arrival& arrival : arrivals.each) put_in_place(plan, arrival);
  for (const std::uint16_t place : plan.resized) {
    if (layout.host != nullptr) layout.host->renew(slot(place), nullptr);  // a built-in port has no interface
  }
  for (const auto* places : {&plan.reopened, &plan.renamed}) {
    for (const std::uint16_t place : *places) {
      if (!slot(place).has_device()) slot(place).set_reopen(reopen_of(plan.placed.ports[place]));
    }
  }
  std::vector<std::string> names;
  names.reserve(layout.ports.size());
  for (const auto& info : layout.infos()) names.push_back(info.name);
  parts_.tracer.set_ports(names);
  parts_.captures.set_ports(names);
  // Changes by commands do not end a run. If no port can receive, the run waits for ports, like a run without ports.
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
    layout.keep_memory(arrival.slot->memory());
    layout.ports.push_back(std::move(arrival.slot));
    const auto workers = static_cast<std::uint16_t>(layout.workers.size());
    for (std::uint16_t i = 0; i < workers; ++i) {
      layout.workers[i]->add_port(slot(arrival.place).tx_queue(i));
    }
    if (layout.host != nullptr) layout.host->add_port();
    connect_workers(slot(arrival.place));
  } else if (arrival.port != nullptr) {
    layout.keep_memory(arrival.port->memory());
    slot(arrival.place).replace(plan.placed.ports[arrival.place], std::move(arrival.port));
    connect_workers(slot(arrival.place));
    if (layout.host != nullptr) layout.host->renew(slot(arrival.place), std::move(arrival.quiet));
  }
  if (arrival.twin.empty()) return;
  const std::uint16_t worker = host_worker(arrival.place);
  layout.host->add(std::move(arrival.twin), worker, layout.workers[worker]->doorbell());
}

/// Assigns the port's queues that no worker has, evenly and near the port's card if possible.
void PortChanges::connect_workers(PortSlot& slot) {
  const auto& workers = parts_.layout.workers;
  const std::uint16_t place = slot.info().index;
  std::vector<unsigned> cores;
  std::size_t queues = slot.rx_queues();
  for (const auto& worker : workers) {
    cores.push_back(worker->core());
    queues += worker->open_queues();
  }
  QueuePlacement placement(nodes_of(cores), queues);
  for (std::size_t i = 0; i < workers.size(); ++i)
    placement.has(static_cast<std::uint16_t>(i), workers[i]->open_queues());
  const int node = io::node_of(slot.config());
  for (std::uint16_t queue = 0; queue < slot.rx_queues(); ++queue) {
    const auto has_it = [&](const auto& worker) {
      return std::ranges::any_of(worker->receive_queues(),
                                 [&](const ReceiveQueue& each) { return each.port == place && each.index == queue; });
    };
    if (std::ranges::any_of(workers, has_it)) continue;
    workers[placement.place(node)]->add_queue({&slot.rx_queue(queue), place, queue});
  }
  for (const auto& worker : workers) worker->look_again();
  if (parts_.layout.handover != nullptr) set_flow_workers(*parts_.layout.handover, slot, workers);
}

/// Returns a worker that has a queue of the port.
std::uint16_t PortChanges::host_worker(std::uint16_t place) const {
  const auto& workers = parts_.layout.workers;
  const auto has_queue = [&](const auto& worker) {
    return std::ranges::find(worker->receive_queues(), place, &ReceiveQueue::port) != worker->receive_queues().end();
  };
  const auto at = std::ranges::find_if(workers, has_queue);
  return at == workers.end() ? std::uint16_t{0} : static_cast<std::uint16_t>(at - workers.begin());
}

}  // namespace penumbra::runtime
