// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/face.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "functions/forwarding/testing.h"
#include "functions/ndn/testing.h"
#include "functions/ndn/transport.h"
#include "testing/message_of.h"
#include "testing/packet.h"

namespace penumbra::ndn {
namespace {

using testing_support::kAlice;
using testing_support::kBob;

std::vector<PortInfo> face_ports() {
  auto list = forwarding::testing_support::ports_without_addresses(1280);
  list[0].addresses = {{{0xC0000201}, {{0xC0000200}, 24}}};
  list[0].ipv6_addresses = {{parse_ipv6_address("2001:db8::1").value(), parse_ipv6_prefix("2001:db8::/64").value()}};
  return list;
}

std::vector<Face> read(const std::string& text) {
  return read_faces(ConfigNode::parse(text, "test.yaml", "."), face_ports());
}

TEST(FaceUri, ReadsAndWrites) {
  for (const std::string text : {"ether://[01:00:5e:00:17:aa]", "udp4://192.0.2.7", "udp4://192.0.2.7:6363",
                                 "udp6://[2001:db8::7]", "udp6://[2001:db8::7]:65535"}) {
    const auto uri = FaceUri::parse(text);
    ASSERT_TRUE(uri) << text;
    EXPECT_EQ(to_string(*uri), text);
  }
  for (const std::string text :
       {"", "udp://192.0.2.7", "udp4://", "udp4://192.0.2.7:", "udp4://192.0.2.7:0", "udp4://192.0.2.7:65536",
        "udp4://192.0.2.7:63x", "udp4://224.0.23.170", "udp4://2001:db8::7", "udp6://2001:db8::7",
        "udp6://[2001:db8::7", "udp6://[ff02::1]", "ether://02:00:00:00:00:01", "ether://[02:00:00:00:00]",
        "ether://[02:00:00:00:00:01]:1"}) {
    EXPECT_FALSE(FaceUri::parse(text)) << text;
  }
}

TEST(Faces, AreRead) {
  const auto faces = read(R"([
    {name: all, port: lan, remote: "ether://[01:00:5e:00:17:aa]"},
    {name: one, port: lan, remote: "ether://[02:00:00:00:00:aa]"},
    {name: alice, port: wan, remote: "udp4://192.0.2.7", mac: "02:00:00:00:00:aa"},
    {name: bob, port: wan, remote: "udp6://[2001:db8::7]:7000", mac: "02:00:00:00:00:bb"},
    {name: far, port: dmz, remote: "udp4://198.51.100.1:6363", local: "udp4://192.0.2.99", mac: "02:00:00:00:00:bb"}])");
  ASSERT_EQ(faces.size(), 5U);
  EXPECT_TRUE(faces[0].is_multicast());
  EXPECT_FALSE(faces[1].is_multicast());
  EXPECT_EQ(faces[1].mac, kAlice);
  EXPECT_EQ(to_string(faces[2].local), "udp4://192.0.2.1:6363");
  EXPECT_EQ(to_string(faces[3].local), "udp6://[2001:db8::1]:6363");
  EXPECT_EQ(to_string(faces[4].local), "udp4://192.0.2.99:6363");
  EXPECT_EQ(faces[4].port, 2);
}

TEST(Faces, SayWhatIsWrongWithThem) {
  const auto expect_error = [](const std::string& text, const std::string& part) {
    EXPECT_THAT(message_of([&] { read(text); }),
                testing::AllOf(testing::StartsWith("test.yaml:"), testing::HasSubstr(part)))
        << text;
  };
  expect_error("[]", "at least one face");
  expect_error("[{port: wan, remote: \"udp4://192.0.2.7\"}]", "name");
  expect_error("[{name: \"a b\", port: wan, remote: \"udp4://192.0.2.7\"}]", "one word");
  expect_error("[{name: a, port: wann, remote: \"udp4://192.0.2.7\"}]", "did you mean 'wan'?");
  expect_error("[{name: a, port: wan, remote: \"tcp://192.0.2.7\"}]", "expected ether://[MAC]");
  expect_error("[{name: a, port: wan, remote: \"udp4://192.0.2.7\"}]", "mac");
  expect_error("[{name: a, port: wan, remote: \"udp4://192.0.2.7\", mac: \"01:00:5e:00:17:aa\"}]", "a station's MAC");
  expect_error("[{name: a, port: wan, remote: \"udp4://198.51.100.7\", mac: \"02:00:00:00:00:01\"}]",
               "'local' is missing");
  expect_error(
      "[{name: a, port: wan, remote: \"udp4://192.0.2.7\", local: \"udp6://[fe80::2]\", mac: \"02:00:00:00:00:01\"}]",
      "not of the same kind");
  expect_error("[{name: a, port: wan, remote: \"ether://[02:00:00:00:00:aa]\", mac: \"02:00:00:00:00:aa\"}]",
               "none but its port's");
  expect_error("[{name: a, port: wan, remote: \"ether://[01:00:5e:00:00:01]\"}]", "the group 01:00:5e:00:17:aa");
  const std::string own = "02:00:00:00:00:01";  // MAC address of the port
  expect_error("[{name: a, port: wan, remote: \"ether://[" + own + "]\"}]", "the MAC address of the port 'wan'");
  expect_error("[{name: a, port: wan, remote: \"udp4://192.0.2.7\", mac: \"" + own + "\"}]",
               "the MAC address of the port 'wan'");
  expect_error("[{name: a, port: wan, remote: \"udp4://192.0.2.1\", mac: \"02:00:00:00:00:aa\"}]",
               "the address of this end");
  const std::string one = "{name: a, port: wan, remote: \"ether://[02:00:00:00:00:aa]\"}";
  expect_error("[" + one + ", " + one + "]", "another face is called 'a'");
  expect_error("[" + one + ", {name: b, port: wan, remote: \"ether://[02:00:00:00:00:aa]\"}]", "same two ends");
}

/// Frames with correct checksums are accepted. A change of any header byte must be detected or lead to another face.
TEST(Transport, ReadsWhatItWrites) {
  const auto faces = read(R"([
    {name: all, port: wan, remote: "ether://[01:00:5e:00:17:aa]"},
    {name: one, port: wan, remote: "ether://[02:00:00:00:00:aa]"},
    {name: alice, port: wan, remote: "udp4://192.0.2.7", mac: "02:00:00:00:00:aa"},
    {name: bob, port: wan, remote: "udp6://[2001:db8::7]:7000", mac: "02:00:00:00:00:bb"}])");
  // Swapped ends give the transports of the remote side.
  std::vector<Face> mirrored = faces;
  for (Face& face : mirrored) {
    if (face.remote.link == FaceLink::ethernet) continue;
    std::swap(face.remote, face.local);
    if (face.local.udp_port == 0) face.local.udp_port = 40'000;
  }
  mirrored[1].remote.mac = mirrored[1].mac = {0x020000000001};
  auto far_ports = face_ports();
  far_ports[0].mac = kAlice;
  Transport near(faces), far(mirrored);
  near.bind(face_ports());
  far.bind(far_ports);
  const auto count = static_cast<std::uint16_t>(faces.size());
  for (std::uint16_t face = 0; face < count; ++face) {
    for (const std::size_t size : {1, 2, 99, 1200}) {
      std::vector<std::uint8_t> frame(far.header_bytes(face) + size, 0x5A);
      far.write_header(face, 0, frame.data(), size);
      Received received;
      // A packet of `bytes` bytes whose first `first` bytes are in its first segment.
      const auto arrival_of = [&](std::size_t first, std::size_t bytes, std::uint16_t port) {
        function_testing::Packet packet({frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(first)});
        packet.mbuf.pkt_len = static_cast<std::uint32_t>(bytes);
        return near.receive(packet.mbuf, port, received);
      };
      function_testing::Packet whole(frame);
      ASSERT_EQ(near.receive(whole.mbuf, 0, received), Arrival::received) << faces[face].name;
      EXPECT_EQ(received.face, face);
      EXPECT_EQ(received.udp_port, face == 2 ? 40'000 : face == 3 ? 7000 : 0);
      EXPECT_EQ(received.packet.size(), size);
      EXPECT_EQ(received.packet.data(), whole.bytes.data() + far.header_bytes(face));
      EXPECT_NE(arrival_of(frame.size(), frame.size(), 1), Arrival::received) << "another port";
      EXPECT_EQ(arrival_of(frame.size() - 1, frame.size(), 0), Arrival::segmented);
      if (face < 2) continue;
      EXPECT_EQ(arrival_of(frame.size() - 1, frame.size() - 1, 0), Arrival::truncated);
      for (std::size_t at = 14; at < frame.size(); ++at) {
        frame[at] ^= 4;
        const Arrival arrival = arrival_of(frame.size(), frame.size(), 0);
        const bool only_ip6 = face == 3 && at < 22;  // no checksum covers version, class, flow label and hop limit
        if (!only_ip6) {
          EXPECT_NE(arrival, Arrival::received) << faces[face].name << " " << at;
        }
        frame[at] ^= 4;
      }
    }
  }
}

TEST(Transport, AnswersToThePortThatAPacketCameFrom) {
  Transport transport(read("[{name: a, port: wan, remote: \"udp4://192.0.2.7\", mac: \"02:00:00:00:00:aa\"}]"));
  transport.bind(face_ports());
  std::vector<std::uint8_t> frame(transport.header_bytes(0) + 8);
  transport.write_header(0, 0, frame.data(), 8);
  EXPECT_EQ(load_be16(&frame[36]), kUdpPort);
  transport.write_header(0, 50'000, frame.data(), 8);
  EXPECT_EQ(load_be16(&frame[36]), 50'000);
}

TEST(Transport, LeavesToOthersWhatIsNotItsOwn) {
  Transport transport(
      read("[{name: a, port: wan, remote: \"udp4://192.0.2.7\", mac: \"02:00:00:00:00:aa\"},"
           " {name: b, port: wan, remote: \"ether://[02:00:00:00:00:bb]\"}]"));
  transport.bind(face_ports());
  Transport far(std::vector<Face>{{"far",
                                   0,
                                   FaceUri::parse("udp4://192.0.2.1:6363").value(),
                                   FaceUri::parse("udp4://192.0.2.7:9").value(),
                                   {0x020000000001}}});
  auto far_ports = face_ports();
  far_ports[0].mac = kBob;
  far.bind(far_ports);
  std::vector<std::uint8_t> frame(far.header_bytes(0) + 8);
  far.write_header(0, 0, frame.data(), 8);
  const auto arrival = [&](std::size_t at, int value) {
    const std::uint8_t before = frame[at];
    if (value >= 0) frame[at] = static_cast<std::uint8_t>(value);
    Received received;
    function_testing::Packet packet(frame);
    const Arrival result = transport.receive(packet.mbuf, 0, received);
    frame[at] = before;
    return result;
  };
  EXPECT_EQ(arrival(0, -1), Arrival::received);
  EXPECT_EQ(arrival(13, 0x06), Arrival::not_ndn) << "ARP";
  EXPECT_EQ(arrival(23, 6), Arrival::not_ndn) << "TCP";
  EXPECT_EQ(arrival(20, 0x20), Arrival::not_ndn) << "more fragments";
  EXPECT_EQ(arrival(21, 1), Arrival::not_ndn) << "a later fragment";
  EXPECT_EQ(arrival(33, 2), Arrival::not_ndn) << "to another address";
  EXPECT_EQ(arrival(37, 53), Arrival::not_ndn) << "to another UDP port";
  EXPECT_EQ(arrival(14, 0x44), Arrival::not_ndn) << "no header";
  EXPECT_EQ(arrival(0, 0x01), Arrival::not_ndn) << "to a group";
  EXPECT_EQ(arrival(39, 7), Arrival::truncated) << "UDP length";
  EXPECT_EQ(arrival(17, 255), Arrival::truncated) << "total length";
  EXPECT_EQ(arrival(40, 1), Arrival::bad_checksum);
  for (std::size_t size = 14; size < frame.size(); ++size) {
    Received received;
    function_testing::Packet packet({frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_NE(transport.receive(packet.mbuf, 0, received), Arrival::received);
  }
}

}  // namespace
}  // namespace penumbra::ndn
