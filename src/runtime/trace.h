// SPDX-License-Identifier: Apache-2.0
//
// Implements `trace`: describes the way of single packets through the pipeline in words. If not armed, it costs a
// worker one relaxed load per chunk. Traced packets may take locks and allocate memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/chunk.h"
#include "runtime/packet_filter.h"
#include "runtime/pipeline.h"

namespace penumbra::runtime {

/// Holds a traced packet, or the part of its way on one worker.
struct PacketTrace {
  std::uint16_t packet = 0;  ///< Its index in the chunk.
  bool undecided = true;     ///< Undecided before the current stage.
  std::uint64_t number = 0;  ///< Counts from 1 since the start.
  std::uint16_t part = 0;    ///< Counts the workers before this one that handed the packet over.
  bool goes_on = false;      ///< Another worker has the packet, and writes the next part.
  std::string time;          ///< Time of reception, UTC.
  std::uint16_t worker = 0;
  std::string port;
  std::string frame;               ///< As received.
  std::vector<std::string> lines;  ///< A line for each stage, then the result.
};

class Tracer {
 public:
  /// Limits the number of requested packets, and of kept ones.
  static constexpr std::uint64_t kMost = 10000;

  Tracer(const Pipeline& pipeline, std::vector<std::string> ports);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// Executes `add N [--port PORT] [--filter EXPRESSION]`, `show` or `clear`. `add` replaces the previous request and
  /// returns the number of its outstanding packets. Any thread may call it. Throws std::invalid_argument with the
  /// fault; for the filter with libpcap's message.
  nlohmann::ordered_json command(std::string_view action, std::span<const std::string> arguments);

  /// Replaces the names of the ports. Meanwhile no worker may run and no command may be executed.
  void set_ports(std::vector<std::string> ports) { ports_ = std::move(ports); }

  bool armed() const noexcept { return armed_.load(std::memory_order_relaxed); }

  // The following functions are for workers, with their own chunks, while armed() or while they have traces.
  /// Returns traces for the selected packets of a chunk that was just received.
  std::vector<PacketTrace> select(const Chunk& chunk);
  /// Returns the next part of the trace of a packet that another worker has handed over to `worker`.
  static PacketTrace go_on(rte_mbuf& packet, std::uint16_t worker);
  /// Records the actions of the chunk's stage, whose data half is `function`. Call after its last resume().
  void note_stage(const Chunk& chunk, const FunctionWorker& function, std::vector<PacketTrace>& traces) const;
  /// Records the final result of a packet.
  void note_verdict(PacketTrace& trace, Verdict verdict) const;
  /// Stores completed traces.
  void finish(std::vector<PacketTrace>& traces);

 private:
  struct Request {
    std::uint64_t packets = 0;
    std::optional<std::uint16_t> port;
    std::unique_ptr<PacketFilter> filter;
  };
  Request parse_request(std::span<const std::string> arguments) const;
  std::string in_words(Verdict verdict) const;
  void add_part(PacketTrace&& part);
  void keep(PacketTrace&& trace);
  nlohmann::ordered_json done_as_json() const;

  const Pipeline& pipeline_;
  std::vector<std::string> ports_;
  std::atomic<bool> armed_{false};
  std::mutex mutex_;
  Request request_;
  std::uint64_t last_number_ = 0;
  std::deque<PacketTrace> done_;
  std::map<std::uint64_t, std::vector<PacketTrace>> parts_;  ///< By number: traces of which a part is missing.
  std::uint64_t cleared_ = 0;                                ///< Parts of traces up to this number are forgotten.
};

}  // namespace penumbra::runtime
