// SPDX-License-Identifier: Apache-2.0
#include "runtime/port_reopener.h"

#include <fmt/format.h>
#include <net/if.h>
#include <pthread.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "io/eal.h"

namespace penumbra::runtime {
namespace {

constexpr std::chrono::milliseconds kLook{100};
constexpr std::chrono::seconds kBetweenAttempts{1};

}  // namespace

std::vector<PortInfo> PortLayout::infos() const {
  std::vector<PortInfo> infos;
  infos.reserve(ports.size());
  for (const auto& port : ports) {
    const PortInfo& info = port->info();
    infos.push_back(info);
    if (!info.removed) continue;
    infos.back() = {};
    infos.back().index = info.index;
    infos.back().removed = true;
  }
  return infos;
}

void PortLayout::free_unused_memory() const {
  const PacketMemory& registered = pipeline.packet_memory();
  std::erase_if(memory, [&registered](const std::shared_ptr<void>& each) {
    return each == nullptr || (each.use_count() == 1 + registered.uses_of(each.get()) &&
                               rte_mempool_full(static_cast<rte_mempool*>(each.get())) == 1);
  });
}

/// Registers the memory of new ports with the engines before the workers stop, because that takes long. Memory that
/// nobody uses any more is unregistered afterwards.
void PortLayout::change(const std::function<void()>& change) const {
  PacketMemory& packets = pipeline.packet_memory();
  const PacketMemory::Ranges added = packets.register_new(), unused = packets.unused();
  const auto change_all = [&] {
    for (const auto& worker : workers) {
      for (const auto& range : added) worker->share(range);
    }
    change();
    for (const auto& worker : workers) {
      for (const auto& range : unused) worker->unshare(*range);
    }
  };
  const std::unique_lock nobody_looks(mutex);
  const auto host_rests = host == nullptr ? std::unique_lock<std::mutex>() : host->rest();
  quiesce.change(
      [this] {
        for (const auto& worker : workers) worker->doorbell().ring();
      },
      change_all);
  packets.unregister(unused);
}

void PortLayout::close(std::span<const std::uint16_t> places) const {
  std::vector<std::unique_ptr<io::Port>> closed(places.size());
  change([&] {
    for (std::size_t i = 0; i < places.size(); ++i) closed[i] = slot(places[i]).detach();
  });
  const std::unique_lock nobody_looks(mutex);
  for (std::size_t i = 0; i < places.size(); ++i) slot(places[i]).settle(*closed[i]);
}

void PortLayout::put_back(PortSlot& slot, std::unique_ptr<io::Port> port,
                          std::unique_ptr<io::QuietInterface> quiet) const {
  std::vector<PortInfo> with_port = infos();
  with_port[slot.info().index] = PortSlot::info_of(slot.config(), *port);
  change([&] {
    pipeline.rebind(with_port);
    keep_memory(port->memory());
    slot.attach(std::move(port));
    if (host != nullptr) host->renew(slot, std::move(quiet));
  });
}

void PortLayout::keep_memory(std::shared_ptr<void> of_port) const {
  if (std::ranges::find(memory, of_port) == memory.end()) memory.push_back(std::move(of_port));
}

void PortReopener::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void PortReopener::stop() noexcept {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void PortReopener::run(const std::stop_token& stop) noexcept {
  pthread_setname_np(pthread_self(), "ports");
  std::unique_lock lock(mutex_);
  while (!waiting_.wait_for(lock, stop, kLook, [&stop] { return stop.stop_requested(); })) {
    const std::lock_guard one(layout_.changing);
    for (std::size_t i = 0; i < layout_.ports.size(); ++i) {
      PortSlot& slot = layout_.slot(i);
      try {
        look_after(slot);
      } catch (const std::exception& error) {
        Absent& absent = absent_[&slot];
        absent.next_attempt = Clock::now() + kBetweenAttempts;
        if (std::exchange(absent.problem, error.what()) == error.what()) continue;
        log_warning(fmt::format("port '{}': cannot be opened again: {}", slot.info().name, error.what()));
      }
    }
  }
}

void PortReopener::look_after(PortSlot& slot) {
  if (slot.has_device()) {
    absent_.erase(&slot);
    if (!slot.is_lost()) return;
    log_warning(fmt::format("port '{}': its interface {} is gone", slot.info().name, slot.host_interface()));
    layout_.close(std::array{slot.info().index});
    return;
  }
  if (!slot.may_reopen() || Clock::now() < absent_[&slot].next_attempt) return;
  const std::string interface = slot.host_interface();
  if (!interface.empty() && if_nametoindex(interface.c_str()) == 0) return;
  open(slot);
}

void PortReopener::open(PortSlot& slot) {
  std::unique_ptr<io::Port> port = slot.open_device();
  auto quiet = HostPath::keep_off(slot.config(), *port);
  port->start();
  const PortInfo before = slot.info();
  layout_.free_unused_memory();
  layout_.put_back(slot, std::move(port), std::move(quiet));
  const PortInfo& now = slot.info();
  std::string text = fmt::format("port '{}': open again on {}", now.name, slot.host_interface());
  if (now.mac != before.mac) text += fmt::format(", MAC address {}, was {}", to_string(now.mac), to_string(before.mac));
  if (now.mtu != before.mtu) text += fmt::format(", MTU {}, was {}", now.mtu, before.mtu);
  log_info(text);
}

}  // namespace penumbra::runtime
