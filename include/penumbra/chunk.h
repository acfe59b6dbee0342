// SPDX-License-Identifier: Apache-2.0
//
// The packets of one receive on their way through the pipeline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "penumbra/batch.h"

struct rte_mbuf;

namespace penumbra {

/// What shall become of a packet.
struct Verdict {
  enum class Kind : std::uint8_t {
    pass,  ///< undecided: the next function's turn; dropped as `undecided` after the last one
    send,  ///< out of port `value`
    drop,  ///< for reason `value`
    punt,  ///< to the host's stack, for reason `value`
  };
  Kind kind = Kind::pass;
  std::uint16_t value = 0;  ///< a port's index, or a reason's index in the pipeline's list

  static Verdict send(std::uint16_t port) { return {Kind::send, port}; }
  bool operator==(const Verdict&) const = default;
};

/// Room for the columns of one batch; emptied before each pre-shade.
class ColumnSpace {
 public:
  static constexpr std::size_t kBytes = 20480;

  /// An uninitialised column of `count` elements, aligned to 64 bytes. What one function takes for one chunk must fit
  /// in kBytes altogether: the program ends if it does not.
  template <class Element>
  Element* take(std::size_t count) {
    const std::size_t begin = (used_ + 63) / 64 * 64;
    used_ = begin + count * sizeof(Element);
    if (used_ > kBytes) [[unlikely]] {
      std::fputs("a function takes more column space for a chunk than there is\n", stderr);
      std::abort();
    }
    return reinterpret_cast<Element*>(bytes_.data() + begin);
  }
  void clear() { used_ = 0; }

 private:
  alignas(64) std::array<std::byte, kBytes> bytes_;
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
  /// pre_shade may prefetch what the shader reads first (EngineQueue::fetches_ahead).
  bool fetch_ahead = false;
  std::array<rte_mbuf*, kCapacity> packets;
  std::array<Verdict, kCapacity> verdicts;

  Batch batch;                                         ///< of the current function
  std::array<std::uint8_t, kCapacity> packet_of_item;  ///< which packet the batch's item i belongs to
  ColumnSpace columns;
};

}  // namespace penumbra
