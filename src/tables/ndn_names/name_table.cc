// SPDX-License-Identifier: Apache-2.0
#include "name_table.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

namespace penumbra::ndn {
namespace {

constexpr unsigned kValueBits = NDN_NAMES_NODE_BITS + 1;

/// Returns the value of a node in the cuckoo table.
constexpr std::uint32_t value_of(std::uint32_t node, bool has_children) {
  return node << 1 | (has_children ? 1 : 0);
}

std::uint16_t load_relaxed(const std::uint16_t& value) {
  return std::atomic_ref(const_cast<std::uint16_t&>(value)).load(std::memory_order_relaxed);
}
std::uint32_t load_relaxed(const std::uint32_t& value) {
  return std::atomic_ref(const_cast<std::uint32_t&>(value)).load(std::memory_order_relaxed);
}

}  // namespace

NameTable::NameTable(NameKey key, GracePeriods& grace_periods, unsigned digest_bits)
    : digests_{key, digest_bits},
      grace_periods_(grace_periods),
      prefixes_("ndn_names", {digest_bits, kValueBits, kMostPrefixes}, 0, grace_periods),
      read_(prefixes_.table()),
      nodes_(kMostPrefixes + 2),
      children_(kMostPrefixes + 2) {}

bool NameTable::insert(Bytes name, std::uint16_t next_hop) {
  if (next_hop == kNoRoute) throw std::invalid_argument("a next hop is below 65535");
  Path path = path_of(name);
  require_own_digests(path);
  const std::uint32_t components = path.key.components;
  const bool is_new = path.there < components || next_hop_of(path.nodes[components]) == kNoRoute;
  if (path.there == components) {
    set_next_hop(path.nodes[components], next_hop);
  } else {
    add_nodes(path, name, next_hop);
  }
  if (is_new) count_name(components, true);
  return is_new;
}

bool NameTable::remove(Bytes name) {
  const Path path = path_of(name);
  const std::uint32_t components = path.key.components;
  if (path.there < components || next_hop_of(path.nodes[components]) == kNoRoute) return false;
  set_next_hop(path.nodes[components], kNoRoute);
  remove_unused(path, components);
  count_name(components, false);
  return true;
}

void NameTable::commit() {
  prefixes_.commit();
  if (just_gone_.empty()) return;
  const std::uint64_t token = grace_periods_.start();
  for (const std::uint32_t node : just_gone_) gone_.push_back({token, node});
  just_gone_.clear();
}

std::optional<std::uint16_t> NameTable::find(Bytes name) const {
  const Path path = path_of(name);
  if (path.there < path.key.components) return std::nullopt;
  const std::uint16_t next_hop = next_hop_of(path.nodes[path.there]);
  return next_hop == kNoRoute ? std::nullopt : std::optional(next_hop);
}

void NameTable::for_each(const std::function<void(Bytes name, std::uint16_t next_hop)>& visit) const {
  for (std::uint32_t node = kRoot; node < used_nodes_; ++node) {
    const std::uint16_t next_hop = next_hop_of(node);
    if (next_hop != kNoRoute) visit({nodes_[node].bytes, nodes_[node].length}, next_hop);
  }
}

std::size_t NameTable::memory_bytes() const {
  return prefixes_.memory_bytes() + bytes_.memory_bytes() + used_nodes_ * (sizeof(Node) + sizeof(std::uint32_t));
}

void NameTable::fill(Bytes name, ndn_names_key& key) const noexcept {
  digests_.fill(name, load_relaxed(longest_), key);
  key.first = std::clamp<std::uint32_t>(load_relaxed(usual_), 1, std::max<std::uint32_t>(key.components, 1));
}

void NameTable::prefetch(const ndn_names_key& key) const noexcept {
  if (key.components == 0) return;
  const auto* const view = static_cast<const cuckoo_table_view*>(read_.view());
  prefetch_line(&view->bucket[key.digest[key.first - 1] & ((std::uint64_t{1} << view->bits) - 1)]);
}

std::uint16_t NameTable::next_hop(std::uint32_t found, Bytes name) const noexcept {
  while (!begins_like(nodes_[node_of(found)], name)) [[unlikely]] {
    // The digest belongs to another prefix, so the name's prefix of this length is absent, and so are longer ones. The
    // search continues among shorter prefixes.
    ndn_names_key key;
    digests_.fill(name, (found >> NDN_NAMES_NODE_BITS) - 1, key);
    key.first = std::max<std::uint32_t>(key.components, 1);
    const auto* const view = static_cast<const cuckoo_table_view*>(read_.view());
    ndn_names_lookup(*view, &key, &found, 1);
  }
  std::uint32_t node = node_of(found);
  std::uint16_t next_hop = next_hop_of(node);
  while (next_hop == kNoRoute && node != kRoot) {
    node = nodes_[node].parent;
    next_hop = next_hop_of(node);
  }
  return next_hop;
}

/// The encoding of a component includes its length, so equal leading bytes mean equal leading components.
bool NameTable::begins_like(const Node& node, Bytes name) const noexcept {
  if (node.length == 0) return true;
  return node.length <= name.size() && std::memcmp(node.bytes, name.data(), node.length) == 0;
}

std::uint16_t NameTable::next_hop_of(std::uint32_t node) const noexcept {
  return static_cast<std::uint16_t>(~load_relaxed(nodes_[node].inverted_next_hop));
}

void NameTable::set_next_hop(std::uint32_t node, std::uint16_t next_hop) {
  std::atomic_ref(nodes_[node].inverted_next_hop)
      .store(static_cast<std::uint16_t>(~next_hop), std::memory_order_relaxed);
}

/// Throws std::invalid_argument for an invalid name, like insert().
NameTable::Path NameTable::path_of(Bytes name) const {
  Path path;
  NameHash hash(digests_.key);
  std::uint32_t components = 0;
  path.nodes[0] = kRoot;
  path.ends[0] = 0;
  for (Bytes rest = name; !rest.empty();) {
    Element component;
    if (!take_component(rest, component)) throw std::invalid_argument("this is no name");
    if (components == kMostComponents || name.size() > NameBytes::kMost) {
      throw std::invalid_argument("a name in the table has at most " + std::to_string(kMostComponents) +
                                  " components and " + std::to_string(NameBytes::kMost) + " bytes");
    }
    hash.add(component);
    path.key.digest[components++] = digests_.cut(hash.digest());
    path.ends[components] = static_cast<std::uint16_t>(name.size() - rest.size());
  }
  path.key.components = components;
  for (std::uint32_t i = 1; i <= components; ++i) {
    const std::uint32_t value = prefixes_.find(path.key.digest[i - 1]);
    if (value == CUCKOO_TABLE_NOT_FOUND) break;
    const Node& node = nodes_[value >> 1];
    if (node.length != path.ends[i] || !begins_like(node, name)) break;
    path.there = i;
    path.nodes[i] = value >> 1;
  }
  return path;
}

/// Throws DigestTaken if a missing prefix has the digest of a present prefix or of a shorter prefix of the name.
void NameTable::require_own_digests(const Path& path) const {
  const std::uint64_t* const digests = path.key.digest;
  for (std::uint32_t i = path.there; i < path.key.components; ++i) {
    if (prefixes_.find(digests[i]) == CUCKOO_TABLE_NOT_FOUND &&
        std::find(digests, digests + i, digests[i]) == digests + i)
      continue;
    throw DigestTaken("another name has the same digest as this one: another key would help");
  }
}

/// Adds the missing prefixes, shortest first. A longer prefix is never present without the shorter ones.
void NameTable::add_nodes(Path& path, Bytes name, std::uint16_t next_hop) {
  const std::uint32_t before = path.there, components = path.key.components;
  reclaim();
  if (prefixes_.size() + components - before > kMostPrefixes) {
    throw std::length_error("the table of names is full: its limit is " + std::to_string(kMostPrefixes) + " prefixes");
  }
  const std::uint8_t* const bytes = bytes_.take(name.data(), name.size(), components - before);
  // The flag is set before longer prefixes are added. A reader that still sees the old value sees the table before the
  // change.
  if (before > 0) prefixes_.insert(path.key.digest[before - 1], value_of(path.nodes[before], true));
  for (std::uint32_t i = before + 1; i <= components; ++i) {
    const std::uint32_t node = take_node(), parent = path.nodes[i - 1];
    path.nodes[i] = node;
    nodes_[node] = {bytes, parent, path.ends[i], 0};
    if (i == components) set_next_hop(node, next_hop);
    ++children_[parent];
    path.there = i;
    try {
      prefixes_.insert(path.key.digest[i - 1], value_of(node, i < components));
    } catch (...) {
      for (std::uint32_t user = i; user < components; ++user) bytes_.release(bytes);
      set_next_hop(node, kNoRoute);
      remove_unused(path, i);
      throw;
    }
  }
}

/// Removes prefixes that are neither names nor prefixes of names, longest first.
void NameTable::remove_unused(const Path& path, std::uint32_t components) {
  std::uint32_t i = components;
  for (; i > 0 && children_[path.nodes[i]] == 0 && next_hop_of(path.nodes[i]) == kNoRoute; --i) {
    prefixes_.remove(path.key.digest[i - 1]);
    just_gone_.push_back(path.nodes[i]);
    --children_[path.nodes[i - 1]];
  }
  if (i > 0 && children_[path.nodes[i]] == 0) prefixes_.insert(path.key.digest[i - 1], value_of(path.nodes[i], false));
}

std::uint32_t NameTable::take_node() {
  if (free_nodes_.empty() && used_nodes_ == nodes_.size()) {
    // All unused nodes may still have readers, so the call waits for them.
    commit();
    if (!gone_.empty()) grace_periods_.elapsed(gone_.back().token, true);
    reclaim();
  }
  if (free_nodes_.empty()) return used_nodes_++;
  const std::uint32_t node = free_nodes_.back();
  free_nodes_.pop_back();
  return node;
}

/// Frees nodes that no reader can hold any more.
void NameTable::reclaim() {
  while (!gone_.empty() && grace_periods_.elapsed(gone_.front().token, false)) {
    const std::uint32_t node = gone_.front().node;
    bytes_.release(nodes_[node].bytes);
    free_nodes_.push_back(node);
    gone_.pop_front();
  }
}

/// Updates the number of components with which a search begins, and the maximum number that a search needs.
void NameTable::count_name(std::uint32_t components, bool there) {
  names_of_[components] += there ? 1 : ~0U;
  names_ += there ? 1 : ~std::size_t{0};
  std::uint32_t usual = usual_, longest = longest_;
  if (names_of_[components] > names_of_[usual]) usual = components;
  if (there) longest = std::max(longest, components);
  if (!there && components == usual) {
    usual = static_cast<std::uint32_t>(std::ranges::max_element(names_of_) - std::begin(names_of_));
  }
  while (longest > 0 && names_of_[longest] == 0) --longest;
  std::atomic_ref(usual_).store(usual, std::memory_order_relaxed);
  std::atomic_ref(longest_).store(longest, std::memory_order_relaxed);
}

}  // namespace penumbra::ndn
