// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "io/eal.h"
#include "packet/parse.h"
#include "penumbra/bytes.h"
#include "penumbra/errors.h"

namespace penumbra::runtime {
namespace {

constexpr std::uint16_t kBurst = 64;
constexpr int kSleepMilliseconds = 100;  ///< Longest sleep, because links and deleted twins are checked regularly.
/// Delay between a twin's creation and its first addresses, which it gets when it comes up. FRR's zebra (up to 8.4)
/// handles both events in two threads and loses addresses of an interface that it does not know yet. OSPFv3 and BGP
/// would then wait for the link-local address forever.
constexpr std::chrono::milliseconds kIntroduction{100};

/// Turns exceptions of `action` into an error at the port's place.
template <class Action>
void for_twin(const control::PortConfig& config, const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    throw InputError(config.location, fmt::format("port '{}': its twin: {}", config.info.name, error.what()));
  }
}

FileDescriptor require(int descriptor) {
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "cannot watch twins");
  return FileDescriptor(descriptor);
}

void watch(const FileDescriptor& poll, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  if (epoll_ctl(poll.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot watch a twin");
  }
}

}  // namespace

HostPath::HostPath(const control::RouterConfig& config, Ports ports, const Pipeline& pipeline)
    : twin_of_port_(ports.size()),
      workers_(static_cast<std::uint16_t>(config.cores.size())),
      room_(io::host_pool_size(config.ports, workers_)),
      pool_(io::create_pool(room_)),
      lost_(pipeline.reasons().size()) {
  static std::atomic<unsigned> created{0};
  const unsigned number = created.fetch_add(1);
  for (std::size_t worker = 0; worker < config.cores.size(); ++worker) {
    to_host_.emplace_back(fmt::format("punt{}_{}", number, worker));
    from_host_.emplace_back(fmt::format("host{}_{}", number, worker));
  }
  const auto ticks = static_cast<double>(rte_get_tsc_hz());
  for (std::size_t reason = 0; reason < pipeline.reasons().size(); ++reason) {
    over_limit_.push_back(pipeline.over_limit(static_cast<std::uint16_t>(reason)));
    limits_.emplace_back(config.punts.limit_of(pipeline.reason_name(static_cast<std::uint16_t>(reason))), ticks);
  }
  poll_ = require(epoll_create1(EPOLL_CLOEXEC));
  doorbell_.join(poll_);
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (!config.ports[i].twin.empty()) add_twin(config.ports[i], *ports[i]);
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (twin_of_port_[i] == nullptr) continue;
    std::this_thread::sleep_until(twin_of_port_[i]->created + kIntroduction);
    for_twin(config.ports[i], [&] { bring_up(*twin_of_port_[i]); });
    give_addresses(*twin_of_port_[i]);
  }
}

void HostPath::make_room(std::span<const control::PortConfig> ports) {
  const io::PoolSize size = io::host_pool_size(ports, workers_);
  if (size.data_room <= room_.data_room && size.packets <= room_.packets) return;
  const io::PoolSize larger{std::max(size.packets, room_.packets), std::max(size.data_room, room_.data_room)};
  io::PacketPool pool = io::create_pool(larger);
  const std::unique_lock lock = rest();
  earlier_pools_.push_back(std::exchange(pool_, std::move(pool)));
  room_ = larger;
}

HostPath::~HostPath() {
  stop();
}

void HostPath::add_twin(const control::PortConfig& config, const io::Port& port) {
  Twin& twin = twins_.emplace_back();
  twin.port = &port;
  twin.name = config.twin;
  for_twin(config, [&] { create(twin, port.info()); });
  twin_of_port_[port.info().index] = &twin;
  twin.quiet = keep_off(config, port);
  if (twin.quiet == nullptr || twin.quiet->failures().empty()) return;
  warnings_.push_back(
      fmt::format("port '{}': the host answers on {} as well as on its twin {} and this user may not change that; as "
                  "root: sysctl -w {}",
                  config.info.name, port.host_interface(), twin.name, fmt::join(twin.quiet->failures(), " ")));
}

void HostPath::create(Twin& twin, const PortInfo& info) {
  twin.tap.emplace(twin.name, info.mac, info.mtu);
  watch(poll_, twin.tap->descriptor());
  twin.tap->set_carrier(twin.port->link_up());
  twin.created = Clock::now();
}

void HostPath::bring_up(Twin& twin) {
  twin.tap.value().bring_up();
  if (twin.was_lost) log_info(fmt::format("port '{}': twin {} is back", twin.port->info().name, twin.name));
  twin.was_lost = false;
  twin.up.store(true, std::memory_order_relaxed);
}

/// Restores the twin's addresses. The kernel removes IPv6 addresses of an interface that goes down, and users may
/// delete any. After a refusal (IPv6 may be disabled, for example), the next attempt is at the next change.
void HostPath::give_addresses(Twin& twin) {
  std::string refusal;
  try {
    addresses_.reconcile(twin.name, control::netlink::host_addresses(twin.port->info()), twin.given);
  } catch (const std::exception& error) {
    refusal = error.what();
  }
  if (refusal != twin.refusal && !refusal.empty()) {
    log_warning(fmt::format("port '{}': its twin {} lacks addresses: {}", twin.port->info().name, twin.name, refusal));
  }
  twin.refusal = refusal;
}

HostPath::NewTwin HostPath::prepare(const control::PortConfig& config, const io::Port& port, const PortInfo& info,
                                    std::unique_ptr<io::QuietInterface> quiet) {
  NewTwin twins(1);
  Twin& twin = twins.front();
  twin.port = &port;
  twin.name = config.twin;
  twin.quiet = std::move(quiet);
  for_twin(config, [&] { create(twin, info); });
  return twins;
}

void HostPath::add(NewTwin twin, std::uint16_t worker, Doorbell& doorbell) {
  const std::uint16_t port = twin.front().port->info().index;
  twins_.splice(twins_.end(), twin);
  twin_of_port_[port] = &twins_.back();
  serve(port, worker, doorbell);
}

HostPath::NewTwin HostPath::remove(std::uint16_t port) {
  NewTwin removed;
  const auto at = std::ranges::find_if(twins_, [&](const Twin& twin) { return &twin == twin_of_port_[port]; });
  if (at != twins_.end()) removed.splice(removed.end(), twins_, at);
  twin_of_port_[port] = nullptr;
  return removed;
}

std::unique_lock<std::mutex> HostPath::rest() {
  ++wanted_;
  std::unique_lock lock(mutex_);
  --wanted_;
  return lock;
}

void HostPath::renew(const io::Port& port, std::unique_ptr<io::QuietInterface> quiet) {
  Twin* const twin = twin_of_port_[port.info().index];
  if (twin == nullptr) return;
  twin->quiet = std::move(quiet);
  twin->renewed = true;
}

std::unique_ptr<io::QuietInterface> HostPath::keep_off(const control::PortConfig& config, const io::Port& port) {
  const std::string interface = port.host_interface();
  if (config.twin.empty() || interface.empty()) return nullptr;
  return std::make_unique<io::QuietInterface>(interface);
}

/// Gives the MAC address and MTU of the port's device to the twin.
void HostPath::follow_device(Twin& twin) {
  twin.tap.value().set(twin.port->info().mac, twin.port->info().mtu);
}

void HostPath::serve(std::uint16_t port, std::uint16_t worker, Doorbell& doorbell) {
  if (!has_twin(port)) return;
  twin_of_port_[port]->worker = worker;
  twin_of_port_[port]->doorbell = &doorbell;
}

void HostPath::start() {
  thread_ = std::jthread([this] { run(); });
}

void HostPath::stop() noexcept {
  stopping_.store(true);
  wake();
  if (thread_.joinable()) thread_.join();
}

Verdict HostPath::punt(std::uint16_t worker, std::uint16_t port, std::uint16_t reason, rte_mbuf* packet,
                       std::uint64_t now) noexcept {
  if (limits_[reason].take(now, 1) == 0) return {Verdict::Kind::drop, over_limit_[reason]};
  packet->port = port;
  packet->hash.usr = reason;
  if (to_host_[worker].put(&packet, 1) == 1) return {Verdict::Kind::punt, reason};
  return {Verdict::Kind::drop, static_cast<std::uint16_t>(RuntimeReason::host_full)};
}

bool HostPath::is_too_long(const rte_mbuf& packet) const noexcept {
  const Twin* const twin = twin_of_port_[packet.port];
  if (twin == nullptr) return false;  // The twin was removed meanwhile.
  const std::uint32_t longest = twin->port->info().mtu + std::uint32_t{RTE_ETHER_HDR_LEN};
  if (rte_pktmbuf_pkt_len(&packet) <= longest) [[likely]] {
    return false;
  }
  const bool tagged = ethertype::is_tag(load_be16(rte_pktmbuf_mtod_offset(&packet, const std::uint8_t*, kEthertypeAt)));
  return !tagged || rte_pktmbuf_pkt_len(&packet) > longest + RTE_VLAN_HLEN;
}

void HostPath::run() noexcept {
  pthread_setname_np(pthread_self(), "host");
  io::register_thread();
  for (;;) {
    const bool last = stopping_.load();  // Read before the rings: nothing is added to them afterwards.
    while (wanted_.load() > 0) std::this_thread::yield();
    std::unique_lock lock(mutex_);
    const bool wrote = write_punted();
    if (last && !wrote) return;
    const bool read = !last && read_twins();
    look_after_twins();
    lock.unlock();
    if (!wrote && !read && !last) sleep();
  }
}

bool HostPath::write_punted() noexcept {
  bool any = false;
  std::array<rte_mbuf*, kBurst> packets;
  for (auto& ring : to_host_) {
    const std::uint16_t count = ring.take(packets.data(), kBurst);
    for (std::uint16_t i = 0; i < count; ++i) deliver(*packets[i]);
    if (count > 0) rte_pktmbuf_free_bulk(packets.data(), count);
    any |= count > 0;
  }
  return any;
}

void HostPath::deliver(rte_mbuf& packet) noexcept {
  Twin* const twin = twin_of_port_[packet.port];  // Null: the twin was removed meanwhile.
  const auto bytes = std::min<std::uint32_t>(packet.pkt_len, static_cast<std::uint32_t>(chain_.size()));
  const auto* const frame = static_cast<const std::uint8_t*>(rte_pktmbuf_read(&packet, 0, bytes, chain_.data()));
  const bool taken = bytes == packet.pkt_len && twin != nullptr && twin->tap && twin->tap->write({frame, bytes});
  if (!taken) lost_[packet.hash.usr].add(1);
}

bool HostPath::read_twins() noexcept {
  bool any = false;
  blocked_ = false;
  for (auto& twin : twins_) any |= twin.tap && read_from(twin);
  return any;
}

/// Reads packets from the twin. If there is no room, packets stay in the kernel's own queue.
bool HostPath::read_from(Twin& twin) noexcept {
  std::array<rte_mbuf*, kBurst> packets;
  io::PacketRing& ring = from_host_[twin.worker];
  io::Tap& tap = twin.tap.value();
  const std::uint16_t most = std::min(kBurst, ring.room());
  blocked_ |= most == 0;
  std::uint16_t count = 0;
  while (count < most) {
    rte_mbuf* packet = rte_pktmbuf_alloc(pool_.get());
    if (packet == nullptr) {
      blocked_ = true;
      break;
    }
    const auto bytes = tap.read({rte_pktmbuf_mtod(packet, std::uint8_t*), rte_pktmbuf_tailroom(packet)});
    if (!bytes) {
      rte_pktmbuf_free(packet);
      break;
    }
    rte_pktmbuf_append(packet, static_cast<std::uint16_t>(*bytes));
    packet->port = twin.port->info().index;
    packets[count++] = packet;
  }
  ring.put(packets.data(), count);
  if (count > 0) twin.doorbell->ring();
  return count > 0;
}

/// Maintains the twins. A twin's carrier follows its port's link. A deleted twin is created again, and brought up with
/// its addresses after kIntroduction.
void HostPath::look_after_twins() noexcept {
  const auto now = Clock::now();
  if (now - looked_after_ < std::chrono::milliseconds(kSleepMilliseconds)) return;
  looked_after_ = now;
  const bool changed = addresses_.changed() || std::exchange(addresses_wanted_, false);
  for (auto& twin : twins_) {
    if (twin.tap && twin.tap->gone()) {
      twin.up.store(false, std::memory_order_relaxed);
      twin.tap.reset();
      twin.was_lost = true;
      log_warning(fmt::format("port '{}': twin {} was deleted; it is made again", twin.port->info().name, twin.name));
    }
    try {
      if (!twin.tap) {
        create(twin, twin.port->info());
      } else {
        twin.tap->set_carrier(twin.port->link_up());
        if (std::exchange(twin.renewed, false)) follow_device(twin);
        if (!twin.up.load(std::memory_order_relaxed) && now - twin.created >= kIntroduction) {
          bring_up(twin);
          give_addresses(twin);
        } else if (changed && twin.up.load(std::memory_order_relaxed)) {
          give_addresses(twin);
        }
      }
    } catch (const std::exception& error) {
      twin.tap.reset();  // The next call tries again; until then show() reports the twin as down.
      if (twin.failure == error.what()) continue;
      twin.failure = error.what();
      log_warning(fmt::format("port '{}': twin {}: {}", twin.port->info().name, twin.name, twin.failure));
    }
  }
}

void HostPath::sleep() noexcept {
  if (blocked_) {  // The twin stays readable, so epoll_wait() would return at once.
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    return;
  }
  doorbell_.listen();
  // A later punt wakes this thread through the doorbell; earlier punts are visible here.
  const bool waiting = std::any_of(to_host_.begin(), to_host_.end(), [](const auto& ring) { return !ring.empty(); });
  if (!waiting && !stopping_.load()) {
    epoll_event event{};
    epoll_wait(poll_.get(), &event, 1, kSleepMilliseconds);
  }
  doorbell_.ignore();
}

nlohmann::ordered_json HostPath::show(std::uint16_t port) const {
  const Twin* twin = twin_of_port_[port];
  if (twin == nullptr) return nlohmann::ordered_json::object();
  return {{"twin", twin->name}, {"twin_up", twin->up.load(std::memory_order_relaxed)}};
}

}  // namespace penumbra::runtime
