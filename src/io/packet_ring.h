// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

struct rte_mbuf;
struct rte_ring;

namespace penumbra::io {

inline constexpr std::uint16_t kRingSlots = 1024;  ///< Slots of each ring between threads.

/// A queue of up to kRingSlots - 1 packets from one producer thread to one consumer thread.
class PacketRing {
 public:
  /// Creates the ring. `name` must be unique among the rings of this process. Throws std::runtime_error if memory is
  /// short. The EAL must be running.
  explicit PacketRing(const std::string& name);
  PacketRing(PacketRing&&) = default;
  PacketRing& operator=(PacketRing&&) = default;
  /// Frees the remaining packets.
  ~PacketRing();

  /// Returns the number of packets that the ring accepted, always the first packets. Producer thread.
  std::uint16_t put(rte_mbuf** packets, std::uint16_t count) noexcept;
  /// Returns the number of packets that put() would certainly accept. Producer thread.
  std::uint16_t room() const noexcept;
  /// Removes up to `count` packets and returns their number. Consumer thread.
  std::uint16_t take(rte_mbuf** packets, std::uint16_t count) noexcept;
  bool empty() const noexcept;
  /// Frees all packets in the ring. Consumer thread.
  void clear() noexcept;

 private:
  struct Free {
    void operator()(rte_ring* ring) const;
  };
  std::unique_ptr<rte_ring, Free> ring_;
};

}  // namespace penumbra::io
