// SPDX-License-Identifier: Apache-2.0
//
// Checks that the switch and the oracle give the same result for any bytes. The first byte selects the ingress port: an
// access port or a trunk without a native VLAN. Nothing is learned, because the learning thread is not started.
#include <rte_mbuf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "functions/l2/l2.h"
#include "functions/l2/oracle.h"
#include "penumbra/engine.h"

namespace {

using namespace penumbra;

constexpr std::size_t kHeadroom = 128, kMostBytes = 4096;

void require(bool holds) {
  if (!holds) std::abort();
}

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
  std::unique_ptr<Engine> engine = create_engine("scalar");
  std::unique_ptr<EngineQueue> queue = engine->open_queue();
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

  std::vector<std::uint8_t> buffer(kHeadroom + frame.size());
  std::copy(frame.begin(), frame.end(), buffer.begin() + kHeadroom);
  rte_mbuf packet{};
  packet.buf_addr = buffer.data();
  packet.data_off = kHeadroom;
  packet.data_len = static_cast<std::uint16_t>(frame.size());
  packet.pkt_len = packet.data_len;
  Chunk& chunk = world.chunk;
  chunk.size = 1;
  chunk.rx_port = from;
  chunk.packets[0] = &packet;
  chunk.verdicts[0] = {};
  chunk.columns.clear();
  world.function.pre_shade(chunk);
  chunk.batch.shader = world.engine->find_shader(world.function.shader());
  chunk.batch.table = world.function.table();
  if (chunk.batch.items > 0) world.queue->submit(chunk.batch);
  world.function.post_shade(chunk);

  const Verdict verdict = chunk.verdicts[0];
  if (!wanted.reason.empty()) {
    require(verdict.kind == world.function.reasons().at(verdict.value).kind);
    require(world.function.reasons()[verdict.value].name == wanted.reason);
  } else {
    require(verdict.kind == Verdict::Kind::send && wanted.sent.size() == 1);
    const auto* const begin = rte_pktmbuf_mtod(&packet, const std::uint8_t*);
    require(wanted.sent.at(verdict.value) == l2::oracle::Bytes(begin, begin + packet.data_len));
  }
  return 0;
}
