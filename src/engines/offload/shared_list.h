// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "offload/device_owner.h"
#include "offload/payload.h"
#include "penumbra/batch.h"
#include "penumbra/huge_memory.h"

namespace penumbra::offload {

/// Holds the memory that the user of a queue shares with the queue's device (EngineQueue::share()).
class SharedList {
 public:
  /// `own` is memory that the queue always shares. `owner` and `own` must outlive the list.
  SharedList(DeviceOwner& owner, SharedRange& own) : owner_(owner), own_(own) {}
  SharedList(const SharedList&) = delete;
  SharedList& operator=(const SharedList&) = delete;
  ~SharedList() {
    for (const auto& range : ranges_) owner_.unshare(*range);
  }

  void add(std::shared_ptr<const HugeMemory> memory) { ranges_.push_back(owner_.share(std::move(memory))); }
  /// Removes memory that add() was called with, if it is there.
  void remove(const HugeMemory& memory) {
    const auto is_it = [&memory](const auto& each) { return each->host.get() == &memory; };
    const auto known = std::ranges::find_if(ranges_, is_it);
    if (known == ranges_.end()) return;
    owner_.unshare(**known);
    ranges_.erase(known);
  }

  /// Returns the memory that the device can access and that holds all items, or null. If the device sees all memory,
  /// any shared memory stands for it.
  SharedRange* range_of(const PayloadItems& items) const noexcept {
    if (own_.reaches_all()) return &own_;
    return first_with([&](const SharedRange& range) { return lie_in(items, *range.host); });
  }
  /// Returns the memory that the device can access and that holds all columns, or null. There must be a column.
  template <class Column>
  SharedRange* range_of(const std::array<Column*, kMaxColumns>& columns, const std::vector<std::size_t>& element_bytes,
                        std::uint32_t items) const noexcept {
    return first_with([&](const SharedRange& range) {
      bool has_all = true;
      for (std::size_t i = 0; i < element_bytes.size(); ++i) {
        has_all = has_all && range.has(static_cast<const std::byte*>(columns[i]), element_bytes[i] * items);
      }
      return has_all;
    });
  }

 private:
  template <class Holds>
  SharedRange* first_with(const Holds& holds) const noexcept {
    for (const auto& range : ranges_) {
      if (range->is_reached() && holds(*range)) return range.get();
    }
    return nullptr;
  }

  DeviceOwner& owner_;
  SharedRange& own_;
  std::vector<std::shared_ptr<SharedRange>> ranges_;
};

}  // namespace penumbra::offload
