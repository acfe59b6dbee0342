// SPDX-License-Identifier: Apache-2.0
#include "penumbra/table.h"

#include <algorithm>
#include <bit>

namespace penumbra {

Table::Table(std::string name, Content content) : name_(std::move(name)), content_(content) {}

void Table::attach(TableMirror& mirror) {
  const std::lock_guard lock(mirrors_mutex_);
  mirrors_.push_back(&mirror);
  mirrored_.store(true, std::memory_order_relaxed);
  if (view() != nullptr) mirror.published({static_cast<const std::byte*>(view()), view_bytes()}, regions_);
}

void Table::detach(TableMirror& mirror) {
  const std::lock_guard lock(mirrors_mutex_);
  std::erase(mirrors_, &mirror);
  mirrored_.store(!mirrors_.empty(), std::memory_order_relaxed);
}

void Table::publish_bytes(const void* view, std::size_t bytes, std::vector<TableRegion> regions) {
  regions_ = std::move(regions);
  std::size_t reached = 0;
  for (const TableRegion& region : regions_) reached += region.bytes;
  size_class_.store(static_cast<unsigned>(std::bit_width(reached)), std::memory_order_relaxed);
  view_bytes_.store(bytes, std::memory_order_release);
  view_.store(view, std::memory_order_release);
  const std::lock_guard lock(mirrors_mutex_);
  for (auto* mirror : mirrors_) mirror->published({static_cast<const std::byte*>(view), bytes}, regions_);
}

void Table::announce_change(std::size_t region, std::size_t offset, std::size_t bytes) {
  const std::lock_guard lock(mirrors_mutex_);
  for (auto* mirror : mirrors_) mirror->changed(region, offset, bytes);
}

void Table::announce_commit() {
  const std::lock_guard lock(mirrors_mutex_);
  for (auto* mirror : mirrors_) mirror->committed();
}

}  // namespace penumbra
