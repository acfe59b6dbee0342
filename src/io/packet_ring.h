// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

struct rte_mbuf;
struct rte_ring;

namespace penumbra::io {

inline constexpr std::uint16_t kRingSlots = 1024;  ///< of each ring between threads

/// Packets on their way from one thread, which puts, to another, which takes. Up to kRingSlots - 1 of them.
class PacketRing {
 public:
  /// `name` is unique among the rings of this process. Throws std::runtime_error for want of memory. The EAL must run.
  explicit PacketRing(const std::string& name);
  PacketRing(PacketRing&&) = default;
  PacketRing& operator=(PacketRing&&) = default;
  /// Frees what is still in it.
  ~PacketRing();

  /// Returns how many were taken over, always the first ones.
  std::uint16_t put(rte_mbuf** packets, std::uint16_t count) noexcept;
  /// How many put() would certainly take over. By the thread that puts.
  std::uint16_t room() const noexcept;
  /// Returns how many there were, at most `count`.
  std::uint16_t take(rte_mbuf** packets, std::uint16_t count) noexcept;
  bool empty() const noexcept;
  /// Frees what is in it. By the thread that takes.
  void clear() noexcept;

 private:
  struct Free {
    void operator()(rte_ring* ring) const;
  };
  std::unique_ptr<rte_ring, Free> ring_;
};

}  // namespace penumbra::io
