// SPDX-License-Identifier: Apache-2.0
//
// What the tests of functions that forward share: packets without a pool, a run of the function.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "functions/forwarding/oracle.h"
#include "penumbra/engine.h"
#include "penumbra/function.h"

namespace penumbra::forwarding::testing_support {

/// A packet without a pool: what a function reads and writes of an mbuf, and nothing else.
struct Packet {
  explicit Packet(oracle::Bytes frame) : bytes(std::move(frame)) {
    mbuf.buf_addr = bytes.data();
    mbuf.data_len = static_cast<std::uint16_t>(bytes.size());
    mbuf.pkt_len = mbuf.data_len;
  }
  /// What there is of it now.
  oracle::Bytes frame() const { return {bytes.begin(), bytes.begin() + mbuf.data_len}; }
  oracle::Bytes bytes;
  rte_mbuf mbuf{};
};

/// Sends packets through the function as a worker does.
class Runner {
 public:
  explicit Runner(Function& function) : function_(function), queue_(engine_->open_queue()) {}

  /// Fills the chunk with the packets and processes it.
  void process(Chunk& chunk, std::vector<Packet>& packets, std::uint16_t rx_port = 0) {
    chunk.size = static_cast<std::uint16_t>(packets.size());
    chunk.rx_port = rx_port;
    for (std::size_t i = 0; i < packets.size(); ++i) chunk.packets[i] = &packets[i].mbuf;
    chunk.verdicts.fill({});
    chunk.columns.clear();
    chunk.fetch_ahead = true;
    function_.pre_shade(chunk);
    chunk.batch.shader = engine_->find_shader(function_.shader());
    chunk.batch.table = function_.table();
    if (chunk.batch.items > 0) queue_->submit(chunk.batch);
    function_.post_shade(chunk);
  }

 private:
  Function& function_;
  std::unique_ptr<Engine> engine_ = create_engine("scalar");
  std::unique_ptr<EngineQueue> queue_;
};

/// The name of the reason, or "" for a packet that is sent.
inline std::string reason_of(const Function& function, Verdict verdict) {
  if (verdict.kind == Verdict::Kind::send) return "";
  const Reason& reason = function.reasons().at(verdict.value);
  return reason.kind == verdict.kind ? reason.name : reason.name + " of the wrong kind";
}

}  // namespace penumbra::forwarding::testing_support
