// SPDX-License-Identifier: Apache-2.0
#include "io/builtin_port.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "io/test_support.h"
#include "io/traffic.h"

namespace penumbra::io::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Record> synthetic_records(std::size_t count, std::uint16_t frame_bytes = 60) {
  control::SynthSource source;
  source.frame_bytes = frame_bytes;
  const Traffic traffic(source);
  std::vector<Record> records;
  for (std::size_t i = 0; i < count; ++i) {
    Bytes frame(control::SynthSource::kLargestFrame);
    frame.resize(traffic.fill(i, frame));
    records.push_back({1'700'000'000'000'000'001 + i * 1001, frame});
  }
  return records;
}

/// Sends everything that the port receives out of the same port. Each queue has its own worker.
void reflect(Port& port) {
  port.start();
  for (std::uint16_t queue = 0; queue < port.rx_queues(); ++queue) {
    std::array<rte_mbuf*, 64> packets{};
    while (!port.rx_queue(queue).exhausted()) {
      const std::uint16_t count = port.rx_queue(queue).receive(packets.data(), packets.size());
      ASSERT_EQ(port.tx_queue(queue).send(packets.data(), count), count);
    }
    port.tx_queue(queue).close();
  }
  port.stop();
}

std::unique_ptr<Port> open_one(const control::PortConfig& config, std::uint16_t workers = 1) {
  auto ports = open_ports({&config, 1}, workers);
  return std::move(ports.front());
}

class BuiltinPortTest : public ::testing::Test {
 protected:
  void SetUp() override { need_eal(); }
  ScratchFolder folder_;
};

TEST_F(BuiltinPortTest, GivesACaptureBackByteForByte) {
  std::vector<Record> records = synthetic_records(300);
  records.push_back({5, {}});
  records.push_back({1'000'000'000, Bytes(1, 7)});
  records.push_back({4'294'967'295'999'999'999, Bytes(65535, 8)});  // The latest time and the largest frame.
  records.push_back({6, Bytes(65535 - 128, 9)});
  const Bytes in = pcap_file(records);
  write_file(folder_ / "in.pcap", in);
  reflect(*open_one(port_config("pcap:" + (folder_ / "in.pcap").string(), (folder_ / "out.pcap").string())));
  EXPECT_EQ(read_file(folder_ / "out.pcap"), in);

  write_file(folder_ / "in.pcapng", pcapng_file(records, true));
  reflect(*open_one(port_config("pcap:" + (folder_ / "in.pcapng").string(), (folder_ / "out.pcap").string())));
  EXPECT_EQ(read_file(folder_ / "out.pcap"), in);
}

TEST_F(BuiltinPortTest, DealsACaptureOutToItsQueues) {
  const std::vector<Record> records = synthetic_records(1000);
  write_file(folder_ / "in.pcap", pcap_file(records));
  const auto port = open_one(port_config("pcap:" + (folder_ / "in.pcap").string()), 3);
  ASSERT_EQ(port->rx_queues(), 3);
  port->start();
  std::multiset<std::string> got, expected;
  for (std::uint16_t queue = 0; queue < 3; ++queue) {
    const auto part = receive_all(port->rx_queue(queue));
    EXPECT_GT(part.size(), 200U);
    for (const Bytes& frame : part) got.emplace(frame.begin(), frame.end());
  }
  for (const Record& record : records) expected.emplace(record.frame.begin(), record.frame.end());
  EXPECT_EQ(got, expected);
}

TEST_F(BuiltinPortTest, IsExhaustedAtOnceWithoutFrames) {
  write_file(folder_ / "in.pcap", pcap_file({}));
  for (const std::string& device : {"pcap:" + (folder_ / "in.pcap").string() + ",loop", std::string("none")}) {
    const auto port = open_one(port_config(device), 2);
    ASSERT_EQ(port->rx_queues(), 2);
    port->start();
    EXPECT_TRUE(port->rx_queue(0).exhausted());
    EXPECT_THAT(receive_all(port->rx_queue(1)), IsEmpty());
  }
}

TEST_F(BuiltinPortTest, RepeatsACaptureUntilDrained) {
  const std::vector<Record> records = synthetic_records(10);
  write_file(folder_ / "in.pcap", pcap_file(records));
  const auto port = open_one(port_config("pcap:" + (folder_ / "in.pcap").string() + ",loop"));
  port->start();
  RxQueue& queue = port->rx_queue(0);
  std::array<rte_mbuf*, 7> packets{};
  for (std::size_t i = 0; i < 105; i += 7) {
    ASSERT_EQ(queue.receive(packets.data(), 7), 7);
    for (std::size_t k = 0; k < 7; ++k) EXPECT_EQ(bytes_of(*packets[k]), records[(i + k) % 10].frame);
    rte_pktmbuf_free_bulk(packets.data(), 7);
    ASSERT_FALSE(queue.exhausted());
  }
  queue.drain();
  EXPECT_TRUE(queue.exhausted());
  EXPECT_EQ(queue.receive(packets.data(), 7), 0);
}

TEST_F(BuiltinPortTest, RepeatsACaptureInAllItsQueuesTogether) {
  std::vector<Record> records = synthetic_records(10);
  records.push_back({1, Bytes(9, 7)});  // A runt.
  write_file(folder_ / "in.pcap", pcap_file(records));
  const auto port = open_one(port_config("pcap:" + (folder_ / "in.pcap").string() + ",loop"), 2);
  port->start();
  std::array<rte_mbuf*, 64> packets{};
  std::map<Bytes, std::size_t> times;
  const auto receive = [&](std::uint16_t queue) {
    const std::uint16_t count = port->rx_queue(queue).receive(packets.data(), packets.size());
    for (std::uint16_t i = 0; i < count; ++i) ++times[bytes_of(*packets[i])];
    rte_pktmbuf_free_bulk(packets.data(), count);
    return count;
  };
  // A single queue stops at its bound; both queues together go on.
  constexpr std::size_t kBound = 100'000;
  for (std::uint16_t queue = 0; queue < 2; ++queue) {
    std::size_t alone = 0;
    while (const std::uint16_t count = receive(queue)) {
      alone += count;
      ASSERT_LT(alone, kBound);
    }
    EXPECT_GT(alone, 0U);
    EXPECT_FALSE(port->rx_queue(queue).exhausted());
  }
  for (std::size_t i = 0; i < 2000; ++i) {
    receive(0);
    receive(1);
  }
  ASSERT_EQ(times.size(), 11U);
  const auto [least, most] = std::ranges::minmax_element(times, {}, [](const auto& each) { return each.second; });
  EXPECT_GT(least->second, 1000U);
  EXPECT_LE(most->second - least->second, 2 * (4096 / 11) + 2);
  for (std::uint16_t queue = 0; queue < 2; ++queue) {
    port->rx_queue(queue).drain();
    EXPECT_TRUE(port->rx_queue(queue).exhausted());
  }
}

// Uses more than one round of the frames kept in memory (64 MiB), so that the remainder after whole rounds is
// distributed too.
TEST_F(BuiltinPortTest, CountsExactlyOverAllQueues) {
  for (const std::string count : {"1", "2", "1000", "10007"}) {
    for (const std::uint16_t workers : {1, 2, 5}) {
      const auto port = open_one(port_config("synth:size=9214,count=" + count), workers);
      port->start();
      std::size_t got = 0;
      std::array<rte_mbuf*, 64> packets{};
      for (std::uint16_t queue = 0; queue < workers; ++queue) {
        while (!port->rx_queue(queue).exhausted()) {
          const std::uint16_t received = port->rx_queue(queue).receive(packets.data(), packets.size());
          got += received;
          rte_pktmbuf_free_bulk(packets.data(), received);
        }
      }
      EXPECT_EQ(std::to_string(got), count) << workers;
    }
  }
}

TEST_F(BuiltinPortTest, GivesTheSeedsTraffic) {
  const auto port = open_one(port_config("synth:count=500,seed=9,size=imix"));
  control::SynthSource source;
  source.seed = 9;
  source.frame_bytes = 0;
  const Traffic traffic(source, {.odd_share = 0, .destination = port->info().mac});
  port->start();
  const auto frames = receive_all(port->rx_queue(0));
  ASSERT_EQ(frames.size(), 500U);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Bytes expected(control::SynthSource::kLargestFrame);
    expected.resize(traffic.fill(i, expected));
    EXPECT_EQ(frames[i], expected);
  }
}

TEST_F(BuiltinPortTest, LosesNoFrameWhenThePoolIsEmpty) {
  const std::vector<Record> records = synthetic_records(20000);
  write_file(folder_ / "in.pcap", pcap_file(records));
  const auto port = open_one(port_config("pcap:" + (folder_ / "in.pcap").string()));
  port->start();
  std::vector<rte_mbuf*> held;
  std::array<rte_mbuf*, 64> packets{};
  while (const std::uint16_t count = port->rx_queue(0).receive(packets.data(), packets.size())) {
    held.insert(held.end(), packets.begin(), packets.begin() + count);
  }
  ASSERT_LT(held.size(), records.size());
  EXPECT_FALSE(port->rx_queue(0).exhausted());
  rte_pktmbuf_free_bulk(held.data(), static_cast<unsigned>(held.size()));
  const auto rest = receive_all(port->rx_queue(0));
  ASSERT_EQ(held.size() + rest.size(), records.size());
  for (std::size_t i = 0; i < rest.size(); ++i) ASSERT_EQ(rest[i], records[held.size() + i].frame);
}

TEST_F(BuiltinPortTest, WorkersShareASinkInWholeRecords) {
  constexpr std::uint16_t kWorkers = 4;
  const auto port =
      open_one(port_config("synth:size=imix,count=40000,dst=zipf:100", (folder_ / "out.pcap").string()), kWorkers);
  port->start();
  std::vector<std::thread> threads;
  threads.reserve(kWorkers);
  for (std::uint16_t worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&, worker] {
      register_thread();
      std::array<rte_mbuf*, 64> packets{};
      while (!port->rx_queue(worker).exhausted()) {
        const std::uint16_t count = port->rx_queue(worker).receive(packets.data(), packets.size());
        port->tx_queue(worker).send(packets.data(), count);
      }
      port->tx_queue(worker).close();
    });
  }
  for (std::thread& thread : threads) thread.join();
  control::SynthSource source;
  source.frame_bytes = 0;
  source.destinations = control::SynthSource::Destinations::zipf;
  source.flows = 100;
  const Traffic traffic(source, {.odd_share = 0, .destination = port->info().mac});
  const auto records = records_of(load_capture(folder_ / "out.pcap"));
  ASSERT_EQ(records.size(), 40000U);
  std::vector<bool> seen(records.size());
  std::map<std::string, std::uint64_t> last_of_flow;
  for (const Record& record : records) {
    const std::uint64_t index = record.nanoseconds / 1000;  // The index that was used to synthesise the frame.
    ASSERT_LT(index, seen.size());
    EXPECT_FALSE(seen[index]);
    seen[index] = true;
    Bytes expected(control::SynthSource::kLargestFrame);
    expected.resize(traffic.fill(index, expected));
    ASSERT_EQ(record.frame, expected);
    const std::string flow(expected.begin() + 26, expected.begin() + 38);
    const auto [last, first] = last_of_flow.try_emplace(flow, index);
    EXPECT_TRUE(first || last->second < index);
    last->second = index;
  }
}

TEST_F(BuiltinPortTest, OwnsUpToWhatAFullDiskDidNotTake) {
  constexpr std::size_t kFrames = 3000;
  const auto out = folder_ / "out.pcap";
  const auto port = open_one(port_config("synth:size=1514,count=" + std::to_string(kFrames), out.string()));
  // Simulates a disk that is full in the middle of the second buffer.
  struct rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  constexpr std::size_t kRecord = 16 + 1514;
  const struct rlimit limit{1'500'000, before.rlim_max};
  ASSERT_NE(std::signal(SIGXFSZ, SIG_IGN), SIG_ERR);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  port->start();
  EXPECT_EQ(port->failure(), "");
  std::array<rte_mbuf*, 64> packets{};
  while (!port->rx_queue(0).exhausted()) {
    const std::uint16_t count = port->rx_queue(0).receive(packets.data(), packets.size());
    ASSERT_EQ(port->tx_queue(0).send(packets.data(), count), count);
  }
  port->tx_queue(0).close();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  const Loss lost = port->tx_queue(0).unwritten();
  const std::size_t whole = (1'500'000 - 24) / kRecord;
  EXPECT_EQ(std::filesystem::file_size(out), 24 + whole * kRecord);  // No record is cut.
  EXPECT_EQ(load_capture(out).entries.size(), whole);
  EXPECT_EQ(lost.packets, kFrames - whole);
  EXPECT_EQ(lost.bytes, lost.packets * 1514);
  EXPECT_EQ(port->tx_queue(0).unsent().packets, 0U);
  EXPECT_EQ(port->show()["error"], "File too large");
  EXPECT_EQ(port->show()["unwritten"], lost.packets);
  EXPECT_EQ(port->failure(),
            out.string() + ": File too large; " + std::to_string(kFrames - whole) + " packets not written");
}

TEST_F(BuiltinPortTest, OpensAllPortsOrTouchesNothing) {
  write_file(folder_ / "in.pcap", pcap_file(synthetic_records(3)));
  const std::string in = (folder_ / "in.pcap").string();
  const auto message = [](const std::vector<control::PortConfig>& configs) -> std::string {
    try {
      open_ports(configs, 1);
    } catch (const InputError& error) {
      EXPECT_EQ(error.location().file, "test.yaml");
      return error.what();
    }
    return "opened";
  };
  const auto out = folder_ / "out.pcap";
  const Bytes earlier = pcap_file({{1, Bytes(60, 7)}});
  write_file(out, earlier);
  const std::vector<control::PortConfig> missing{port_config("none", out.string(), 0),
                                                 port_config("pcap:" + (folder_ / "nothing").string(), "count", 1)};
  EXPECT_THAT(message(missing), AllOf(HasSubstr("test.yaml:1:"), HasSubstr("port 'port1'"), HasSubstr("No such file")));
  EXPECT_EQ(read_file(out), earlier);
  EXPECT_THAT(message({port_config("none", (folder_ / "no/out.pcap").string())}), HasSubstr("cannot create"));
  EXPECT_THAT(message({port_config("none", "pcap:/dev/full")}), HasSubstr("No space left"));
  EXPECT_THAT(message({port_config("pcap:" + in, in)}), HasSubstr("overwrite the capture"));
  EXPECT_THAT(message({port_config("none", out.string(), 0), port_config("none", out.string(), 1)}),
              HasSubstr("same sink"));
  const auto routes = folder_ / "routes.txt";
  write_file(routes, {'d', 'e', 'f', 'a', 'u', 'l', 't'});
  EXPECT_THAT(message({port_config("none", "pcap:" + routes.string())}), HasSubstr("which is no capture"));
  EXPECT_EQ(read_file(routes).size(), 7U);
  EXPECT_EQ(message({port_config("none", "pcap:/dev/null", 0), port_config("none", "pcap:/dev/null", 1)}), "opened");
}

}  // namespace
}  // namespace penumbra::io::test
