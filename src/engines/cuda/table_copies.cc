// SPDX-License-Identifier: Apache-2.0
#include "cuda/table_copies.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "crypto/secret_memory.h"

namespace penumbra::cuda {
namespace {

constexpr std::size_t kGap = 256;        ///< Smaller gaps between ranges are copied too.
constexpr std::size_t kCopyCosts = 512;  ///< Cost of a copy in bytes; it limits the number of copies in a step.

/// Keeps secrets in the memory out of swap and of core dumps. The limit of locked memory may forbid the first.
void hide(const HugeMemory& memory) {
  if (memory.bytes() == 0) return;
  mlock(memory.data(), memory.bytes());
  madvise(memory.data(), memory.bytes(), MADV_DONTDUMP);
}

void erase(const HugeMemory& memory) {
  if (memory.bytes() > 0) erase_bytes(memory.data(), memory.bytes());
}

}  // namespace

void TableCopies::Ranges::add(const Range& range) {
  if (range.begin == range.end) return;
  ranges_.push_back(range);
  weight_ += weight(range);
}

void TableCopies::Ranges::clear() {
  ranges_.clear();
  weight_ = 0;
}

void TableCopies::Ranges::join() {
  std::ranges::sort(ranges_, [](const Range& a, const Range& b) {
    return a.region != b.region ? a.region < b.region : a.begin < b.begin;
  });
  std::vector<Range> joined;
  for (const Range& each : ranges_) {
    if (!joined.empty() && joined.back().region == each.region && each.begin <= joined.back().end + kGap) {
      joined.back().end = std::max(joined.back().end, each.end);
    } else {
      joined.push_back(each);
    }
  }
  clear();
  for (const Range& each : joined) add(each);
}

TableCopies::Range TableCopies::Ranges::take(std::size_t most) {
  Range& last = ranges_.back();
  weight_ -= weight(last);
  Range taken = last;
  taken.begin = taken.end - std::min(taken.end - taken.begin, most);
  last.end = taken.begin;
  if (last.begin == last.end) {
    ranges_.pop_back();
  } else {
    weight_ += weight(last);
  }
  return taken;
}

std::size_t TableCopies::Ranges::weight(const Range& range) {
  return padded(range.end - range.begin) + kCopyCosts;
}

TableCopies::TableCopies(Table& table, Doorbell& launch_thread)
    : table_(table),
      launch_thread_(launch_thread),
      staging_(std::make_shared<HugeMemory>(kStep + kMostRanges * sizeof(CopyRange))),
      copies_to_make_(reinterpret_cast<CopyRange*>(staging_->data() + kStep), kMostRanges) {
  if (table_.is_secret()) hide(*staging_);
  table_.attach(*this);
}

TableCopies::~TableCopies() {
  detach();
  if (!table_.is_secret()) return;
  erase(*staging_);
  std::ranges::for_each(shadow_, erase);
}

void TableCopies::published(std::span<const std::byte> view, std::span<const TableRegion> regions) {
  std::unique_lock lock(mutex_);
  announced_.clear();
  sources_.assign(regions.begin(), regions.end());
  shadow_view_.assign(view.begin(), view.end());
  if (table_.is_secret()) {
    for (std::size_t i = regions.size(); i < shadow_.size(); ++i) erase(shadow_[i]);
  }
  shadow_.resize(regions.size());
  shadow_bytes_.resize(regions.size(), 0);
  pointer_offsets_.resize(regions.size());
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (shadow_bytes_[i] != regions[i].bytes) replace_shadow(i, regions[i].bytes);
    pointer_offsets_[i] = regions[i].pointer_offset;
    if (regions[i].bytes > 0) std::memcpy(shadow_[i].data(), regions[i].data, regions[i].bytes);
  }
  for (Copy& copy : copies_) lack_everything(copy.lacks);
  commit(lock);
}

void TableCopies::replace_shadow(std::size_t region, std::size_t bytes) {
  if (table_.is_secret()) erase(shadow_[region]);
  shadow_[region] = HugeMemory(std::max<std::size_t>(bytes, 1));
  if (table_.is_secret()) hide(shadow_[region]);
  shadow_bytes_[region] = bytes;
}

void TableCopies::changed(std::size_t region, std::size_t offset, std::size_t bytes) {
  announced_.add({region, offset, offset + bytes});
}

void TableCopies::committed() {
  if (announced_.empty()) return;
  announced_.join();
  std::unique_lock lock(mutex_);
  for (const Range& each : announced_.all()) {
    std::memcpy(shadow_[each.region].data() + each.begin, sources_[each.region].data + each.begin,
                each.end - each.begin);
    if (!live_) continue;  // Copies that are made later start with the whole table.
    for (Copy& copy : copies_) copy.lacks.add(each);
  }
  announced_.clear();
  commit(lock);
}

void TableCopies::commit(std::unique_lock<std::mutex>& lock) {
  ++committed_;
  if (live_) {
    behind_.store(true, std::memory_order_release);
    if (valid_ && !copies_[current_].lacks.fit_a_step()) {
      launch_thread_.ring();
      state_or_end_.wait(lock, [this] { return !live_ || copies_[current_].state == committed_; });
    }
  }
  wanted_.store(committed_, std::memory_order_release);
  lock.unlock();
  launch_thread_.ring();
}

void TableCopies::begin(Device& device, unsigned stream, std::chrono::milliseconds patience) {
  device.share(staging_->data(), staging_->bytes());
  const std::lock_guard lock(mutex_);
  device_ = &device;
  stream_ = stream;
  patience_ = patience;
  live_ = true;
  behind_.store(committed_ > 0, std::memory_order_release);
}

void TableCopies::erase_secrets() {
  if (!table_.is_secret() || device_ == nullptr) return;
  for (const Copy& copy : copies_) erase_regions(copy);
}

void TableCopies::erase_regions(const Copy& copy) {
  for (std::size_t i = 0; i < copy.regions.size(); ++i) {
    if (copy.bytes[i] > 0) device_->erase(stream_, copy.regions[i], copy.bytes[i]);
  }
}

void TableCopies::end() noexcept {
  const std::lock_guard lock(mutex_);
  device_ = nullptr;
  step_ = Step::none;
  live_ = valid_ = false;
  for (Copy& copy : copies_) copy = Copy();
  behind_.store(false, std::memory_order_release);
  state_or_end_.notify_all();
}

unsigned TableCopies::enter() noexcept {
  ++copies_[current_].users;
  return current_;
}

bool TableCopies::advance() {
  if (!TableCopies::has_work()) return false;
  if (step_ == Step::none) return begin_step();
  if (device_->reached(stream_)) {
    end_step();
    return true;
  }
  if (std::chrono::steady_clock::now() - step_began_ > patience_) {
    throw endless("a copy of the table '" + table_.name() + "'", patience_);
  }
  return false;
}

void TableCopies::end_step() {
  const Step ended = std::exchange(step_, Step::none);
  if (table_.is_secret()) erase_bytes(staging_->data(), kStep);
  if (ended != Step::last) return;
  const std::lock_guard lock(mutex_);
  current_ = 1 - current_;
  valid_ = true;
  state_or_end_.notify_all();
}

bool TableCopies::begin_step() {
  Copy& current = copies_[current_];
  Copy& spare = copies_[1 - current_];
  const std::lock_guard lock(mutex_);
  const bool is_far_behind = !spare.lacks.fit_a_step() || spare.bytes != shadow_bytes_;
  if (valid_ && !is_far_behind && current.state == committed_) {
    behind_.store(false, std::memory_order_release);
    return false;
  }
  if (spare.users > 0) return false;
  if (valid_ && is_far_behind && current.lacks.fit_a_step() && current.bytes == shadow_bytes_) {
    catch_up(spare, current);
  } else {
    copy_what_is_lacking(spare);
  }
  device_->mark(stream_);
  step_began_ = std::chrono::steady_clock::now();
  return true;
}

/// Makes the spare copy equal to the current one, within the device.
void TableCopies::catch_up(Copy& spare, const Copy& current) {
  fit(spare);
  for (std::size_t i = 0; i < spare.regions.size(); ++i) {
    if (spare.bytes[i] > 0) device_->on_device(stream_, spare.regions[i], current.regions[i], spare.bytes[i]);
  }
  spare.lacks = current.lacks;
  step_ = Step::catch_up;
}

/// Copies as much as one step takes. If that is all, the copy equals the shadow: the lock excludes commits meanwhile.
void TableCopies::copy_what_is_lacking(Copy& spare) {
  fit(spare);
  spare.lacks.join();
  std::size_t used = 0, count = 0;
  while (!spare.lacks.empty() && used < kStep && count < kMostRanges) {
    const Range range = spare.lacks.take(kStep - used);
    const std::size_t bytes = range.end - range.begin;
    const CopyRange copied{spare.regions[range.region] + range.begin, staging_->data() + used, bytes};
    std::memcpy(staging_->data() + used, shadow_[range.region].data() + range.begin, bytes);
    if (bytes <= kSmall) {
      copies_to_make_[count++] = copied;
    } else {
      device_->to_device(stream_, copied.to, copied.from, bytes);
    }
    used += padded(bytes);
  }
  if (count > 0) device_->scatter(stream_, copies_to_make_.first(count));
  step_ = Step::part;
  if (!spare.lacks.empty()) return;
  step_ = Step::last;
  spare.state = committed_;
  spare.view = shadow_view_;
  for (std::size_t i = 0; i < spare.regions.size(); ++i) {
    std::memcpy(spare.view.data() + pointer_offsets_[i], static_cast<const void*>(&spare.regions[i]),
                sizeof spare.regions[i]);
  }
}

/// Gives the copy memory for regions of the shadow's sizes.
void TableCopies::fit(Copy& copy) {
  if (copy.bytes == shadow_bytes_) return;
  if (table_.is_secret()) erase_regions(copy);
  for (std::byte* region : copy.regions) device_->release(region);
  copy.regions.clear();
  copy.bytes.clear();
  for (const std::size_t bytes : shadow_bytes_)
    copy.regions.push_back(device_->allocate(std::max<std::size_t>(bytes, 1)));
  copy.bytes = shadow_bytes_;
  lack_everything(copy.lacks);
}

void TableCopies::lack_everything(Ranges& lacks) const {
  lacks.clear();
  for (std::size_t i = 0; i < shadow_bytes_.size(); ++i) lacks.add({i, 0, shadow_bytes_[i]});
}

}  // namespace penumbra::cuda
