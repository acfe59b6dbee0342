// SPDX-License-Identifier: Apache-2.0
//
// Defines a chunk: the packets of one receive on their way through the pipeline.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>

#include "penumbra/batch.h"

struct rte_mbuf;

namespace penumbra {

/// The decision about a packet.
struct Verdict {
  enum class Kind : std::uint8_t {
    pass,       ///< Undecided: the next function decides. After the last function, a drop as `undecided`.
    send,       ///< The packet leaves by port `value`.
    replicate,  ///< The packet leaves by the ports that the chunk's `replications` lists.
    /// A function keeps the packet (Emitter::hold), or another worker got it (Emitter::replace; `value` is 1). The
    /// chunk must not use the packet any more.
    hold,
    go_to,  ///< The packet went to stage `value` in another chunk (Emitter::go_to). The chunk must not use it.
    drop,   ///< A drop for reason `value`.
    punt,   ///< The packet goes to the host's stack for reason `value`.
  };
  Kind kind = Kind::pass;
  std::uint16_t value = 0;  ///< A port's index, a reason's index in the pipeline's list, or a stage's index.

  static Verdict send(std::uint16_t port) { return {Kind::send, port}; }
  static Verdict replicate() { return {Kind::replicate, 0}; }
  bool operator==(const Verdict&) const = default;
};

/// The ports that a replicated packet leaves by. Each port is listed at most once; the receive port is skipped if it is
/// listed. The lists stay unchanged while the packet is in flight.
struct Replication {
  std::span<const std::uint16_t> ports;  ///< The ports that send the packet itself.
  rte_mbuf* other = nullptr;             ///< Header variant of the packet, owned by the chunk, or null.
  /// The ports that send `other`. No port is in both lists.
  // NOLINTNEXTLINE(readability-redundant-member-init): initialisers may omit the member
  std::span<const std::uint16_t> other_ports = {};
  std::uint16_t dropped = 0;  ///< Number of further copies that are dropped, if at least one copy is sent.
  std::uint16_t reason = 0;   ///< Why those copies are dropped: an index in the pipeline's list.
};

/// Memory for the columns of a function's batches. The runtime empties it before each FunctionWorker::process().
class ColumnSpace {
 public:
  static constexpr std::size_t kBytes = 20480;

  /// Returns an uninitialised column of `count` elements, aligned to kColumnAlignment. All columns of one function for
  /// one chunk must fit in kBytes; otherwise the program aborts.
  template <class Element>
  Element* take(std::size_t count) {
    const std::size_t begin = padded(used_);
    used_ = begin + count * sizeof(Element);
    if (used_ > kBytes) [[unlikely]] {
      std::fputs("a function takes more column space for a chunk than there is\n", stderr);
      std::abort();
    }
    return reinterpret_cast<Element*>(bytes_.data() + begin);
  }
  void clear() { used_ = 0; }

 private:
  alignas(kColumnAlignment) std::array<std::byte, kBytes> bytes_;
  std::size_t used_ = 0;
};

/// A chunk has the packets of one receive, in order. One worker owns each chunk.
struct Chunk {
  static constexpr std::uint16_t kCapacity = 64;
  static constexpr std::uint32_t kMostItems = 256;  ///< of a job; several may belong to a packet, others to none

  std::uint16_t size = 0;
  std::uint16_t rx_port = 0;  ///< Index of the receive port.
  std::uint16_t worker = 0;   ///< Index of the worker that owns the chunk.
  std::uint16_t stage = 0;    ///< Index of the function that processes the chunk next.
  bool traced = false;        ///< True if at least one packet is being traced.
  /// True for `explain`: functions judge and rewrite packets, but do not count, learn or limit.
  bool is_dry_run = false;
  /// Receive time of the chunk in nanoseconds, by the clock of FunctionWorker::tick().
  std::uint64_t now = 0;
  /// True if process() may prefetch the memory that the first shader reads first (EngineQueue::fetches_ahead).
  bool fetch_ahead = false;
  std::array<rte_mbuf*, kCapacity> packets;
  std::array<Verdict, kCapacity> verdicts;
  std::array<Replication, kCapacity> replications;  ///< Valid for packets whose verdict is `replicate`.

  /// The batch of the current function's job. The job starts if the batch has items. For a shader with payload,
  /// process() finds both base addresses set to payload_base().
  Batch batch;
  std::uint8_t shader = 0;  ///< The job's shader: an index in Function::shaders().
  /// Index of the packet that item i of the batch belongs to. An item of no packet has any value.
  std::array<std::uint8_t, kMostItems> packet_of_item;
  ColumnSpace columns;
  /// Data besides the batch's columns that process() leaves for resume(), allocated in `columns`.
  void* stage_scratch = nullptr;
};

/// Returns the index in `packet_of_item` of a packet, or std::nullopt if the packet has no item in the batch. A batch
/// may have several items for each packet, adjacent and equally many.
inline std::optional<std::size_t> item_of(const Chunk& chunk, std::uint16_t packet,
                                          std::uint32_t items_per_packet = 1) {
  const auto* const begin = chunk.packet_of_item.data();
  const auto* const end = begin + chunk.batch.items / items_per_packet;
  const auto* const item = std::find(begin, end, packet);
  return item == end ? std::nullopt : std::optional<std::size_t>(item - begin);
}

}  // namespace penumbra
