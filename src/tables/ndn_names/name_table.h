// SPDX-License-Identifier: Apache-2.0
//
// The owner of a table of names with next hops (the FIB of NDN), which the shader `ndn_names` (ndn_names.shader.h)
// searches.
//
// Every prefix of a name, down to one component, is a node. A node has its parent and the bytes of a name that begins
// with the prefix. The node has a next hop if the prefix is a name of the table. Digests of 55 bits lead readers to
// nodes, and next_hop() compares the bytes. A prefix with the digest of another name (one probe in billions) is
// detected, and the search continues among shorter prefixes. The table thus never confuses two names.
//
// If two prefixes of the table have the same digest, the table refuses the second. With 20 million prefixes and a
// random key, this happens in one table of 180, and to one insertion in two billion. Another key then helps.
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

/// Two prefixes have the same digest with a table's key.
class DigestTaken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Names are components as in the Name of a packet, without its type and length. The empty name is a prefix of all
/// names. One thread calls all functions except those for readers. Lookups go through table() and an engine, then
/// through next_hop(), on any thread. Such a thread becomes quiescent only after both. A change that throws leaves the
/// content as it was.
///
/// A lookup during several changes may see one change and miss another. The lookup finds a name that was present at
/// some moment of the lookup. That name is never shorter than a matching name that was present all the time.
class NameTable {
 public:
  static constexpr std::uint16_t kNoRoute = 0xFFFF;
  static constexpr std::uint32_t kMostComponents = NDN_NAMES_COMPONENTS;
  static constexpr std::size_t kMostPrefixes = (std::size_t{1} << NDN_NAMES_NODE_BITS) - 2;

  /// Makes and publishes an empty table. `grace_periods` must outlive the table. Tests of collisions use fewer
  /// `digest_bits`, at least 20.
  NameTable(NameKey key, GracePeriods& grace_periods, unsigned digest_bits = NDN_NAMES_DIGEST_BITS);

  /// Adds a name or replaces its next hop, which must be below kNoRoute. Returns true if the name is new. Takes effect
  /// like a change of CuckooTable. Throws std::invalid_argument for an invalid name, or one of more than
  /// kMostComponents components or NameBytes::kMost bytes. Throws std::length_error if the table is full, and
  /// DigestTaken if two digests collide.
  bool insert(Bytes name, std::uint16_t next_hop);
  /// Removes a name. Returns true if it was present.
  bool remove(Bytes name);
  /// Grows until `prefixes` prefixes fit. Waits for a grace period if the table grows.
  void reserve(std::size_t prefixes) { prefixes_.reserve(prefixes); }
  /// Marks the end of a group of changes. Must follow insert() and remove().
  void commit();

  /// Returns the next hop of exactly this name.
  std::optional<std::uint16_t> find(Bytes name) const;
  /// Calls `visit` for each name, in no particular order.
  void for_each(const std::function<void(Bytes name, std::uint16_t next_hop)>& visit) const;
  std::size_t size() const { return names_; }                ///< number of names
  std::size_t prefixes() const { return prefixes_.size(); }  ///< number of prefixes with at least one component
  std::size_t memory_bytes() const;

  /// Returns the table that engines read.
  Table& table() { return prefixes_.table(); }

  // The following functions are for readers, on any thread.

  /// Fills in the shader's key of a name whose components are valid.
  void fill(Bytes name, ndn_names_key& key) const noexcept;
  /// Prefetches the bucket that the shader reads first for a key. For engines on host memory.
  void prefetch(const ndn_names_key& key) const noexcept;
  /// Prefetch the memory that next_hop() reads: first the node, and later the bytes to which the node points.
  void prefetch_node(std::uint32_t found) const noexcept { prefetch_line(&nodes_[node_of(found)]); }
  void prefetch_bytes(std::uint32_t found) const noexcept { prefetch_line(nodes_[node_of(found)].bytes); }
  /// Returns the next hop of the longest prefix of a name, or kNoRoute. `found` is the shader's result.
  std::uint16_t next_hop(std::uint32_t found, Bytes name) const noexcept;

 private:
  /// A node as workers read it. Only the next hop may change; all other fields are written before a digest leads to the
  /// node.
  struct Node {
    const std::uint8_t* bytes;  ///< of a name that begins with the prefix
    std::uint32_t parent;
    std::uint16_t length;  ///< of the prefix, bytes
    std::uint16_t inverted_next_hop;
  };
  static constexpr std::uint32_t kRoot = 1;

  /// The nodes and digests of a name's prefixes.
  struct Path {
    ndn_names_key key;
    std::uint32_t nodes[NDN_NAMES_COMPONENTS + 1];  ///< nodes of the present prefixes
    std::uint32_t there = 0;                        ///< components of the longest present prefix
    std::uint16_t ends[NDN_NAMES_COMPONENTS + 1];   ///< ends of the prefixes, byte offsets
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
  const Table& read_;                  ///< table of `prefixes_` for readers
  HugeArray<Node> nodes_;              ///< element 0 is unused
  HugeArray<std::uint32_t> children_;  ///< number of children, by node
  std::uint32_t used_nodes_ = kRoot + 1;
  std::vector<std::uint32_t> free_nodes_;
  std::vector<std::uint32_t> just_gone_;  ///< nodes removed since the last commit
  std::deque<Gone> gone_;                 ///< removed nodes that readers may still access
  NameBytes bytes_;
  std::size_t names_ = 0;
  std::uint32_t names_of_[NDN_NAMES_COMPONENTS + 1] = {};  ///< number of names by number of components
  /// Numbers of components: the most frequent and the largest.
  std::uint32_t usual_ = 0, longest_ = 0;
};

}  // namespace penumbra::ndn
