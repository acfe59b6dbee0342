// SPDX-License-Identifier: Apache-2.0
#include "io/ethdev_port.h"

#include <gmock/gmock.h>
#include <rte_ethdev.h>

#include <array>
#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "io/ethdev_probe.h"
#include "io/test_support.h"
#include "io/traffic.h"

namespace penumbra::io::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(const std::vector<control::PortConfig>& configs, std::uint16_t workers = 1) {
  try {
    for (const auto& port : open_ports(configs, workers)) port->start();
  } catch (const InputError& error) {
    EXPECT_EQ(error.location().file, "test.yaml");
    return error.what();
  }
  return "opened";
}

/// Returns the error for a device whose arguments are refused before anything is opened.
std::string refusal_of_configuration(const std::string& device) {
  try {
    port_config(device);
  } catch (const InputError& error) {
    EXPECT_EQ(error.location().file, "test.yaml");
    return error.what();
  }
  return "taken";
}

/// Returns the device's count of losses of kind `what`, or nothing if the device has no such counter.
std::optional<std::uint64_t> loss_of(const Port& port, const std::string& what) {
  for (const DeviceLoss& loss : port.device_losses()) {
    if (loss.what == what) return loss.packets;
  }
  return std::nullopt;
}

class EthdevPortTest : public ::testing::Test {
 protected:
  void SetUp() override { need_eal(); }
  void TearDown() override { EXPECT_EQ(rte_eth_dev_count_total(), 0); }

  static std::unique_ptr<Port> open_one(const control::PortConfig& config, std::uint16_t workers) {
    auto ports = open_ports({&config, 1}, workers);
    return std::move(ports.front());
  }
  ScratchFolder folder_;
};

TEST_F(EthdevPortTest, OpensANullDevice) {
  const auto port = open_one(port_config("net_null0,size=100"), 2);
  ASSERT_EQ(port->rx_queues(), 2);
  EXPECT_EQ(port->show()["driver"], "net_null");
  EXPECT_EQ(port->show()["software_rss"], false);
  EXPECT_NE(port->info().mac.value, 0U);
  port->start();
  EXPECT_EQ(port->show()["symmetric_rss"], true);
  std::array<rte_mbuf*, 64> packets{};
  for (std::uint16_t queue = 0; queue < 2; ++queue) {
    const std::uint16_t count = port->rx_queue(queue).receive(packets.data(), packets.size());
    EXPECT_GT(count, 0);
    EXPECT_EQ(packets[0]->data_len, 100);
    EXPECT_EQ(port->tx_queue(queue).send(packets.data(), count), count);
    port->tx_queue(queue).close();
    EXPECT_FALSE(port->rx_queue(queue).exhausted());
    port->rx_queue(queue).drain();
    EXPECT_TRUE(port->rx_queue(queue).exhausted());
  }
  port->stop();
  EXPECT_EQ(loss_of(*port, "missed"), 0U);
}

TEST_F(EthdevPortTest, TakesTheConfiguredAddress) {
  control::PortConfig config = port_config("net_null0");
  config.info.mac = MacAddress{0x021122334455};
  const auto port = open_one(config, 1);
  EXPECT_EQ(port->info().mac, config.info.mac);
  rte_ether_addr address{};
  ASSERT_EQ(rte_eth_macaddr_get(0, &address), 0);
  EXPECT_EQ(Bytes(address.addr_bytes, address.addr_bytes + 6), (Bytes{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}));
}

TEST_F(EthdevPortTest, GivesBackWhatGoesIntoARing) {
  const auto port = open_one(port_config("net_ring0"), 2);
  const auto source = open_one(port_config("synth:count=500,dst=zipf:20"), 1);
  port->start();
  source->start();
  std::multiset<std::string> sent, received;
  std::array<rte_mbuf*, 64> packets{};
  const auto text = [](const rte_mbuf& packet) {
    const Bytes bytes = bytes_of(packet);
    return std::string(bytes.begin(), bytes.end());
  };
  std::uint16_t worker = 0;
  while (!source->rx_queue(0).exhausted()) {
    const std::uint16_t count = source->rx_queue(0).receive(packets.data(), packets.size());
    for (std::uint16_t i = 0; i < count; ++i) sent.insert(text(*packets[i]));
    ASSERT_EQ(port->tx_queue(worker).send(packets.data(), count), count);
    worker ^= 1;  // Each worker's packets return on another queue of the device, so all queues must be polled.
  }
  std::map<std::string, std::uint16_t> queue_of_flow;
  for (int round = 0; round < 20; ++round) {
    for (std::uint16_t queue = 0; queue < 2; ++queue) {
      const std::uint16_t count = port->rx_queue(queue).receive(packets.data(), packets.size());
      for (std::uint16_t i = 0; i < count; ++i) {
        const std::string frame = text(*packets[i]);
        received.insert(frame);
        EXPECT_EQ(queue_of_flow.try_emplace(frame.substr(26, 12), queue).first->second, queue);
      }
      rte_pktmbuf_free_bulk(packets.data(), count);
    }
  }
  EXPECT_EQ(received, sent);
  EXPECT_EQ(port->ring_loss().packets, 0U);
}

TEST_F(EthdevPortTest, SpreadsACaptureDeviceBySoftwareAndSharesItsTransmitQueue) {
  constexpr std::uint16_t kWorkers = 3;
  std::vector<Record> records;
  const Traffic traffic(control::SynthSource{});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Bytes frame(control::SynthSource::kLargestFrame);
    frame.resize(traffic.fill(i, frame));
    records.push_back({i * 1000, frame});
  }
  write_file(folder_ / "in.pcap", pcap_file(records));
  const std::string devargs =
      "net_pcap0,rx_pcap=" + (folder_ / "in.pcap").string() + ",tx_pcap=" + (folder_ / "out.pcap").string();
  std::uint64_t received = 0;
  {
    const auto port = open_one(port_config(devargs), kWorkers);
    ASSERT_EQ(port->rx_queues(), kWorkers);
    EXPECT_EQ(port->show()["software_rss"], true);
    port->start();
    std::array<rte_mbuf*, 64> packets{};
    for (int round = 0; round < 100; ++round) {
      for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
        const std::uint16_t count = port->rx_queue(worker).receive(packets.data(), packets.size());
        received += count;
        EXPECT_EQ(port->tx_queue(worker).send(packets.data(), count), count);
      }
    }
    for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
      port->rx_queue(worker).drain();
      port->tx_queue(worker).close();
      EXPECT_EQ(port->tx_queue(worker).unsent().packets, 0U);
    }
    port->stop();
  }
  EXPECT_EQ(received, 1000U);
  std::multiset<std::string> in, out;
  for (const Record& record : records) in.emplace(record.frame.begin(), record.frame.end());
  for (const Record& record : records_of(load_capture(folder_ / "out.pcap"))) {
    out.emplace(record.frame.begin(), record.frame.end());
  }
  EXPECT_EQ(out, in);
}

/// The driver's values in DPDK's timestamp field are not in nanoseconds.
TEST_F(EthdevPortTest, GivesASinkTheTimeOfSendingForWhatADeviceReceived) {
  constexpr std::uint64_t k2020 = 1'577'836'800'000'000'000;
  write_file(folder_ / "in.pcap", pcap_file({{1'000'000'000, Bytes(60, 1)}}));
  const std::vector<control::PortConfig> configs{
      port_config("net_pcap0,rx_pcap=" + (folder_ / "in.pcap").string(), "count", 0),
      port_config("none", (folder_ / "out.pcap").string(), 1)};
  const auto ports = open_ports(configs, 1);
  for (const auto& port : ports) port->start();
  std::array<rte_mbuf*, 8> packets{};
  ASSERT_EQ(ports[0]->rx_queue(0).receive(packets.data(), packets.size()), 1);
  ASSERT_EQ(ports[1]->tx_queue(0).send(packets.data(), 1), 1);
  ports[1]->tx_queue(0).close();
  const auto records = records_of(load_capture(folder_ / "out.pcap"));
  ASSERT_EQ(records.size(), 1U);
  EXPECT_GT(records[0].nanoseconds, k2020);
  ports[0]->stop();
}

TEST_F(EthdevPortTest, DoesNotReceiveChains) {
  write_file(folder_ / "in.pcap", pcap_file({{0, Bytes(9000, 1)}, {0, Bytes(60, 2)}}));
  const auto port = open_one(port_config("net_pcap0,rx_pcap=" + (folder_ / "in.pcap").string()), 1);
  port->start();
  std::array<rte_mbuf*, 8> packets{};
  ASSERT_EQ(port->rx_queue(0).receive(packets.data(), packets.size()), 1);
  EXPECT_EQ(bytes_of(*packets[0]), Bytes(60, 2));
  rte_pktmbuf_free(packets[0]);
  EXPECT_EQ(loss_of(*port, "rx_oversized"), 1U);
}

TEST_F(EthdevPortTest, RefusesWithReasonAndAdvice) {
  EXPECT_THAT(refusal({port_config("net_af_packet0,iface=no-such")}),
              AllOf(HasSubstr("test.yaml:1:"), HasSubstr("port 'port0'"), HasSubstr("no interface 'no-such'")));
  EXPECT_THAT(refusal_of_configuration("net_af_packet0,iface=lo,qpairs=2"), HasSubstr("would reorder flows"));
  for (const std::string driver : {"net_af_packet0", "net_af_xdp0"}) {
    EXPECT_THAT(refusal_of_configuration(driver), HasSubstr("'" + driver + "' does not say on which interface"))
        << driver;
  }
  EXPECT_THAT(refusal_of_configuration("net_null0,sise=9"), HasSubstr("no argument 'sise'; did you mean 'size'?"));
  EXPECT_THAT(refusal({port_config("net_pcap0,rx_pcap=" + (folder_ / "missing").string())}),
              HasSubstr("DPDK cannot open"));
  EXPECT_THAT(refusal({port_config("net_null0", "count", 0), port_config("net_null0", "count", 1)}),
              AllOf(HasSubstr("port 'port1'"), HasSubstr("another port has the same device")));
  EXPECT_THAT(refusal({port_config("net_memif0,role=nobody")}), Not(HasSubstr("not permitted")));
  EXPECT_THAT(refusal({port_config("vdev:net_nul0")}), HasSubstr("vdev:net_nul0"));
  EXPECT_THAT(refusal({port_config("0000:ff:1f.7")}), HasSubstr("0000:ff:1f.7"));
}

/// The driver of AF_XDP sockets needs support of the interface's driver, which lo lacks. Without the log capture, the
/// AF_XDP libraries would write to standard error.
TEST_F(EthdevPortTest, EndsAnErrorWithWhatTheDriverLogged) {
  ::testing::internal::CaptureStderr();
  const std::string message = refusal({port_config("net_af_xdp0,iface=lo")});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(message, AllOf(HasSubstr("port 'port0'"), HasSubstr(" ("), HasSubstr(")")));
}

TEST_F(EthdevPortTest, SaysWhatAMemifClientNeeds) {
  EXPECT_THAT(refusal({port_config("net_memif0,role=client,socket=/tmp/no-such-penumbra-memif,socket-abstract=no")}),
              HasSubstr("a memif client starts only after its server"));
}

/// The driver frees the memory shared with a disconnecting peer while workers may be using it.
TEST_F(EthdevPortTest, KeepsWorkersOutOfAMemifWhosePeerGoes) {
  constexpr int kTurns = 100;
  const std::string socket = ",socket-abstract=no,socket=" + (folder_ / "memif").string();
  const std::vector<control::PortConfig> configs{port_config("net_memif0,role=server" + socket, "count", 0),
                                                 port_config("net_memif1,role=client" + socket, "count", 1),
                                                 port_config("net_null0", "count", 2)};
  const auto ports = open_ports(configs, 1);
  Port &server = *ports[0], &client = *ports[1], &source = *ports[2];
  server.start();
  source.start();
  std::atomic<bool> is_over{false};
  std::atomic<std::uint64_t> returned{0};
  std::thread worker([&] {
    std::array<rte_mbuf*, 64> packets{};
    while (!is_over) {
      const std::uint16_t count = server.rx_queue(0).receive(packets.data(), packets.size());
      const std::uint16_t sent = server.tx_queue(0).send(packets.data(), count);
      rte_pktmbuf_free_bulk(packets.data() + sent, count - sent);
      returned += sent;
    }
  });
  for (int turn = 0; turn < kTurns; ++turn) {
    client.start();
    // DPDK itself panics if a client disconnects before its server has greeted it.
    while (!client.link_up()) std::this_thread::yield();
    for (const std::uint64_t before = returned; returned < before + 100;) {
      std::array<rte_mbuf*, 32> packets{};
      const std::uint16_t count = source.rx_queue(0).receive(packets.data(), packets.size());
      const std::uint16_t sent = client.tx_queue(0).send(packets.data(), count);
      rte_pktmbuf_free_bulk(packets.data() + sent, count - sent);
      const std::uint16_t back = client.rx_queue(0).receive(packets.data(), packets.size());
      rte_pktmbuf_free_bulk(packets.data(), back);
    }
    client.stop();
  }
  is_over = true;
  worker.join();
  for (const auto& port : ports) port->stop();
}

TEST_F(EthdevPortTest, GivesPacketSocketsRingsByDefault) {
  EXPECT_EQ(with_default_rings("net_af_packet0,iface=a", true), "net_af_packet0,iface=a,framecnt=4096");
  EXPECT_EQ(with_default_rings("eth_af_packet0,iface=a", true), "eth_af_packet0,iface=a,framecnt=4096");
  EXPECT_EQ(with_default_rings("net_af_packet0,iface=a,framecnt=512", true), "net_af_packet0,iface=a,framecnt=512");
  EXPECT_EQ(with_default_rings("net_af_packet0,iface=a", false), "net_af_packet0,iface=a");
  EXPECT_EQ(with_default_rings("net_af_xdp0,iface=net_af_packet", true), "net_af_xdp0,iface=net_af_packet");
}

}  // namespace
}  // namespace penumbra::io::test
