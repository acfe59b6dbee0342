// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "functions/ids/detect/detector.h"
#include "functions/ids/detect/packet_view.h"
#include "functions/ids/pipeline/ids.h"
#include "functions/ids/pipeline/rejection.h"

namespace penumbra::ids {

/// The data half of the function.
class Worker final : public FunctionWorker {
 public:
  Worker(Ids& function, const WorkerContext& context);

  void process(Chunk& chunk) noexcept override;
  bool resume(Chunk& chunk) noexcept override;
  std::uint64_t tick(std::uint64_t now) noexcept override;
  std::string trace(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const override;

 private:
  struct Result;

  std::span<const std::uint8_t> contiguous(const rte_mbuf& packet) noexcept;
  void inspect(Chunk& chunk, std::uint16_t index, const patterns_found* found, Result& result) noexcept;
  Detector::Decision evaluate(const Generation& generation, const Subject& subject,
                              const patterns_found* found) noexcept;
  void act(Chunk& chunk, std::uint16_t index, const PacketView& packet, std::span<const std::uint8_t> frame,
           TrackedFlow& flow, const Detector::Decision& decision, Result& result) noexcept;
  void except(Chunk& chunk, std::uint16_t index, ExceptionCause cause, TrackedFlow* flow,
              std::span<const std::uint8_t> frame, const PacketHeaders& headers) noexcept;
  void reject(const Chunk& chunk, std::uint16_t index, std::span<const std::uint8_t> frame,
              const PacketHeaders& headers, RejectionTo to) noexcept;
  void report(const Chunk& chunk, const PacketView& packet, const Detector::Alert& alert, std::uint64_t now,
              Event::Kind kind, bool is_blocked) noexcept;
  void count(Count counted, std::uint64_t amount = 1) noexcept {
    if (counts_ != nullptr) (*counts_)[counted].add(amount);
  }
  void note_use() noexcept;
  std::uint64_t wall_time(std::uint64_t now) noexcept;
  void begin_dry_run();

  Ids& function_;
  Emitter& emitter_;
  const std::uint16_t index_;
  WorkerCounts* counts_ = nullptr;  ///< Null in a dry run.
  std::unique_ptr<Detector> detector_;
  BufferTable buffers_;
  std::vector<Detector::Alert> alerts_;
  std::vector<std::uint8_t> copy_;  ///< A copy of a packet in several segments.
  std::uint64_t since_1970_ = 0;    ///< Added to the clock of packets gives the wall time. 0: not known yet.
};

}  // namespace penumbra::ids
