// SPDX-License-Identifier: Apache-2.0
//
// The data half of the function.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "functions/ipsec/events.h"
#include "functions/ipsec/policy_cache.h"
#include "functions/ipsec/random_iv.h"
#include "functions/ipsec/reasons.h"
#include "functions/ipsec/snapshot.h"
#include "functions/ipsec/too_big.h"
#include "penumbra/function.h"
#include "penumbra/function_worker.h"

namespace penumbra::ipsec {

class SaTable;

/// Processes a chunk in rounds of jobs: the first opens and seals, the second seals what the first opened. A packet
/// that is fragmented before it is sealed takes a round for each fragment.
class IpsecWorker final : public FunctionWorker {
 public:
  struct Parts {
    const Function* function = nullptr;
    const SaTable* table = nullptr;
    EventRing* events = nullptr;  ///< Null in a dry run.
    std::uint16_t mtu = 0;
    bool fragments_first = true;                        ///< Settings::fragments_first
    std::atomic<std::uint64_t>* overtakings = nullptr;  ///< Counts groups of sequence numbers that left too early.
  };
  IpsecWorker(const Parts& parts, const WorkerContext& context);

  void process(Chunk& chunk) noexcept override;
  bool resume(Chunk& chunk) noexcept override;
  std::string trace(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const override;

 private:
  /// A job for a packet of a chunk.
  struct Work;
  /// The packets and jobs of a chunk.
  struct Works;
  /// The decisions about a packet that is traced or explained.
  struct Note {
    std::string opened, sealed, policy;
  };

  void drop(Chunk& chunk, std::uint16_t index, Why why) noexcept;
  /// Returns the note of a packet, or null if nobody reads it.
  Note* note(const Chunk& chunk, std::uint16_t index) noexcept;

  // worker_classify.cc
  void classify(Chunk& chunk, std::uint16_t index, Works& works) noexcept;
  bool classify_udp(Chunk& chunk, std::uint16_t index, Works& works, const Flow& flow) noexcept;
  void classify_esp(Chunk& chunk, std::uint16_t index, Works& works, DataSa& sa, std::uint32_t esp_at,
                    const Flow& flow) noexcept;
  void apply_policies(Chunk& chunk, std::uint16_t index, Works& works, DataSa* opened_by, const Flow& flow) noexcept;
  /// Seals, drops or passes a packet by the outbound policies of the flow's interface.
  void apply_outbound(Chunk& chunk, std::uint16_t index, Works& works, const DataSa* opened_by,
                      const Flow& flow) noexcept;
  void plan(Chunk& chunk, std::uint16_t index, Works& works, const PolicyEntry& policy, const DataSa* opened_by,
            const Flow& flow) noexcept;
  /// Drops a packet that its tunnel cannot take, and tells its source.
  void refuse_too_big(Chunk& chunk, std::uint16_t index, const Works& works, const DataSa& sa, const DataSa* opened_by,
                      const Flow& flow) noexcept;
  /// True if outbound policies let a packet pass without protection.
  bool passes_in_clear(const Snapshot& snapshot, const Flow& flow) noexcept;

  // worker_fragments.cc
  /// Fragments a packet before it is sealed, and adds the seal of the first fragment. `work` is that of the packet.
  void add_fragments(Chunk& chunk, Work& work, Works& works) noexcept;
  /// Adds the seal of the next fragment.
  void add_next_fragment(Chunk& chunk, Work& work, Works& works) noexcept;
  /// Emits a sealed fragment of `bytes` bytes, and adds the next one.
  void emit_fragment(Chunk& chunk, Work& work, Works& works, std::uint32_t bytes) noexcept;
  /// Fragments a sealed packet.
  void fragment_sealed(Chunk& chunk, std::uint16_t index) noexcept;
  /// Frees a packet whose content went on in other packets.
  void absorb(Chunk& chunk, std::uint16_t index) noexcept;

  // worker.cc
  void take_numbers(Chunk& chunk, Works& works) noexcept;
  /// Waits for its turn with the numbers of this round.
  void await_turn(Works& works) noexcept;
  void start_jobs(Chunk& chunk, Works& works) noexcept;
  bool prepare(Chunk& chunk, Work& work) noexcept;
  void finish_seal(Chunk& chunk, Work& work, Works& works, std::uint8_t status, std::uint32_t length) noexcept;
  void finish_opening(Chunk& chunk, Work& work, Works& works, std::uint8_t status, std::uint32_t length) noexcept;
  void put(Chunk& chunk, Work& work, std::uint32_t bytes) noexcept;
  /// Drops the packet of a work, and frees the buffers of the work.
  void abandon(Chunk& chunk, Work& work, Why why) noexcept;
  void report_mapping(const Work& work, const Flow& outer) noexcept;

  const Parts parts_;
  Emitter& emitter_;
  rte_mempool* pool_;
  PolicyCache cache_;
  RandomIv random_;
  ErrorLimit errors_;
  const bool has_several_workers_;
  const std::uint64_t patience_;  ///< Cycles that sealed packets wait for earlier ones.
  std::uint16_t identification_ = 0;
  std::array<Note, Chunk::kCapacity> notes_{};
};

}  // namespace penumbra::ipsec
