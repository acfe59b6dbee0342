// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <array>
#include <cstring>
#include <vector>

#include "penumbra/engine.h"
#include "penumbra/function.h"

namespace penumbra {
namespace {

/// Represents a packet without a pool. The constructor sets only the fields of an mbuf that a function accesses.
struct Packet {
  explicit Packet(std::vector<std::uint8_t> frame) : bytes(std::move(frame)) {
    mbuf.buf_addr = bytes.data();
    mbuf.data_len = static_cast<std::uint16_t>(bytes.size());
    mbuf.pkt_len = mbuf.data_len;
  }
  std::vector<std::uint8_t> bytes;
  rte_mbuf mbuf{};
};

class EchoTest : public testing::Test {
 protected:
  void create(const std::string& config, std::size_t port_count) {
    ports_.resize(port_count);
    function_ = find_function("echo")->create(ConfigNode::parse(config, "test.yaml", "."), {ports_, no_readers_});
    engine_ = create_engine("scalar");
  }

  std::vector<Verdict> process(std::vector<Packet>& packets) {
    Chunk chunk;
    chunk.size = static_cast<std::uint16_t>(packets.size());
    for (std::size_t i = 0; i < packets.size(); ++i) chunk.packets[i] = &packets[i].mbuf;
    chunk.verdicts.fill({});
    function_->pre_shade(chunk);
    chunk.batch.shader = engine_->find_shader(function_->shader());
    chunk.batch.table = function_->table();
    EXPECT_EQ(engine_->open_queue()->submit(chunk.batch), EngineQueue::Submitted::done);
    function_->post_shade(chunk);
    return {chunk.verdicts.begin(), chunk.verdicts.begin() + chunk.size};
  }

  NoReaders no_readers_;
  std::vector<PortInfo> ports_;
  std::unique_ptr<Function> function_;
  std::unique_ptr<Engine> engine_;
};

std::vector<std::uint8_t> frame_with(std::size_t offset, std::uint32_t integer, std::size_t bytes) {
  std::vector<std::uint8_t> frame(bytes);
  for (std::size_t i = 0; i < 12; ++i) frame[i] = static_cast<std::uint8_t>(i);
  for (std::size_t i = 0; i < 4; ++i) frame[offset + i] = static_cast<std::uint8_t>(integer >> (24 - 8 * i));
  return frame;
}

TEST_F(EchoTest, SendsToTheIntegerModuloPortsAndExchangesMacs) {
  create("{}", 3);
  std::vector<Packet> packets;
  for (const std::uint32_t integer : {0U, 1U, 2U, 3U, 4'294'967'295U})
    packets.emplace_back(frame_with(42, integer, 60));
  EXPECT_THAT(process(packets), testing::ElementsAre(Verdict::send(0), Verdict::send(1), Verdict::send(2),
                                                     Verdict::send(0), Verdict::send(0)));
  EXPECT_THAT(std::vector(packets[0].bytes.begin(), packets[0].bytes.begin() + 12),
              testing::ElementsAre(6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5));
}

TEST_F(EchoTest, DropsWhatEndsBeforeTheInteger) {
  create("offset: 56", 2);
  std::vector<Packet> packets;
  packets.emplace_back(frame_with(56, 1, 60));
  packets.emplace_back(std::vector<std::uint8_t>(59));
  const auto verdicts = process(packets);
  EXPECT_EQ(verdicts[0], Verdict::send(1));
  EXPECT_EQ(verdicts[1].kind, Verdict::Kind::drop);
}

/// Bytes after the end of a frame belong to another packet. The function must neither read nor move such bytes.
TEST_F(EchoTest, TouchesNothingPastAShortFrame) {
  create("offset: 0", 2);
  for (const std::uint16_t bytes : {4, 11, 13}) {
    std::vector<Packet> packets;
    packets.emplace_back(frame_with(0, 1, 60));
    packets[0].mbuf.data_len = bytes;
    const auto before = packets[0].bytes;
    EXPECT_EQ(process(packets)[0].kind, Verdict::Kind::drop) << bytes;
    EXPECT_EQ(packets[0].bytes, before);
  }
  std::vector<Packet> packets;
  packets.emplace_back(frame_with(0, 1, 14));
  EXPECT_EQ(process(packets)[0], Verdict::send(1));
}

TEST_F(EchoTest, RefusesWrongConfiguration) {
  EXPECT_THROW(create("offset: -1", 2), InputError);
  EXPECT_THROW(create("ofset: 1", 2), InputError);
}

}  // namespace
}  // namespace penumbra
