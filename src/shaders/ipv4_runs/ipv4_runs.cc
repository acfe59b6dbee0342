// SPDX-License-Identifier: Apache-2.0
#include "ipv4_runs.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

#include "ipv4_runs.shader.h"
#include "penumbra/huge_memory.h"
#include "penumbra/table_changes.h"
#include "run_values.h"
#include "shaders/dir24_8/dir24_8.h"

namespace penumbra {
namespace {

constexpr unsigned kSlash24sOfANode = 1U << (IPV4_RUNS_NODE_SHIFT - 8);
constexpr std::size_t kTbl24Region = 0, kTbl8Region = 1;                       // of the table that is followed
constexpr std::size_t kNodesRegion = 0, kValuesRegion = 1, kGroupsRegion = 2;  // of the copy
static_assert(kSlash24sOfANode == RunValues::kMostRuns && IPV4_RUNS_NODES == RunValues::kOwners);

/// The runs of a node's /24s.
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
/// Where the first run's value is.
std::uint32_t first_of(std::uint64_t node) {
  return static_cast<std::uint32_t>(node >> 32) + 1;
}
std::uint64_t node_of(std::uint32_t starts, std::uint32_t first) {
  return std::uint64_t{first - 1} << 32 | starts;
}

}  // namespace

/// A copy of one version of the table.
class Ipv4Runs::Version {
 public:
  Version(const dir24_8_view& followed, std::size_t tbl8_bytes, GracePeriods& grace_periods)
      : tbl24_(followed.tbl24), tbl8_(followed.tbl8), tbl8_bytes_(tbl8_bytes), values_(grace_periods, kValuesRegion) {
    for (std::size_t node = 0; node < IPV4_RUNS_NODES; ++node) rewrite(node);
  }

  void publish_to(Table& table) {
    table_ = &table;
    values_.announce_to(table);
    const auto region = [](std::size_t pointer_offset, const void* data, std::size_t bytes) {
      return TableRegion{pointer_offset, static_cast<const std::byte*>(data), bytes};
    };
    table.publish(view_, {region(offsetof(ipv4_runs_view, nodes), nodes_.data(), nodes_.bytes()),
                          region(offsetof(ipv4_runs_view, values), values_.data(), values_.bytes()),
                          region(offsetof(ipv4_runs_view, tbl8), tbl8_, tbl8_bytes_)});
  }

  /// Elements [begin, end) of tbl24 have been rewritten.
  void follow(std::size_t begin, std::size_t end) {
    for (std::size_t node = begin / kSlash24sOfANode; node * kSlash24sOfANode < end; ++node) rewrite(node);
    values_.start_grace_period();
    values_.flush();  // before what leads there, for a mirror that copies at once
    node_changes_.flush(*table_);
  }

  std::size_t memory_bytes() const { return nodes_.bytes() + values_.used_bytes(); }

 private:
  /// Brings a node in line with the table.
  void rewrite(std::size_t number) {
    const Runs runs(tbl24_ + number * kSlash24sOfANode);
    const std::uint64_t node = nodes_[number];
    if (starts_of(node) == runs.starts && runs.count > 1) {
      values_.write(first_of(node), runs.all());
      return;
    }
    const std::uint32_t first = values_.place(runs.all());
    const std::uint64_t after = node_of(runs.starts, first);
    if (after == node) return;
    std::atomic_ref(nodes_[number]).store(after, std::memory_order_release);
    if (table_ == nullptr) return;
    node_changes_.add(*table_, number);
    values_.retire(first_of(node), static_cast<unsigned>(std::popcount(starts_of(node))));
  }

  const std::uint16_t* tbl24_;
  const std::uint16_t* tbl8_;
  std::size_t tbl8_bytes_;
  HugeArray<std::uint64_t> nodes_{IPV4_RUNS_NODES};
  RunValues values_;
  const ipv4_runs_view view_{nodes_.data(), values_.data(), tbl8_};
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
