// SPDX-License-Identifier: Apache-2.0
//
// The tables of a Reassembly: incomplete datagrams, and the parts of them that are held. The size of both is fixed.
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "packet/fragment_siphash.h"
#include "packet/reassembly_fragment.h"
#include "packet/reassembly_policy.h"
#include "packet/reassembly_reason.h"

namespace penumbra {

/// Index of a datagram or part, or kNoIndex.
using TableIndex = std::uint32_t;
inline constexpr TableIndex kNoIndex = UINT32_MAX;

/// A range of a datagram, and the mbuf that has its bytes.
struct DatagramPart {
  rte_mbuf* packet = nullptr;  ///< A fragment, a copy of a part of one, or null while the part is being made.
  FragmentRange range;
  std::uint32_t memory = 0;    ///< Bytes of the mbufs.
  TableIndex next = kNoIndex;  ///< The part of the next range, or the next free part.
  std::uint16_t data_at = 0;   ///< Offset of the range in the packet.
  std::uint16_t network = 0;   ///< Offset of the IP header in the packet.
  bool is_copy = false;        ///< True if the mbuf is none of the fragments that were added.
};

/// The pool of parts. It owns the mbufs of the parts in use.
class DatagramParts {
 public:
  explicit DatagramParts(std::uint32_t size);

  DatagramPart& operator[](TableIndex index) { return parts_[index]; }
  const DatagramPart& operator[](TableIndex index) const { return parts_[index]; }
  /// Returns an unused part. There must be one.
  TableIndex take();
  /// Gives the part its mbuf.
  void hold(TableIndex index, rte_mbuf& packet, bool is_copy);
  /// Makes the part unused. Hands back its mbuf, or frees it if it is a copy.
  void release(TableIndex index, ReassemblyReason reason, HandBack hand_back);
  /// Makes the part unused. Returns its mbuf, which belongs to the caller.
  rte_mbuf* withdraw(TableIndex index);

  std::size_t unused() const { return unused_; }
  std::size_t fragments() const { return fragments_; }  ///< Fragments held, without copies.
  std::size_t memory() const { return memory_; }        ///< Bytes of the mbufs held.

 private:
  std::unique_ptr<DatagramPart[]> parts_;
  TableIndex free_ = kNoIndex;
  std::size_t unused_ = 0, fragments_ = 0, memory_ = 0;
};

/// Returns the bytes of the packet's mbufs.
std::uint32_t memory_of(const rte_mbuf& packet);

/// An incomplete datagram.
struct Datagram {
  static constexpr std::uint32_t kUnknown = UINT32_MAX;

  DatagramKey key{};
  std::uint64_t began = 0;  ///< Time of the first fragment, or of the drop.
  TableIndex next_in_bucket = kNoIndex;
  TableIndex older = kNoIndex, newer = kNoIndex;  ///< Neighbours in the list of live or dropped datagrams.
  TableIndex first = kNoIndex, last = kNoIndex;   ///< Parts in order; none overlap.
  std::uint32_t covered = 0;                      ///< Bytes of all parts.
  std::uint32_t size = kUnknown;                  ///< Bytes of the datagram's payload, known from its last fragment.
  std::uint16_t parts = 0;
  std::uint16_t largest = 0;     ///< Bytes of the largest fragment's IP packet.
  std::uint16_t largest_df = 0;  ///< The same of fragments with DF.
  std::uint8_t ecns = 0;         ///< Bit i is set if a fragment has ECN i.
  bool had_overlap = false, had_conflict = false;
  /// The reason why the datagram was dropped and its further fragments are refused; none while it is live.
  ReassemblyReason dropped = ReassemblyReason::none;

  bool is_ipv4() const { return key[4] >> 56 == 4; }
};

/// A hash table of datagrams, with lists of live and of dropped datagrams by age.
class DatagramTable {
 public:
  /// Datagrams in a bucket at most, which bounds the steps of find().
  static constexpr unsigned kMostInBucket = 16;

  DatagramTable(std::uint32_t most, const SipHashKey& key);
  /// Returns the bytes of a table for `most` datagrams.
  static std::size_t bytes(std::uint32_t most);

  Datagram* find(const DatagramKey& key);
  /// Returns the datagram that must be erased before create() of `key`, or null if none must.
  Datagram* in_the_way(const DatagramKey& key);
  /// Adds a live datagram.
  Datagram& create(const DatagramKey& key, std::uint64_t now);
  /// Makes a live datagram, whose parts are released, a dropped one.
  void drop(Datagram& datagram, ReassemblyReason reason, std::uint64_t now);
  void erase(Datagram& datagram);

  Datagram* oldest_live() { return at(live_.oldest); }
  Datagram* oldest_dropped() { return at(dropped_.oldest); }
  Datagram* newer(const Datagram& datagram) { return at(datagram.newer); }
  std::size_t size() const { return size_; }

 private:
  struct Ages {
    TableIndex oldest = kNoIndex, newest = kNoIndex;
  };

  static std::size_t buckets_for(std::uint32_t most);
  Datagram* at(TableIndex index) { return index == kNoIndex ? nullptr : &datagrams_[index]; }
  TableIndex index_of(const Datagram& datagram) const { return static_cast<TableIndex>(&datagram - datagrams_.get()); }
  TableIndex& bucket_of(const DatagramKey& key);
  Ages& ages_of(const Datagram& datagram) { return datagram.dropped == ReassemblyReason::none ? live_ : dropped_; }
  void append(Datagram& datagram);
  void unlink(const Datagram& datagram);

  SipHashKey key_;
  std::size_t bucket_mask_;
  std::unique_ptr<TableIndex[]> buckets_;
  std::unique_ptr<Datagram[]> datagrams_;
  TableIndex free_ = kNoIndex;
  Ages live_, dropped_;
  std::size_t size_ = 0;
};

}  // namespace penumbra
