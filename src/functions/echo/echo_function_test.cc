// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "penumbra/errors.h"
#include "testing/function_fixture.h"

namespace penumbra {
namespace {

using function_testing::Bytes;
using function_testing::Packet;

class EchoTest : public function_testing::FunctionTest {
 protected:
  EchoTest() : FunctionTest("echo") {}
  void create(const std::string& config, std::size_t port_count) {
    ports_ = function_testing::numbered_ports(port_count);
    FunctionTest::create(config);
  }
};

Bytes frame_with(std::size_t offset, std::uint32_t integer, std::size_t bytes) {
  Bytes frame(bytes);
  for (std::size_t i = 0; i < 12; ++i) frame[i] = static_cast<std::uint8_t>(i);
  for (std::size_t i = 0; i < 4; ++i) frame[offset + i] = static_cast<std::uint8_t>(integer >> (24 - 8 * i));
  return frame;
}

TEST_F(EchoTest, SendsToTheIntegerModuloPortsAndExchangesMacs) {
  create("{}", 3);
  std::vector<Packet> packets;
  for (const std::uint32_t integer : {0U, 1U, 2U, 3U, 4'294'967'295U})
    packets.emplace_back(frame_with(42, integer, 60));
  EXPECT_THAT(send(packets), testing::ElementsAre(Verdict::send(0), Verdict::send(1), Verdict::send(2),
                                                  Verdict::send(0), Verdict::send(0)));
  EXPECT_THAT(std::vector(packets[0].bytes.begin(), packets[0].bytes.begin() + 12),
              testing::ElementsAre(6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5));
}

TEST_F(EchoTest, DropsWhatEndsBeforeTheInteger) {
  create("offset: 56", 2);
  EXPECT_EQ(send(frame_with(56, 1, 60)), Verdict::send(1));
  EXPECT_EQ(send(Bytes(59)).kind, Verdict::Kind::drop);
}

/// Bytes after the end of a frame belong to another packet. The function must neither read nor move such bytes.
TEST_F(EchoTest, TouchesNothingPastAShortFrame) {
  create("offset: 0", 2);
  for (const std::uint16_t bytes : {4, 11, 13}) {
    std::vector<Packet> packets;
    packets.emplace_back(frame_with(0, 1, 60));
    packets[0].mbuf.data_len = bytes;
    const auto before = packets[0].bytes;
    EXPECT_EQ(send(packets)[0].kind, Verdict::Kind::drop) << bytes;
    EXPECT_EQ(packets[0].bytes, before);
  }
  EXPECT_EQ(send(frame_with(0, 1, 14)), Verdict::send(1));
}

TEST_F(EchoTest, RefusesWrongConfiguration) {
  EXPECT_THROW(create("offset: -1", 2), InputError);
  EXPECT_THROW(create("ofset: 1", 2), InputError);
}

}  // namespace
}  // namespace penumbra
