// SPDX-License-Identifier: Apache-2.0
//
// The owner of a table of names with next hops (NDN's FIB), looked up by the shader `ndn_names` (ndn_names.shader.h).
//
// Every prefix of a name, down to one component, is a node: where the bytes of a name that begins like it stand, its
// parent, and the next hop if it is a name of the table itself. Readers are led to nodes by digests of 55 bits, and
// next_hop() compares the bytes: what has another name's digest, one probe in billions, is seen and searched again
// among the shorter prefixes. So no name is ever taken for another. Of two prefixes that are to be in the table and
// have the same digest the second is refused: with 20 million of them and a random key, that happens to one table of
// 180, when another key helps, and to one insertion in two billions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "name_bytes.h"
#include "name_hash.h"
#include "penumbra/huge_memory.h"
#include "penumbra/prefetch.h"
#include "penumbra/table.h"
#include "tables/cuckoo/cuckoo.h"

namespace penumbra::ndn {

/// Two prefixes have the same digest under a table's key.
class DigestTaken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Names are components as they stand in a packet's Name, without its type and length; the empty one is a prefix of
/// all. One thread changes and asks it; lookups go through table() and an engine, and then next_hop(), on any thread
/// that is quiescent only when it is done with both. A change that throws has changed nothing that can be asked.
///
/// A lookup during several changes may see one and miss another: it finds a name that was there at some moment of it,
/// and none that is shorter than one that was there all the time.
class NameTable {
 public:
  static constexpr std::uint16_t kNoRoute = 0xFFFF;
  static constexpr std::uint32_t kMostComponents = NDN_NAMES_COMPONENTS;
  static constexpr std::size_t kMostPrefixes = (std::size_t{1} << NDN_NAMES_NODE_BITS) - 2;

  /// An empty table, published. `grace_periods` outlives it. Fewer `digest_bits`, 20 at least, are for tests of what
  /// happens when digests meet.
  NameTable(NameKey key, GracePeriods& grace_periods, unsigned digest_bits = NDN_NAMES_DIGEST_BITS);

  /// Adds a name, or gives it another next hop, below kNoRoute; returns whether it is new. Takes effect as
  /// CuckooTable's changes do. Throws std::invalid_argument for what is no name, one of more than kMostComponents or
  /// NameBytes::kMost bytes included; std::length_error if there is no place; DigestTaken.
  bool insert(Bytes name, std::uint16_t next_hop);
  /// Takes a name out; returns whether it was there.
  bool remove(Bytes name);
  /// Grows so that there is place for so many prefixes. Waits for a grace period.
  void reserve(std::size_t prefixes) { prefixes_.reserve(prefixes); }
  /// Announces that the changes so far belong together: to be called after insert() and remove().
  void commit();

  /// The next hop of exactly this name.
  std::optional<std::uint16_t> find(Bytes name) const;
  /// Everything, in no order.
  void for_each(const std::function<void(Bytes name, std::uint16_t next_hop)>& visit) const;
  std::size_t size() const { return names_; }                ///< names
  std::size_t prefixes() const { return prefixes_.size(); }  ///< of one component and more
  std::size_t memory_bytes() const;

  /// What engines read.
  Table& table() { return prefixes_.table(); }

  // For readers, on any thread.

  /// Fills in what the shader looks up, of a name whose components are valid.
  void fill(Bytes name, ndn_names_key& key) const noexcept;
  /// Asks for what the shader reads first of a name that has been filled in. For engines on host memory.
  void prefetch(const ndn_names_key& key) const noexcept;
  /// Asks for the memory that next_hop() will read, first of nodes; a moment later, of bytes.
  void prefetch_node(std::uint32_t found) const noexcept { prefetch_line(&nodes_[node_of(found)]); }
  void prefetch_bytes(std::uint32_t found) const noexcept { prefetch_line(nodes_[node_of(found)].bytes); }
  /// The next hop of the longest prefix of a name, kNoRoute if there is none. `found` is the shader's.
  std::uint16_t next_hop(std::uint32_t found, Bytes name) const noexcept;

 private:
  /// As workers read it. What the next hop is may change; all else is written before a digest leads there.
  struct Node {
    const std::uint8_t* bytes;  ///< of a name that begins like it
    std::uint32_t parent;
    std::uint16_t length;  ///< of the prefix, bytes
    std::uint16_t inverted_next_hop;
  };
  static constexpr std::uint32_t kRoot = 1;

  /// Where the owner stands with a name.
  struct Path {
    ndn_names_key key;
    std::uint32_t nodes[NDN_NAMES_COMPONENTS + 1];  ///< of its prefixes, as far as they are there
    std::uint32_t there = 0;                        ///< of how many components the longest is
    std::uint16_t ends[NDN_NAMES_COMPONENTS + 1];   ///< where the prefixes end
  };
  struct Gone {
    std::uint64_t token = 0;
    std::uint32_t node = 0;
  };

  static std::uint32_t node_of(std::uint32_t found) {
    const std::uint32_t node = found & ((std::uint32_t{1} << NDN_NAMES_NODE_BITS) - 1);
    return node == 0 ? kRoot : node;
  }
  bool begins_like(const Node& node, Bytes name) const noexcept;
  std::uint16_t next_hop_of(std::uint32_t node) const noexcept;
  void set_next_hop(std::uint32_t node, std::uint16_t next_hop);

  Path path_of(Bytes name) const;
  void require_own_digests(const Path& path) const;
  void add_nodes(Path& path, Bytes name, std::uint16_t next_hop);
  void remove_unused(const Path& path, std::uint32_t components);
  std::uint32_t take_node();
  void reclaim();
  void count_name(std::uint32_t components, bool there);

  const NameDigests digests_;
  GracePeriods& grace_periods_;
  CuckooTable prefixes_;
  const Table& read_;                  ///< what readers read of these
  HugeArray<Node> nodes_;              ///< 0 is none
  HugeArray<std::uint32_t> children_;  ///< of each node, how many
  std::uint32_t used_nodes_ = kRoot + 1;
  std::vector<std::uint32_t> free_nodes_;
  std::vector<std::uint32_t> just_gone_;  ///< since the last commit
  std::deque<Gone> gone_;                 ///< readers may still be there
  NameBytes bytes_;
  std::size_t names_ = 0;
  std::uint32_t names_of_[NDN_NAMES_COMPONENTS + 1] = {};  ///< by their number of components
  std::uint32_t usual_ = 0, longest_ = 0;                  ///< numbers of components: the most frequent, the largest
};

}  // namespace penumbra::ndn
