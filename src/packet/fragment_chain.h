// SPDX-License-Identifier: Apache-2.0
//
// Reads, writes and cuts the bytes of an mbuf chain by their offset in the packet.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <span>

namespace penumbra {

/// A position in a chain that moves forward.
class ChainReader {
 public:
  /// Starts at offset `at`, which is at most the packet's length.
  ChainReader(const rte_mbuf& packet, std::uint32_t at);

  /// Copies the next bytes. Returns false if the chain has fewer; then the contents of `bytes` are unspecified.
  bool read(std::span<std::uint8_t> bytes);
  /// Returns the next bytes of the current segment, at most `most`, and moves past them. Empty at the end of the chain.
  std::span<const std::uint8_t> next(std::uint32_t most);

 private:
  const rte_mbuf* segment_;
  std::uint32_t at_;  ///< Offset in the segment.
};

/// Copies the bytes from offset `at` into `bytes`. Returns false if the packet is shorter.
bool read_chain(const rte_mbuf& packet, std::uint32_t at, std::span<std::uint8_t> bytes);
/// Overwrites the bytes from offset `at`. The packet must have them.
void write_chain(rte_mbuf& packet, std::uint32_t at, std::span<const std::uint8_t> bytes);
/// Returns true if `size` bytes of both packets are equal. Both packets must have them.
bool equal_in_chains(const rte_mbuf& left, std::uint32_t left_at, const rte_mbuf& right, std::uint32_t right_at,
                     std::uint32_t size);

/// Cuts the packet to `size` bytes from offset `at`, which it must have, and frees the other segments. `size` is at
/// least 1. Returns the first segment; it is another one than before if its predecessors were freed.
rte_mbuf* cut_chain(rte_mbuf* packet, std::uint32_t at, std::uint32_t size);

}  // namespace penumbra
