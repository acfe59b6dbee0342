// SPDX-License-Identifier: Apache-2.0
#include "ipv4_runs.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "ipv4_runs.shader.h"
#include "penumbra/huge_memory.h"
#include "penumbra/table_changes.h"
#include "run_values.h"
#include "tables/blocks/blocks.h"
#include "tables/dir24_8/dir24_8.h"

namespace penumbra {
namespace {

constexpr unsigned kSlash24sOfANode = 1U << (IPV4_RUNS_NODE_SHIFT - 8);
constexpr std::size_t kTbl24Region = 0, kTbl8Region = 1;  // regions of the followed table
constexpr std::size_t kRootRegion = 0, kNodesRegion = 1, kValuesRegion = 2, kGroupsRegion = 3;  // regions of the copy
constexpr std::size_t kSlash24sOfASlot = std::size_t{kSlash24sOfANode} * IPV4_RUNS_NODES_OF_A_LINE;
/// Each /16 has at most one line, and one change frees at most one line per /16.
constexpr std::size_t kMostLines = std::size_t{2} * IPV4_RUNS_ROOT_ELEMENTS;
static_assert(kMostLines % (std::size_t{1} << Blocks::kMostOrder) == 0);
static_assert(kSlash24sOfANode == RunValues::kMostRuns &&
              std::size_t{IPV4_RUNS_ROOT_ELEMENTS} * IPV4_RUNS_NODES_OF_A_LINE == RunValues::kOwners);

/// The runs among the /24s of a node.
struct Runs {
  explicit Runs(const std::uint16_t* entries) {
    for (unsigned k = 0; k < kSlash24sOfANode; ++k) {
      if (k != 0 && entries[k] == entries[k - 1]) continue;
      starts |= 1U << k;
      values[count++] = entries[k];
    }
  }
  std::uint32_t starts = 0;
  unsigned count = 0;
  std::array<std::uint16_t, kSlash24sOfANode> values;  ///< the first `count` are set
  std::span<const std::uint16_t> all() const { return std::span(values).first(count); }
};

std::uint32_t starts_of(std::uint64_t node) {
  return static_cast<std::uint32_t>(node);
}
/// Returns the index of the value of a node's first run.
std::uint32_t first_of(std::uint64_t node) {
  return static_cast<std::uint32_t>(node >> 32) + 1;
}
std::uint64_t node_of(std::uint32_t starts, std::uint32_t first) {
  return std::uint64_t{first - 1} << 32 | starts;
}

/// Returns true if all /24s of a /16 have the same entry. The entry is then no group, because a group belongs to one
/// /24.
bool is_constant(const std::uint16_t* entries) {
  return std::memcmp(entries, entries + 1, (kSlash24sOfASlot - 1) * sizeof *entries) == 0;
}

}  // namespace

/// A copy of one version of the table. A slot is a /16.
class Ipv4Runs::Version {
 public:
  Version(const dir24_8_view& followed, std::size_t tbl8_bytes, GracePeriods& grace_periods)
      : tbl24_(followed.tbl24),
        tbl8_(followed.tbl8),
        tbl8_bytes_(tbl8_bytes),
        grace_periods_(grace_periods),
        lines_(grace_periods, 0, kMostLines),
        values_(grace_periods, kValuesRegion) {
    for (std::size_t slot = 0; slot < IPV4_RUNS_ROOT_ELEMENTS; ++slot) {
      rewrite(slot, slot * kSlash24sOfASlot, (slot + 1) * kSlash24sOfASlot);
    }
  }

  void publish_to(Table& table) {
    table_ = &table;
    values_.announce_to(table);
    const auto region = [](std::size_t pointer_offset, const void* data, std::size_t bytes) {
      return TableRegion{pointer_offset, static_cast<const std::byte*>(data), bytes};
    };
    table.publish(view_, {region(offsetof(ipv4_runs_view, root), root_.data(), root_.bytes()),
                          region(offsetof(ipv4_runs_view, nodes), nodes_.data(), nodes_.bytes()),
                          region(offsetof(ipv4_runs_view, values), values_.data(), values_.bytes()),
                          region(offsetof(ipv4_runs_view, tbl8), tbl8_, tbl8_bytes_)});
  }

  /// Updates the copy after elements [begin, end) of tbl24 were rewritten.
  void follow(std::size_t begin, std::size_t end) {
    for (std::size_t slot = begin / kSlash24sOfASlot; slot * kSlash24sOfASlot < end; ++slot) rewrite(slot, begin, end);
    values_.start_grace_period();
    retire_lines();
    // Some changes may have been announced earlier; a mirror shows its copy only after the commit.
    values_.flush();
    node_changes_.flush(*table_);
    root_changes_.flush(*table_);
  }

  std::size_t memory_bytes() const {
    return root_.bytes() + lines_in_use_ * IPV4_RUNS_NODES_OF_A_LINE * sizeof(std::uint64_t) + values_.used_bytes();
  }

 private:
  /// Updates a slot after elements [begin, end) of the table were rewritten.
  void rewrite(std::size_t slot, std::size_t begin, std::size_t end) {
    const std::size_t first = slot * kSlash24sOfASlot;
    const std::uint32_t before = root_[slot];
    if (is_constant(tbl24_ + first)) {
      exchange(slot, tbl24_[first]);
      if (before >= IPV4_RUNS_LINES) give_back(before - IPV4_RUNS_LINES);
    } else if (before < IPV4_RUNS_LINES) {
      const std::uint32_t line = lines_.take(0).first;
      ++lines_in_use_;
      for (std::size_t i = 0; i < IPV4_RUNS_NODES_OF_A_LINE; ++i) {
        const Runs runs(tbl24_ + first + i * kSlash24sOfANode);
        put(std::size_t{line} * IPV4_RUNS_NODES_OF_A_LINE + i, node_of(runs.starts, values_.place(runs.all())));
      }
      exchange(slot, IPV4_RUNS_LINES + line);
    } else {
      const std::size_t node = std::size_t{before - IPV4_RUNS_LINES} * IPV4_RUNS_NODES_OF_A_LINE;
      for (std::size_t i = 0; i < IPV4_RUNS_NODES_OF_A_LINE; ++i) {
        const std::size_t from = first + i * kSlash24sOfANode;
        if (from < end && from + kSlash24sOfANode > begin) rewrite_node(node + i, tbl24_ + from);
      }
    }
  }

  void rewrite_node(std::size_t number, const std::uint16_t* entries) {
    const Runs runs(entries);
    const std::uint64_t before = nodes_[number];
    if (starts_of(before) == runs.starts && runs.count > 1) {
      values_.write(first_of(before), runs.all());
      return;
    }
    const std::uint64_t after = node_of(runs.starts, values_.place(runs.all()));
    if (after == before) return;
    put(number, after);
    retire_values(before);
  }

  /// Stores with release, so that a reader that sees an element also sees the memory that it refers to. put() does the
  /// same.
  void exchange(std::size_t slot, std::uint32_t element) {
    if (root_[slot] == element) return;
    std::atomic_ref(root_[slot]).store(element, std::memory_order_release);
    if (table_ != nullptr) root_changes_.add(*table_, slot);
  }
  void put(std::size_t number, std::uint64_t node) {
    std::atomic_ref(nodes_[number]).store(node, std::memory_order_release);
    if (table_ != nullptr) node_changes_.add(*table_, number);
  }

  void retire_values(std::uint64_t node) {
    values_.retire(first_of(node), static_cast<unsigned>(std::popcount(starts_of(node))));
  }
  void give_back(std::uint32_t line) {
    for (std::size_t i = 0; i < IPV4_RUNS_NODES_OF_A_LINE; ++i) {
      retire_values(nodes_[std::size_t{line} * IPV4_RUNS_NODES_OF_A_LINE + i]);
    }
    retiring_.push_back(line);
    --lines_in_use_;
  }
  void retire_lines() {
    if (retiring_.empty()) return;
    const std::uint64_t token = grace_periods_.start();
    for (const std::uint32_t line : retiring_) lines_.retire({line, 0}, token);
    retiring_.clear();
  }

  const std::uint16_t* tbl24_;
  const std::uint16_t* tbl8_;
  std::size_t tbl8_bytes_;
  GracePeriods& grace_periods_;
  HugeArray<std::uint32_t> root_{IPV4_RUNS_ROOT_ELEMENTS};
  HugeArray<std::uint64_t> nodes_{kMostLines * IPV4_RUNS_NODES_OF_A_LINE};
  Blocks lines_;
  std::size_t lines_in_use_ = 0;
  std::vector<std::uint32_t> retiring_;  ///< lines that the current change has unlinked
  RunValues values_;
  const ipv4_runs_view view_{root_.data(), nodes_.data(), values_.data(), tbl8_};
  TableChanges<std::uint32_t> root_changes_{kRootRegion};
  TableChanges<std::uint64_t> node_changes_{kNodesRegion};
  Table* table_ = nullptr;
};

Ipv4Runs::Ipv4Runs(Table& dir24_8, GracePeriods& grace_periods) : followed_(dir24_8), grace_periods_(grace_periods) {
  followed_.attach(*this);
}

Ipv4Runs::~Ipv4Runs() {
  followed_.detach(*this);
}

void Ipv4Runs::published(std::span<const std::byte> view, std::span<const TableRegion> regions) {
  dir24_8_view followed;
  std::memcpy(&followed, view.data(), sizeof followed);
  auto next = std::make_unique<Version>(followed, regions[kTbl8Region].bytes, grace_periods_);
  next->publish_to(table_);
  const std::unique_ptr<Version> old = std::exchange(version_, std::move(next));
  if (old != nullptr) grace_periods_.elapsed(grace_periods_.start(), true);
}

void Ipv4Runs::changed(std::size_t region, std::size_t offset, std::size_t bytes) {
  if (region == kTbl8Region) {
    table_.changed(kGroupsRegion, offset, bytes);
  } else {
    version_->follow(offset / sizeof(std::uint16_t), (offset + bytes) / sizeof(std::uint16_t));
  }
}

std::size_t Ipv4Runs::memory_bytes() const {
  return version_->memory_bytes();
}

}  // namespace penumbra
