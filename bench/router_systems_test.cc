// SPDX-License-Identifier: Apache-2.0
//
// Tests the criterion for a measured router's output: one frame that may leave, and others that may not.
#include "router_systems.h"

#include <gtest/gtest.h>

#include <array>
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
#include "control/device.h"
#include "crypto/key_material.h"
#include "crypto/plain.h"
#include "io/traffic.h"
#include "penumbra/ip.h"
#include "router_runs.h"

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

/// Returns a frame of the source of ipsec(), as a router seals it for the tunnel.
Frame sealed_frame(std::uint16_t frame_bytes) {
  constexpr std::size_t kEthernet = 14, kTtl = 8, kHeaders = kEthernet + 20, kEsp = 8, kIv = 8, kTag = 16;
  control::SynthSource source;
  source.frame_bytes = frame_bytes;
  Frame inner(frame_bytes);
  io::Traffic(source).fill(5, inner);
  inner.erase(inner.begin(), inner.begin() + kEthernet);
  --inner[kTtl];
  inner.insert(inner.end(), {0, 4});  // No padding; IPv4 follows.
  std::array<std::uint8_t, 20> secret{};
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::uint8_t>(7 * i + 1);
  cipher_key key{};
  expand({.cipher = CIPHER_AES_GCM,
          .secret = std::span(secret).first(16),
          .salt = std::span(secret).subspan(16),
          .tag_bytes = kTag},
         key);
  Frame frame(kHeaders + kEsp + kIv + inner.size() + kTag);
  put(frame, 12, 0x0800, 2);
  frame[kEthernet + 9] = 50;
  put(frame, kHeaders, 0x1000, 4);
  put(frame, kHeaders + 4, 1, 4);
  std::array<std::uint8_t, 12> nonce{};
  cipher_esp_nonce(&key, &frame[kHeaders + kEsp], nonce.data());
  std::uint8_t* const text = &frame[kHeaders + kEsp + kIv];
  const cipher_packet packet{.source = inner.data(),
                             .destination = text,
                             .nonce = nonce.data(),
                             .aad = &frame[kHeaders],
                             .trailer = nullptr,
                             .received_tag = nullptr,
                             .tag = text + inner.size(),
                             .bytes = static_cast<std::uint32_t>(inner.size()),
                             .nonce_bytes = nonce.size(),
                             .aad_bytes = kEsp,
                             .trailer_bytes = 0,
                             .key = 0};
  std::uint8_t is_done = 0;
  plain_seal({&key, 1}, {&packet, 1}, &is_done);
  EXPECT_EQ(is_done, 1);
  return frame;
}

TEST_F(RouterSystemsTest, IpsecSealsThePacketsOfItsSource) {
  for (const std::uint16_t bytes : {60, 1514}) {
    const MayLeave may_leave = systems_.ipsec(bytes, "AES-128-GCM").may_leave;
    Frame frame = sealed_frame(bytes);
    expect_right(may_leave, frame, 0, MacAddress{0x02BB00000001});
    put(frame, 0, 0x02BB00000001, 6);
    frame[60] ^= 1;
    EXPECT_FALSE(may_leave(0, frame));
    EXPECT_FALSE(systems_.ipsec(bytes, "AES-128-CBC and HMAC-SHA1").may_leave(0, frame));
  }
  EXPECT_THROW(systems_.ipsec(60, "ROT13"), std::invalid_argument);
}

TEST_F(RouterSystemsTest, DetectionSendsToTheGateway) {
  expect_right(systems_.ids(60, "patterns").may_leave, frame_, 0, MacAddress{0x02BB00000001});
}

TEST_F(RouterSystemsTest, TheFlowOfAPacketNamesItsPort) {
  const MayLeave may_leave = systems_.openflow(1024, 4).may_leave;
  put(frame_, 30, 0x14000000, 4);  // The destination of flows with all fields, which the source numbers.
  put(frame_, 26, 0x0A000003, 4);
  EXPECT_TRUE(may_leave(2, frame_));
  EXPECT_FALSE(may_leave(1, frame_));
  put(frame_, 30, 0x1E000205, 4);  // In the third prefix.
  EXPECT_TRUE(may_leave(1, frame_));
  EXPECT_FALSE(may_leave(2, frame_));
}

/// Each router of a benchmark runs, and its packets meet its criterion.
TEST_F(RouterSystemsTest, RoutersSendWhatTheirCriterionWants) {
  const Options options{};
  Report report("frames", true);
  const RouterRuns runs(options, report);
  const RouterSystems& makers = runs.makers();
  for (RouterSystem system : {makers.echo(), makers.ipv6(512), makers.ipsec(1514, "AES-128-CTR and HMAC-SHA1"),
                              makers.ids(256, "patterns"), makers.openflow(1024, 16)}) {
    system.engines = {"scalar"};
    system.has_avx512 = false;
    EXPECT_NO_THROW(runs.check(system, 1)) << system.name;
  }
}

}  // namespace
}  // namespace penumbra::bench
