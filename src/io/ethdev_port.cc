// SPDX-License-Identifier: Apache-2.0
#include "io/ethdev_port.h"

#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "base/log.h"
#include "control/device_arguments.h"
#include "io/device_advice.h"
#include "io/ethdev_probe.h"
#include "io/interface_ioctl.h"
#include "io/log_capture.h"
#include "io/memif_gate.h"
#include "io/new_sockets.h"
#include "io/symmetric_rss.h"
#include "io/xdp_umems.h"

namespace penumbra::io {
namespace {

constexpr std::uint64_t kRssTypes = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP;

/// Returns true if a Linux interface is up and has a carrier. DPDK's socket drivers do not check that.
bool is_running(const std::string& interface) {
  const auto answer = ask_interface(interface, SIOCGIFFLAGS);
  return answer && (answer->ifr_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
}

/// Returns the smaller of the wanted MTU and the Linux interface's MTU. The kernel discards longer frames, and the
/// socket drivers count discarded frames as sent.
std::uint16_t mtu_of(const std::string& interface, std::uint16_t wanted) {
  const auto answer = ask_interface(interface, SIOCGIFMTU);
  return answer && answer->ifr_mtu > 0 && answer->ifr_mtu < wanted ? static_cast<std::uint16_t>(answer->ifr_mtu)
                                                                   : wanted;
}

/// Installs a filter for outgoing packets. A packet socket also receives packets that Linux sends on the interface.
/// Among them are neighbour solicitations for the very address that a twin claims. Packets received earlier stay in the
/// socket's ring: EthdevPort::forget_what_came_before_start(). (PACKET_IGNORE_OUTGOING does nothing for the members of
/// a fan-out group.)
void hear_only_what_comes(const std::vector<int>& sockets) {
  std::array<sock_filter, 4> program{{
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
  }};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  for (const int descriptor : sockets) setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

/// Returns the number of frames dropped since the last call because a packet socket's ring was full. The kernel resets
/// its counter on each read. The driver of DPDK 22.11 does not read it.
std::uint64_t overflowed(const std::vector<int>& sockets) {
  std::uint64_t frames = 0;
  for (const int descriptor : sockets) {
    tpacket_stats counters{};
    socklen_t size = sizeof counters;
    if (getsockopt(descriptor, SOL_PACKET, PACKET_STATISTICS, &counters, &size) == 0) frames += counters.tp_drops;
  }
  return frames;
}

/// Returns the number of frames dropped because an AF_XDP socket's receive ring was full. The driver of DPDK 22.11
/// counts only frames without a kernel buffer.
std::uint64_t overflowed_xdp(const std::vector<int>& sockets) {
  std::uint64_t frames = 0;
  for (const int descriptor : sockets) {
    xdp_statistics counters{};
    socklen_t size = sizeof counters;
    if (getsockopt(descriptor, SOL_XDP, XDP_STATISTICS, &counters, &size) == 0) frames += counters.rx_ring_full;
  }
  return frames;
}

/// Returns true if a packet socket or AF_XDP socket is no longer bound because its interface is gone.
bool has_lost_interface(int descriptor) {
  sockaddr_ll bound{};
  socklen_t size = sizeof bound;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &size) == 0 && bound.sll_family == AF_PACKET) {
    return bound.sll_ifindex <= 0;
  }
  int domain = 0, error = 0;
  socklen_t domain_size = sizeof domain, error_size = sizeof error;
  return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) == 0 && domain == AF_XDP &&
         getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &error_size) == 0 && error == ENETDOWN;
}

/// Returns true for drivers that deliver a frame larger than an mbuf as a chain without a request.
bool may_chain(std::string_view driver) {
  return driver == "net_pcap" || driver == "net_ring" || driver == "net_memif";
}

void check(int result, std::string_view step) {
  if (result < 0) throw std::runtime_error(fmt::format("the device refuses {}{}", step, reason_of(result)));
}

std::string advice_to_start(std::string_view driver) {
  return driver == "net_memif"
             ? "; a memif client starts only after its server: the port with role=server on the same socket"
             : "";
}

/// Executes an action on the device. Appends the driver's log, which has the cause, and advice to an error.
template <class Action>
void explaining(const std::string& devargs, const Action& action) {
  const LogCapture log;
  try {
    action();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(error.what() + log.remark() + device_advice(devargs));
  }
}

}  // namespace

/// Owns the device; stops and removes it.
class EthdevPort::Device {
 public:
  explicit Device(const std::string& devargs) : port_(probe_ethdev(devargs)) {
    check(rte_eth_dev_info_get(port_, &info_), "to describe itself");
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    const LogCapture log;  // Discards messages of a driver about a device that is being removed.
    {
      const XdpUmems::Recording recording(umems_);
      stop();
      remove_ethdev(port_);
    }
    umems_.delete_all();
  }
  /// Configures the device. Resources that the driver allocates are freed with the device.
  template <class Action>
  void configure(const Action& action) {
    const XdpUmems::Recording recording(umems_);
    action();
  }
  void start() {
    check(MemifGate::change(info_.driver_name, [this] { return rte_eth_dev_start(port_); }), "to start");
    started_ = true;
  }
  void stop() noexcept {
    if (started_) MemifGate::change(info_.driver_name, [this] { return rte_eth_dev_stop(port_); });
    started_ = false;
  }
  std::uint16_t port() const { return port_; }
  const rte_eth_dev_info& info() const { return info_; }
  GatedPort gated_port() const { return {port_, MemifGate::guards(info_.driver_name)}; }

 private:
  std::uint16_t port_;
  rte_eth_dev_info info_{};
  XdpUmems umems_;
  bool started_ = false;
};

EthdevPort::EthdevPort(const control::PortConfig& config, std::uint16_t workers, const PacketPool& pool)
    : config_(config),
      workers_(workers),
      info_(config.info),
      devargs_(std::get<control::Ethdev>(config.device).devargs),
      location_(config.device_location),
      pool_(pool),
      queues_(config.queues == 0 ? workers : config.queues) {
  const std::string& devargs = devargs_;
  if (control::needs_interface(devargs)) {
    interface_ = control::devarg(devargs, "iface");
    interface_index_ = if_nametoindex(interface_.c_str());
    lock_.emplace(interface_);
    completes_ = is_virtual_interface(interface_);
    info_.mtu = mtu_of(interface_, info_.mtu);
  }
  NewSockets sockets;
  device_ = std::make_unique<Device>(devargs);
  plan_ = plan_queues(device_->info(), queues_, workers);
  sockets_.resize(plan_.rx);
  sockets_[0] = sockets.take();
  explaining(devargs, [this] { device_->configure([this] { configure(); }); });
  settle_mac();
  make_tx_queues(workers);
  make_rx_queues({.remove_chains = may_chain(device_->info().driver_name), .complete_checksums = completes_});
  hears_itself_ = std::string_view(device_->info().driver_name) == "net_af_packet";
  if (hears_itself_) {
    hear_only_what_comes(sockets_[0]);
    peer_.emplace(interface_);
    offloads_.emplace(interface_);
  }
}

EthdevPort::~EthdevPort() {
  stop();
}

void EthdevPort::configure() {
  const std::uint16_t port = device_->port();
  const rte_eth_dev_info& device = device_->info();
  // Devices count the FCS in the maximum frame length.
  std::uint32_t largest_mtu = device.max_mtu;
  if (device.max_rx_pktlen > 0) {
    largest_mtu = std::min<std::uint32_t>(largest_mtu, device.max_rx_pktlen - RTE_ETHER_HDR_LEN - RTE_ETHER_CRC_LEN);
  }
  if (info_.mtu > largest_mtu) {
    throw std::runtime_error(fmt::format("the device takes an MTU of at most {}, not {}", largest_mtu, info_.mtu));
  }
  rte_eth_conf settings{};
  settings.intr_conf.rxq = interrupts_ ? 1 : 0;
  settings.rxmode.mtu = std::max<std::uint32_t>(info_.mtu, std::min<std::uint32_t>(RTE_ETHER_MTU, largest_mtu));
  std::vector<std::uint8_t> key = symmetric_key(device);
  if (plan_.rss) {
    settings.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    settings.rx_adv_conf.rss_conf.rss_hf = device.flow_type_rss_offloads & kRssTypes;
    if (device.hash_key_size > 0) {
      settings.rx_adv_conf.rss_conf.rss_key = key.data();
      settings.rx_adv_conf.rss_conf.rss_key_len = static_cast<std::uint8_t>(key.size());
    }
  }
  check(rte_eth_dev_configure(port, plan_.rx, plan_.tx, &settings),
        fmt::format("{} RX and {} TX queues", plan_.rx, plan_.tx));
  const bool xdp = std::string_view(device.driver_name) == "net_af_xdp";
  std::uint16_t rx_descriptors = xdp ? kXdpDescriptors : kDescriptors, tx_descriptors = rx_descriptors;
  check(rte_eth_dev_adjust_nb_rx_tx_desc(port, &rx_descriptors, &tx_descriptors), "its number of descriptors");
  const auto socket = static_cast<unsigned>(rte_eth_dev_socket_id(port));
  NewSockets sockets;
  for (std::uint16_t queue = 0; queue < plan_.rx; ++queue) {
    check(rte_eth_rx_queue_setup(port, queue, rx_descriptors, socket, nullptr, pool_.get()), "an RX queue");
    std::ranges::copy(sockets.take(), std::back_inserter(sockets_[queue]));
  }
  for (std::uint16_t queue = 0; queue < plan_.tx; ++queue) {
    check(rte_eth_tx_queue_setup(port, queue, tx_descriptors, socket, nullptr), "a TX queue");
  }
}

/// Reads the device's MAC address, or sets the configured address.
void EthdevPort::settle_mac() {
  const std::uint16_t port = device_->port();
  rte_ether_addr address{};
  if (info_.mac.value == 0) {
    check(rte_eth_macaddr_get(port, &address), "to tell its MAC address");
    for (const std::uint8_t byte : address.addr_bytes) info_.mac.value = info_.mac.value << 8 | byte;
    return;
  }
  for (int i = 0; i < RTE_ETHER_ADDR_LEN; ++i) {
    address.addr_bytes[i] = static_cast<std::uint8_t>(info_.mac.value >> (8 * (RTE_ETHER_ADDR_LEN - 1 - i)));
  }
  // A device that refuses the address must accept all frames instead; the functions check the address anyway.
  if (rte_eth_dev_default_mac_addr_set(port, &address) != 0) rte_eth_promiscuous_enable(port);
}

void EthdevPort::make_tx_queues(std::uint16_t workers) {
  const GatedPort port = device_->gated_port();
  if (plan_.tx < workers) {
    for (std::uint16_t queue = 0; queue < plan_.tx; ++queue) {
      shared_tx_.push_back(std::make_unique<SharedTx>(
          fmt::format("tx{}_{}", port.port, queue),
          [port, queue](rte_mbuf** packets, std::uint16_t count) { return port.send(queue, packets, count); }));
    }
  }
  for (std::uint16_t worker = 0; worker < workers; ++worker) {
    if (shared_tx_.empty()) {
      tx_queues_.push_back(std::make_unique<EthdevTxQueue>(port, worker));
    } else {
      tx_queues_.push_back(std::make_unique<SharedTxQueue>(*shared_tx_[worker % plan_.tx], worker < plan_.tx));
    }
  }
}

void EthdevPort::make_rx_queues(RxRepair repair) {
  for (std::uint16_t queue = 0; queue < queues_; ++queue) {
    std::vector<std::uint16_t> polled;
    for (std::uint16_t hardware = queue; hardware < plan_.rx; hardware += queues_) polled.push_back(hardware);
    if (polled.empty()) {
      rx_queues_.push_back(nullptr);
      continue;
    }
    auto polling = std::make_unique<EthdevRxQueue>(device_->gated_port(), std::move(polled), repair, shared_tx_);
    polled_.push_back(polling.get());
    rx_queues_.push_back(std::move(polling));
  }
  if (queues_ == 1 || (plan_.spreads && plan_.rx >= queues_)) return;
  rss_ = std::make_unique<SoftwareRss>(fmt::format("rss{}", device_->port()), std::move(rx_queues_));
  rx_queues_.clear();
}

RxQueue& EthdevPort::rx_queue(std::uint16_t queue) {
  return rss_ ? rss_->queue(queue) : *rx_queues_[queue];
}

void EthdevPort::start() {
  const std::uint16_t port = device_->port();
  try {
    // A device without promiscuous mode filters nothing.
    const int promiscuous = info_.promiscuous ? rte_eth_promiscuous_enable(port) : 0;
    if (promiscuous != -ENOTSUP) check(promiscuous, "promiscuous mode");
    rte_eth_allmulticast_enable(port);  // For punted packets; devices without the mode filter nothing.
    explaining(devargs_, [this] { start_device(); });
  } catch (const std::runtime_error& error) {
    throw InputError(location_, fmt::format("port '{}': {}{}", info_.name, error.what(),
                                            advice_to_start(device_->info().driver_name)));
  }
}

/// Frees the frames that a packet socket received since it was opened, including frames that Linux sent before the
/// filter was installed. The bound exceeds any usual ring. Under constant traffic the oldest frames are freed.
void EthdevPort::forget_what_came_before_start() {
  constexpr std::uint32_t kMost = 65'536;
  std::array<rte_mbuf*, 64> frames{};
  for (std::uint32_t seen = 0; seen < kMost; seen += frames.size()) {
    const std::uint16_t count = rte_eth_rx_burst(device_->port(), 0, frames.data(), frames.size());
    if (count == 0) return;
    rte_pktmbuf_free_bulk(frames.data(), count);
  }
}

/// Starts the device. A device bound to a driver without interrupts (uio) is started without interrupts.
void EthdevPort::start_device() {
  try {
    device_->start();
  } catch (const std::runtime_error&) {
    interrupts_ = false;
    device_->configure([this] { configure(); });
    device_->start();
  }
  is_symmetric_ = plan_.rss && use_symmetric_key(device_->port(), device_->info());
  if (plan_.rss && !is_symmetric_) {
    log_warning(
        fmt::format("port '{}': the device does not take a symmetric RSS key, so that the directions of a connection "
                    "may go to different "
                    "workers; functions that follow connections need `queues: 1` here",
                    info_.name));
  }
  for (EthdevRxQueue* queue : polled_) queue->find_interrupts(sockets_);
  if (hears_itself_) forget_what_came_before_start();
}

void EthdevPort::stop() noexcept {
  device_->stop();
  if (info_.promiscuous) rte_eth_promiscuous_disable(device_->port());
  if (rss_) rss_->clear();
}

std::vector<DeviceLoss> EthdevPort::device_losses() const {
  std::vector<DeviceLoss> losses;
  rte_eth_stats counters{};
  std::uint64_t overflowed_in_xdp = 0;
  for (const std::vector<int>& sockets : sockets_) {
    overflowed_ += overflowed(sockets);
    overflowed_in_xdp += overflowed_xdp(sockets);
  }
  if (rte_eth_stats_get(device_->port(), &counters) == 0) {
    losses = {{"missed", counters.imissed + overflowed_ + overflowed_in_xdp},
              {"rx_no_mbuf", counters.rx_nombuf},
              {"rx_errors", counters.ierrors},
              {"tx_errors", counters.oerrors}};
  }
  std::uint64_t oversized = 0;
  for (const EthdevRxQueue* queue : polled_) oversized += queue->oversized();
  losses.push_back({"rx_oversized", oversized});
  return losses;
}

bool EthdevPort::link_up() const noexcept {
  if (!interface_.empty()) return is_running(interface_);
  rte_eth_link link{};
  // A driver that does not know the link state must not keep the host from using the twin.
  return rte_eth_link_get_nowait(device_->port(), &link) != 0 || link.link_status == RTE_ETH_LINK_UP;
}

std::string EthdevPort::why_down() const {
  if (interface_.empty() || link_up()) return "";
  const auto answer = ask_interface(interface_, SIOCGIFFLAGS);
  if (!answer) return fmt::format("there is no interface {}", interface_);
  if ((answer->ifr_flags & IFF_UP) == 0) return fmt::format("{0} is down; ip link set {0} up", interface_);
  return fmt::format("{} has no carrier; check its cable or its peer", interface_);
}

/// An interface that is deleted and created again may get the same index, so the sockets are checked too.
bool EthdevPort::is_lost() const noexcept {
  if (interface_.empty() || is_lost_) return is_lost_;
  is_lost_ = if_nametoindex(interface_.c_str()) != interface_index_;
  for (const std::vector<int>& sockets : sockets_) {
    for (const int descriptor : sockets) is_lost_ = is_lost_ || has_lost_interface(descriptor);
  }
  return is_lost_;
}

Reopen EthdevPort::reopen() const {
  if (interface_.empty()) return nullptr;
  return [config = config_, workers = workers_, pool = pool_]() -> std::unique_ptr<Port> {
    return std::make_unique<EthdevPort>(config, workers, pool);
  };
}

nlohmann::ordered_json EthdevPort::show() const {
  nlohmann::ordered_json shown{{"driver", device_->info().driver_name},
                               {"device", rte_dev_name(device_->info().device)}};
  shown["link"] = link_up() ? "up" : "down";
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(device_->port(), &link) == 0 && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN) {
    shown["speed_mbps"] = link.link_speed;
  }
  shown["software_rss"] = rss_ != nullptr;
  if (queues_ > 1) shown["symmetric_rss"] = rss_ != nullptr || is_symmetric_;
  if (completes_) {
    std::uint64_t completed = 0;
    for (const EthdevRxQueue* queue : polled_) completed += queue->completed();
    shown["completed_checksums"] = completed;
  }
  std::string advice = peer_ ? peer_->failure() : "";
  if (offloads_ && !offloads_->failure().empty()) advice += (advice.empty() ? "" : "; ") + offloads_->failure();
  if (!advice.empty()) shown["advice"] = advice;
  return shown;
}

}  // namespace penumbra::io
