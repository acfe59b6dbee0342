// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "functions/ids/detect/packet_view.h"
#include "functions/ids/detect/stream_inspector.h"
#include "functions/ids/pipeline/ids.h"
#include "functions/ids/pipeline/rejection.h"

namespace penumbra::ids {

/// The data half of the function.
class Worker final : public FunctionWorker, public EventSink {
 public:
  Worker(Ids& function, const WorkerContext& context);

  void process(Chunk& chunk) noexcept override;
  bool resume(Chunk& chunk) noexcept override;
  std::uint64_t tick(std::uint64_t now) noexcept override;
  bool finish() noexcept override;
  std::string trace(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const override;

 private:
  struct Result;

  std::span<const std::uint8_t> contiguous(const rte_mbuf& packet) noexcept;
  void inspect(Chunk& chunk, std::uint16_t index, const patterns_found* found, Result& result) noexcept;
  Prefilter prefilter_of(const PacketView& packet, const patterns_found* found) noexcept;
  void act(Chunk& chunk, std::uint16_t index, const PacketView& packet, std::span<const std::uint8_t> frame,
           const Inspection& found) noexcept;
  void except(Chunk& chunk, std::uint16_t index, ExceptionCause cause, std::span<const std::uint8_t> frame,
              const PacketHeaders& headers) noexcept;
  void drop_for(Chunk& chunk, std::uint16_t index, ExceptionCause cause, std::span<const std::uint8_t> frame,
                const PacketHeaders& headers) noexcept;
  void reject(const Chunk& chunk, std::uint16_t index, std::span<const std::uint8_t> frame,
              const PacketHeaders& headers, RejectionTo to) noexcept;
  void report_drop(const Chunk& chunk, const PacketView& packet, const Inspection& found, std::uint64_t now) noexcept;
  void count_packet(const rte_mbuf& packet, const PacketHeaders& headers) noexcept;
  bool wants(Event::Kind kind) const override;
  void on_event(const Event& event, const std::string& members) override;
  void count(Count counted, std::uint64_t amount = 1) noexcept {
    if (counts_ != nullptr) (*counts_)[counted].add(amount);
  }
  static bool rewrite(rte_mbuf& packet, const PacketHeaders& headers, std::span<const std::uint8_t> payload) noexcept;
  void note_use() noexcept;
  void use_rules() noexcept;
  std::uint64_t wall_time(std::uint64_t now) noexcept;
  void begin_dry_run();

  Ids& function_;
  Emitter& emitter_;
  const std::uint16_t index_;
  WorkerCounts* counts_ = nullptr;  ///< Null in a dry run.
  std::unique_ptr<StreamInspector> inspector_;
  Generation* generation_ = nullptr;  ///< The rules that are used until use_rules().
  Result* result_ = nullptr;          ///< The findings in the packet that is inspected.
  std::vector<std::uint8_t> copy_;    ///< A copy of a packet in several segments.
  std::uint64_t last_packet_ = 0;     ///< The latest time of a packet, in microseconds since 1970.
  std::uint64_t tick_of_packet_ = 0;  ///< The time of the first tick after it, in nanoseconds.
  bool has_new_packets_ = false;
  std::uint64_t since_1970_ = 0;  ///< Added to the clock of packets gives the wall time. 0: not known yet.
};

}  // namespace penumbra::ids
