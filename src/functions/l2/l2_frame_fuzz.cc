// SPDX-License-Identifier: Apache-2.0
//
// Checks that the switch and the oracle give the same result for any bytes. The first byte selects the ingress port: an
// access port or a trunk without a native VLAN. Nothing is learned, because the learning thread is not started.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "functions/l2/l2.h"
#include "functions/l2/oracle.h"
#include "testing/function_runner.h"
#include "testing/fuzzing.h"

namespace {

using penumbra::fuzzing::require;
using namespace penumbra;

constexpr std::size_t kHeadroom = 128, kMostBytes = 4096;

std::vector<PortInfo> two_ports() {
  std::vector<PortInfo> ports(2);
  for (std::uint16_t i = 0; i < 2; ++i) {
    ports[i].name = i == 0 ? "access" : "trunk";
    ports[i].index = i;
    ports[i].mac = {0x02AA00000000U + i};
  }
  return ports;
}

struct World {
  std::vector<PortInfo> ports = two_ports();
  NoReaders no_readers;
  l2::Switch function{
      l2::read_configuration(
          ConfigNode::parse("ports: {access: {access: 10}, trunk: {trunk: {vlans: [10, 20]}}}", "", "."), ports),
      {.ports = ports, .grace_periods = no_readers}};
  function_testing::Runner runner{function};
  Chunk chunk;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World world;
  if (size == 0 || size > kMostBytes) return 0;
  const std::uint16_t from = data[0] & 1;
  const l2::oracle::Bytes frame(data + 1, data + size);
  l2::oracle::Network network{.ports = {{.native = 10, .vlans = {10}, .mac = {2, 0xAA, 0, 0, 0, 0}},
                                        {.native = 0, .vlans = {10, 20}, .mac = {2, 0xAA, 0, 0, 0, 1}}},
                              .stations = {},
                              .statics = {}};
  const l2::oracle::Judgement wanted = network.take(from, frame);

  std::vector<function_testing::Packet> packets;
  packets.emplace_back(frame, kHeadroom);
  world.runner.process(world.chunk, packets, from);
  const Verdict verdict = world.chunk.verdicts[0];
  require(function_testing::reason_of(world.function, verdict) == wanted.reason);
  if (wanted.reason.empty()) {
    require(verdict.kind == Verdict::Kind::send && wanted.sent.size() == 1);
    require(wanted.sent.at(verdict.value) == packets[0].frame());
  }
  return 0;
}
