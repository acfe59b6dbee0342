// SPDX-License-Identifier: Apache-2.0
//
// `trace`: the way of single packets through the pipeline, in words. Not armed it costs a worker one relaxed load a
// chunk; the packets that it follows may take locks and memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
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

/// A packet that is being followed.
struct PacketTrace {
  std::uint16_t packet = 0;  ///< its place in the chunk
  bool undecided = true;     ///< before the stage whose turn it is
  std::uint64_t number = 0;  ///< counts from 1 since the start
  std::string time;          ///< of reception, UTC
  std::uint16_t worker = 0;
  std::string port;
  std::string frame;               ///< as received
  std::vector<std::string> lines;  ///< a line a stage, then what became of it
};

class Tracer {
 public:
  /// At most so many packets are asked for at once, and kept.
  static constexpr std::uint64_t kMost = 10000;

  Tracer(const Pipeline& pipeline, std::vector<std::string> ports);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// `add N [--port PORT] [--filter EXPRESSION]`, `show`, `clear`. Any thread. `add` takes the place of what was asked
  /// for before, and answers how many packets of that were still awaited. Throws std::invalid_argument with what is
  /// wrong, for the filter in libpcap's words.
  nlohmann::ordered_json command(std::string_view action, std::span<const std::string> arguments);

  /// There are other ports. No worker works meanwhile, and nobody asks.
  void set_ports(std::vector<std::string> ports) { ports_ = std::move(ports); }

  bool armed() const noexcept { return armed_.load(std::memory_order_relaxed); }

  // For workers, with a chunk of theirs, while armed() or while they have traces:
  /// Which packets of a chunk just received are to be followed.
  std::vector<PacketTrace> select(const Chunk& chunk);
  /// Notes what the chunk's stage did with them. After its post-shade.
  void note_stage(const Chunk& chunk, std::vector<PacketTrace>& traces) const;
  /// Notes what became of a packet.
  void note_verdict(PacketTrace& trace, Verdict verdict) const;
  /// Hands in what is complete.
  void finish(std::vector<PacketTrace>& traces);

 private:
  struct Request {
    std::uint64_t packets = 0;
    std::optional<std::uint16_t> port;
    std::unique_ptr<PacketFilter> filter;
  };
  Request parse_request(std::span<const std::string> arguments) const;
  std::string in_words(Verdict verdict) const;
  nlohmann::ordered_json done_as_json() const;

  const Pipeline& pipeline_;
  std::vector<std::string> ports_;
  std::atomic<bool> armed_{false};
  std::mutex mutex_;
  Request request_;
  std::uint64_t last_number_ = 0;
  std::deque<PacketTrace> done_;
};

}  // namespace penumbra::runtime
