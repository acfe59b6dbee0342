// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "functions/forwarding/structure_memory.h"
#include "penumbra/prefetch.h"
#include "tables/dir24_8/dir24_8.h"
#include "tables/dir24_8/dir24_8.shader.h"
#include "tables/ipv4_runs/ipv4_runs.h"
#include "tables/ipv4_runs/ipv4_runs.shader.h"

namespace penumbra::ipv4 {

/// Implements the table of Fib for IPv4: a Dir24_8 and, if `runs` is set, its compact copy for CPU cores. Lookups read
/// the copy if there is one.
class LookupTable {
 public:
  using Entry = Dir24_8::Entry;
  static constexpr std::uint16_t kNoRoute = Dir24_8::kNoRoute;

  LookupTable(GracePeriods& grace_periods, bool runs)
      : prefixes_(std::make_unique<Dir24_8>(grace_periods)),
        runs_(runs ? std::make_unique<Ipv4Runs>(prefixes_->table(), grace_periods) : nullptr) {}

  // These functions behave as those of Dir24_8.
  bool insert(Ipv4Prefix prefix, std::uint16_t next_hop) { return prefixes_->insert(prefix, next_hop); }
  bool remove(Ipv4Prefix prefix) { return prefixes_->remove(prefix); }
  void load(std::span<const Entry> entries) { prefixes_->load(entries); }
  void commit() { prefixes_->commit(); }
  std::optional<std::uint16_t> find(Ipv4Prefix prefix) const { return prefixes_->find(prefix); }
  std::optional<Entry> match(Ipv4Address address) const { return prefixes_->match(address); }
  void for_each(const std::function<void(const Entry&)>& visit) const { prefixes_->for_each(visit); }
  std::size_t size() const { return prefixes_->size(); }
  Table& table() { return runs_ == nullptr ? prefixes_->table() : runs_->table(); }

  /// Returns the memory of the Dir24_8, and the additional memory of the copy.
  std::vector<forwarding::StructureMemory> memory() const {
    std::vector<forwarding::StructureMemory> memory{{prefixes_->table().name(), size(), prefixes_->memory_bytes()}};
    if (runs_ != nullptr) memory.push_back({runs_->table().name(), size(), runs_->memory_bytes()});
    return memory;
  }

 private:
  std::unique_ptr<Dir24_8> prefixes_;
  std::unique_ptr<Ipv4Runs> runs_;
};

/// Prefetches the first cache line that a look-up reads. Valid as long as the table's view at construction is valid.
class Ahead {
 public:
  Ahead(const Table& table, bool runs) {
    if (runs) {
      first_ = reinterpret_cast<const std::byte*>(static_cast<const ipv4_runs_view*>(table.view())->root);
      shift_ = IPV4_RUNS_ROOT_SHIFT;
      bytes_ = sizeof(std::uint32_t);
    } else {
      first_ = reinterpret_cast<const std::byte*>(static_cast<const dir24_8_view*>(table.view())->tbl24);
    }
  }
  void fetch(Ipv4Address address) const { prefetch_line(first_ + (address.value >> shift_) * bytes_); }

 private:
  const std::byte* first_;
  unsigned shift_ = 8;
  std::size_t bytes_ = sizeof(std::uint16_t);
};

}  // namespace penumbra::ipv4
