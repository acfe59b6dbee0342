// SPDX-License-Identifier: Apache-2.0
//
// Reassembles fragmented datagrams of IPv4 (RFC 791) and IPv6 (RFC 8200). docs/packet.md has the rules.
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>

#include "packet/fragment_siphash.h"
#include "packet/reassembly_policy.h"
#include "packet/reassembly_reason.h"
#include "packet/reassembly_table.h"
#include "penumbra/packet.h"

namespace penumbra {

/// Limits of a Reassembly.
struct ReassemblyLimits {
  std::size_t memory = std::size_t{32} << 20;  ///< Bytes of the tables and of the mbufs that are held.
  std::uint32_t datagrams = 4096;              ///< Incomplete datagrams at a time, at least 1.
  std::uint16_t fragments = 256;               ///< Parts of a datagram; bounds the steps for one fragment.
  std::uint16_t least_payload = 0;             ///< Bytes that all fragments but the last must carry.
  std::uint64_t timeout = 30'000'000'000;      ///< Nanoseconds from the first fragment to the complete datagram.

  bool operator==(const ReassemblyLimits&) const = default;
};

/// The result of Reassembly::add().
struct ReassemblyResult {
  enum class Kind : std::uint8_t {
    held,       ///< The Reassembly owns the fragment.
    completed,  ///< The caller owns the datagram `packet`, of which the fragment is a part.
    refused,    ///< The caller still owns the fragment, whose bytes have not changed. `reason` says why.
  };
  Kind kind = Kind::refused;
  ReassemblyReason reason = ReassemblyReason::none;
  // The following fields describe a completed datagram.
  bool had_overlap = false;     ///< True if fragments overlapped or were repeated.
  bool had_conflict = false;    ///< True if they did so with different bytes.
  std::uint16_t fragments = 0;  ///< Number of fragments of which `packet` consists.
  std::uint16_t largest = 0;    ///< Bytes of the largest fragment's IP packet: a limit if `packet` is fragmented again.
  rte_mbuf* packet = nullptr;
};

/// Reassembles datagrams. One worker owns it. It takes no locks, and allocates memory in the constructor only.
///
/// add() refuses a fragment, holds it, or completes a datagram with it. A held fragment leaves as a part of a completed
/// datagram, or is handed back with a reason. So added = refused + handed back + parts of completed + held().
///
/// A completed datagram is the chain of its fragments' mbufs. It has the link-layer and IP headers of the first
/// fragment, with corrected length, fragment fields, ECN and checksum. An IPv6 fragment header is removed. DF is set if
/// the largest fragment has it, as in Linux.
class Reassembly {
 public:
  /// `copies` gives mbufs for bytes that some overlaps make it copy. `key` hides which datagrams share a bucket. Throws
  /// std::invalid_argument if the tables leave no memory for a datagram of 65535 bytes.
  Reassembly(const ReassemblyLimits& limits, const SipHashKey& key, rte_mempool& copies);
  /// Throws like the constructor.
  static void check(const ReassemblyLimits& limits);
  /// The caller has flushed it.
  ~Reassembly() = default;
  Reassembly(const Reassembly&) = delete;
  Reassembly& operator=(const Reassembly&) = delete;

  /// Adds a packet that the parser described as `headers`, and whose IPv4 checksum is correct. `now` is any clock in
  /// nanoseconds. `policy` decides overlaps of IPv4; it depends on nothing but the destination. An IPv6 packet that is
  /// its whole datagram loses its fragment header, whatever is held (RFC 6946).
  ReassemblyResult add(rte_mbuf& packet, const PacketHeaders& headers, std::uint64_t now, OverlapPolicy policy,
                       HandBack hand_back);
  /// Hands back the fragments of datagrams that began `timeout` before `now`, or earlier.
  void expire(std::uint64_t now, HandBack hand_back);
  /// Hands back all fragments.
  void flush(HandBack hand_back);

  std::size_t held() const { return parts_.fragments(); }                ///< Fragments.
  std::size_t datagrams() const { return table_.size(); }                ///< Incomplete and dropped datagrams.
  std::size_t memory() const { return table_bytes_ + parts_.memory(); }  ///< Bytes; at most ReassemblyLimits::memory.

 private:
  bool is_due(const Datagram& datagram, std::uint64_t now) const;
  /// Makes room by evicting the oldest datagrams but `spared`. Returns false if that is not enough.
  bool make_room(std::size_t bytes, std::size_t parts, const Datagram* spared, HandBack hand_back);
  Datagram& create(const DatagramKey& key, std::uint64_t now, HandBack hand_back);
  void release_parts(Datagram& datagram, ReassemblyReason reason, HandBack hand_back);
  void erase(Datagram& datagram, ReassemblyReason reason, HandBack hand_back);
  ReassemblyReason insert(Datagram& datagram, rte_mbuf& packet, const FragmentFields& fields, OverlapPolicy policy,
                          HandBack hand_back);
  ReassemblyResult complete(Datagram& datagram);

  ReassemblyLimits limits_;
  rte_mempool& copies_;
  std::size_t table_bytes_;
  DatagramTable table_;
  DatagramParts parts_;
};

}  // namespace penumbra
