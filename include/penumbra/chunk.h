// SPDX-License-Identifier: Apache-2.0
//
// The packets of one receive on their way through the pipeline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "penumbra/batch.h"

struct rte_mbuf;

namespace penumbra {

/// What shall become of a packet.
struct Verdict {
  enum class Kind : std::uint8_t {
    pass,       ///< undecided: the next function's turn; dropped as `undecided` after the last one
    send,       ///< out of port `value`
    replicate,  ///< out of several ports: what the chunk's `replications` says of it
    drop,       ///< for reason `value`
    punt,       ///< to the host's stack, for reason `value`
  };
  Kind kind = Kind::pass;
  std::uint16_t value = 0;  ///< a port's index, or a reason's index in the pipeline's list

  static Verdict send(std::uint16_t port) { return {Kind::send, port}; }
  static Verdict replicate() { return {Kind::replicate, 0}; }
  bool operator==(const Verdict&) const = default;
};

/// Where a packet goes that leaves by several ports: by each of these, each named once, but the one that it came from.
/// The lists stay as they are while the packet is in flight.
struct Replication {
  std::span<const std::uint16_t> ports;  ///< these get the packet itself
  rte_mbuf* other = nullptr;             ///< its likeness with another header, the chunk's too; or null
  /// These get that; none of `ports`.
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::span<const std::uint16_t> other_ports = {};
  std::uint16_t dropped = 0;  ///< further copies that it was to leave by and does not, if it leaves by any
  std::uint16_t reason = 0;   ///< why, an index in the pipeline's list
};

/// Room for the columns of one batch; emptied before each pre-shade.
class ColumnSpace {
 public:
  static constexpr std::size_t kBytes = 20480;

  /// An uninitialised column of `count` elements, aligned to kColumnAlignment. What one function takes for one chunk
  /// must fit in kBytes altogether: the program ends if it does not.
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

/// The packets of one receive: the unit that keeps its order. Owned by one worker.
struct Chunk {
  static constexpr std::uint16_t kCapacity = 64;

  std::uint16_t size = 0;
  std::uint16_t rx_port = 0;  ///< index of the port that it came from
  std::uint16_t worker = 0;   ///< index of the worker that owns it
  std::uint16_t stage = 0;    ///< index of the function whose turn it is
  bool traced = false;        ///< some packet of it is being traced
  bool is_dry_run = false;    ///< for `explain`: functions judge and rewrite, but count, learn and limit nothing
  /// pre_shade may prefetch what the shader reads first (EngineQueue::fetches_ahead).
  bool fetch_ahead = false;
  std::array<rte_mbuf*, kCapacity> packets;
  std::array<Verdict, kCapacity> verdicts;
  std::array<Replication, kCapacity> replications;  ///< of the packets whose verdict is to replicate them

  Batch batch;                                         ///< of the current function
  std::array<std::uint8_t, kCapacity> packet_of_item;  ///< which packet the batch's item i belongs to
  ColumnSpace columns;
  void* stage_scratch = nullptr;  ///< what pre_shade leaves for post_shade beside the batch's columns, in `columns` too
};

}  // namespace penumbra
