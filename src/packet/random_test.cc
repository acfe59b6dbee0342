// SPDX-License-Identifier: Apache-2.0
//
// Compares the parser with the oracle on random frames.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>

#include "packet/oracle.h"
#include "packet/parse.h"
#include "packet/testing.h"

namespace penumbra {
namespace {

using namespace packet_testing;

/// Builds frames whose layers fit together mostly.
class RandomFrames {
 public:
  Bytes next() {
    Bytes frame = below(4) == 0 ? tagged(below(3) + 1) : network();
    if (below(3) == 0) frame.resize(below(frame.size() + 20));
    for (unsigned changes = below(3); changes > 0 && !frame.empty(); --changes) {
      frame[below(frame.size())] = static_cast<std::uint8_t>(random_());
    }
    return frame;
  }

  unsigned below(std::size_t most) { return static_cast<unsigned>(random_() % most); }

 private:
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return values.begin()[below(values.size())];
  }
  Bytes random_bytes(std::size_t most) {
    Bytes bytes(below(most + 1));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_());
    return bytes;
  }

  Bytes tagged(unsigned count) {
    Bytes rest = network();
    const Bytes macs(rest.begin(), rest.begin() + 12);
    rest.erase(rest.begin(), rest.begin() + 12);
    for (; count > 0; --count) rest = word(one_of({0x8100U, 0x88A8U})) + word(below(65536)) + rest;
    return macs + rest;
  }

  Bytes network() {
    switch (below(8)) {
      case 0:
        return ethernet(one_of<std::size_t>({0x0806, 0x8847, 0x0600, 0x0032, 0x0000}), random_bytes(60));
      case 1:
        return ethernet(below(60), Bytes{0xAA, 0xAA, 3, 0, 0, 0} + word(one_of({0x0800U, 0x86DDU, 0x0806U})));
      case 2:
      case 3:
      case 4: {
        const std::uint8_t protocol = one_of<std::uint8_t>({1, 6, 6, 17, 17, 33, 47, 50, 58, 132, 136, 0});
        const Bytes options(below(4) == 0 ? std::size_t{4} * below(11) : 0, 1);
        const std::size_t fragment = below(3) == 0 ? one_of({0x2000U, 0x4000U, 0x0001U, 0x0002U, 0x2003U, 0x1FFFU}) : 0;
        return ethernet(0x0800, ipv4(protocol, transport(protocol), fragment, options) + random_bytes(6));
      }
      default:
        return ethernet(0x86DD, chain(below(10)) + random_bytes(6));
    }
  }

  Bytes transport(std::uint8_t protocol) {
    if (below(4) == 0) return random_bytes(30);
    if (protocol == 6) return tcp(Bytes(std::size_t{4} * below(11))) + random_bytes(10);
    if (protocol == 17) return udp(random_bytes(10));
    return random_bytes(16) + Bytes(16);
  }

  Bytes chain(unsigned length) {
    std::uint8_t next = one_of<std::uint8_t>({6, 17, 33, 50, 58, 59, 132, 135, 136, 139, 1});
    Bytes bytes = transport(next);
    for (; length > 0; --length) {
      const std::uint8_t kind = one_of<std::uint8_t>({0, 43, 44, 51, 60, 60, 135, 139, 140});
      if (kind == 44) {
        bytes = fragment_header(next, below(4) == 0 ? 8 * below(200) : 0, below(4) == 0) + bytes;
      } else if (kind == 51) {
        bytes = authentication(next, static_cast<std::uint8_t>(below(8))) + bytes;
      } else {
        bytes = extension(next, static_cast<std::uint8_t>(below(20) == 0 ? below(256) : below(3))) + bytes;
      }
      next = kind;
    }
    return ipv6(next, bytes);
  }

  std::mt19937 random_{7};
};

/// Copies end where the accessible bytes end, so that AddressSanitizer finds reads past the end.
PacketHeaders parse(const Bytes& frame, std::size_t readable) {
  const Bytes copy(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(readable));
  return parse_headers(copy.data(), readable, frame.size());
}

TEST(ParseRandom, FramesAsTheOracleDoes) {
  RandomFrames frames;
  std::size_t unparsable = 0, with_ports = 0, chains = 0;
  for (int round = 0; round < 50'000; ++round) {
    const Bytes frame = frames.next();
    const PacketHeaders headers = parse(frame, frame.size());
    ASSERT_EQ(packet_oracle::facts_of(headers), packet_oracle::Oracle(frame).facts()) << testing::PrintToString(frame);
    unparsable += headers.is_unparsable() ? 1 : 0;
    with_ports += headers.has(PacketHeaders::kPorts) ? 1 : 0;
    chains += headers.extension_count > 2 ? 1 : 0;
    const std::size_t readable = frames.below(frame.size() + 1);
    const PacketHeaders part = parse(frame, readable);
    ASSERT_TRUE(part.fault == HeaderFault::not_accessible || part == headers) << testing::PrintToString(frame);
  }
  EXPECT_GT(unparsable, 10'000U);
  EXPECT_GT(with_ports, 8'000U);
  EXPECT_GT(chains, 3'000U);
}

}  // namespace
}  // namespace penumbra
