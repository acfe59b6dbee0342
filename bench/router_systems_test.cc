// SPDX-License-Identifier: Apache-2.0
//
// Tests the criterion for a measured router's output: one frame that may leave, and others that may not.
#include "router_systems.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/scratch_folder.h"
#include "penumbra/ip.h"

namespace penumbra::bench {
namespace {

using Frame = std::vector<std::uint8_t>;

void put(Frame& frame, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) frame[at + i] = static_cast<std::uint8_t>(value >> 8 * (bytes - 1 - i));
}

/// Reads a prefix that contains no other prefix from a table's files, and its next hop.
template <class Family>
struct Inmost {
  typename Family::Prefix prefix;
  MacAddress mac;

  Inmost(const std::filesystem::path& routes, const std::filesystem::path& neighbours) {
    std::map<std::string, MacAddress> mac_of;
    std::string line, address, word, text;
    for (std::ifstream file(neighbours); std::getline(file, line);) {  // Format: ADDRESS dev PORT lladdr MAC.
      std::istringstream(line) >> address >> word >> word >> word >> text;
      mac_of[address] = parse_mac_address(text).value();
    }
    int longest = -1;
    for (std::ifstream file(routes); std::getline(file, line);) {  // Format: PREFIX via ADDRESS dev PORT.
      std::istringstream(line) >> text >> word >> address;
      const auto parsed = Family::parse_prefix(text).value();
      if (parsed.length <= longest) continue;
      longest = parsed.length;
      prefix = parsed;
      mac = mac_of.at(address);
    }
  }
};

/// Expects that a frame to that MAC address may leave by that port, but not to another address or by another port.
void expect_right(const MayLeave& may_leave, Frame frame, std::uint16_t port, MacAddress mac) {
  put(frame, 0, mac.value, 6);
  EXPECT_TRUE(may_leave(port, frame));
  EXPECT_FALSE(may_leave(port ^ 1, frame));
  put(frame, 0, mac.value ^ 1, 6);
  EXPECT_FALSE(may_leave(port, frame));
}

class RouterSystemsTest : public testing::Test {
 protected:
  ScratchFolder folder_;
  RouterSystems systems_{folder_.path(), 1};
  Frame frame_ = Frame(66);
};

TEST_F(RouterSystemsTest, EchoSendsByTheInteger) {
  const MayLeave may_leave = systems_.echo().may_leave;
  frame_[45] = 3;
  EXPECT_TRUE(may_leave(1, frame_));
  EXPECT_FALSE(may_leave(0, frame_));
}

TEST_F(RouterSystemsTest, Ipv4LeadsToTheOraclesNextHop) {
  const MayLeave may_leave = systems_.ipv4().may_leave;
  const Inmost<Ipv4> inmost(folder_ / "routes.txt", folder_ / "neighbours.txt");
  put(frame_, 30, inmost.prefix.address.value, 4);
  expect_right(may_leave, frame_, 0, inmost.mac);
}

TEST_F(RouterSystemsTest, Ipv6LeadsToTheOraclesNextHop) {
  const MayLeave may_leave = systems_.ipv6().may_leave;
  const Inmost<Ipv6> inmost(folder_ / "routes6.txt", folder_ / "neighbours6.txt");
  put(frame_, 38, inmost.prefix.address.high, 8);
  put(frame_, 46, inmost.prefix.address.low, 8);
  expect_right(may_leave, frame_, 0, inmost.mac);
}

TEST_F(RouterSystemsTest, TheSwitchSendsToTheStationsPort) {
  const MayLeave may_leave = systems_.l2().may_leave;
  expect_right(may_leave, frame_, 1, MacAddress{0x020000000101});
}

TEST_F(RouterSystemsTest, InterestsGoToTheProducer) {
  const MayLeave may_leave = systems_.ndn().may_leave;
  expect_right(may_leave, frame_, 0, MacAddress{0x0200000000BB});
}

}  // namespace
}  // namespace penumbra::bench
