// SPDX-License-Identifier: Apache-2.0
//
// Provides an emitter for dry runs, in which functions emit no packets.
#pragma once

#include "penumbra/function_worker.h"

namespace penumbra {

/// Changes only verdicts.
class NullEmitter final : public Emitter {
 public:
  rte_mbuf* allocate() noexcept override { return nullptr; }
  void discard(rte_mbuf* /*packet*/) noexcept override {}
  void emit(rte_mbuf* /*packet*/, Verdict /*verdict*/) noexcept override {}
  void hold(Chunk& chunk, std::uint16_t index) noexcept override { chunk.verdicts[index] = {Verdict::Kind::hold, 0}; }
  void release(rte_mbuf* /*packet*/, Verdict /*verdict*/) noexcept override {}
  void absorb(std::size_t /*count*/) noexcept override {}
  void replace(Chunk& chunk, std::uint16_t index, rte_mbuf* /*packet*/, std::size_t /*held*/) noexcept override {
    chunk.verdicts[index] = {};
  }
  void go_to(Chunk& chunk, std::uint16_t index, std::uint16_t stage) noexcept override {
    chunk.verdicts[index] = {Verdict::Kind::go_to, stage};
  }
  std::size_t room() const noexcept override { return 0; }
};

}  // namespace penumbra
