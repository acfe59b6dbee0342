// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/streams/stream_buffer.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace penumbra::ids {

/// Makes room for bytes up to the place `end`. Bytes more than `context` before next() are dropped.
bool StreamBuffer::reserve(StreamMemory& memory, std::uint64_t end, std::size_t context) {
  if (bytes_ != nullptr && end <= base_ + capacity()) return true;
  const std::uint64_t keep = std::max({base_, contiguous_from_, next_ - std::min<std::uint64_t>(next_, context)});
  const std::uint64_t used = is_empty() ? next_ : std::max(next_, last_held());
  const std::size_t wanted = static_cast<std::size_t>(end - keep);
  if (bytes_ != nullptr && wanted <= capacity() / 2) {
    std::memmove(bytes_, bytes_ + (keep - base_), static_cast<std::size_t>(used - keep));
    base_ = keep;
    return true;
  }
  // Half of the block is free after it grew, so that a move pays for many segments.
  const unsigned order = StreamMemory::order_of(bytes_ == nullptr ? wanted : wanted * 2);
  if (order > StreamMemory::kMostOrder) return false;
  std::uint8_t* const bigger = memory.take(order);
  if (bigger == nullptr) return false;
  if (bytes_ != nullptr) {
    std::memcpy(bigger, bytes_ + (keep - base_), static_cast<std::size_t>(used - keep));
    memory.give_back(bytes_, order_);
    base_ = keep;
  } else {
    base_ = contiguous_from_ = next_;
  }
  bytes_ = bigger;
  order_ = static_cast<std::uint8_t>(order);
  return true;
}

/// Makes room for `more` ranges. Returns false if there is no memory or there would be too many.
bool StreamBuffer::reserve_ranges(StreamMemory& memory, std::size_t more) {
  if (last_ + more <= range_capacity()) return true;
  if (first_ > 0) {
    std::memmove(ranges_, ranges_ + first_, ranges() * sizeof(StreamRange));
    last_ = static_cast<std::uint16_t>(last_ - first_);
    first_ = 0;
    if (last_ + more <= range_capacity()) return true;
  }
  if (last_ + more > kMostRanges) {
    merge_touching();
    if (last_ + more > kMostRanges) return false;
    if (last_ + more <= range_capacity()) return true;
  }
  const unsigned order = StreamMemory::order_of((last_ + more) * sizeof(StreamRange));
  auto* const bigger = reinterpret_cast<StreamRange*>(memory.take(order));
  if (bigger == nullptr) return false;
  if (ranges_ != nullptr) {
    std::memcpy(bigger, ranges_, last_ * sizeof(StreamRange));
    memory.give_back(reinterpret_cast<std::uint8_t*>(ranges_), ranges_order_);
  }
  ranges_ = bigger;
  ranges_order_ = static_cast<std::uint8_t>(order);
  return true;
}

/// Precondition: first_ is 0.
void StreamBuffer::merge_touching() {
  std::size_t to = 0;
  for (std::size_t from = 1; from < last_; ++from) {
    if (ranges_[from].begin == ranges_[to].end) {
      ranges_[to].end = ranges_[from].end;
    } else {
      ranges_[++to] = ranges_[from];
    }
  }
  last_ = static_cast<std::uint16_t>(std::min<std::size_t>(last_, to + 1));
}

bool StreamBuffer::differs(StreamRange range, std::uint64_t begin, std::span<const std::uint8_t> segment) const {
  return std::memcmp(bytes_ + (range.begin - base_), segment.data() + (range.begin - begin),
                     static_cast<std::size_t>(range.end - range.begin)) != 0;
}

void StreamBuffer::split(std::size_t low, std::size_t high, const Added& added, StreamPolicy policy,
                         std::vector<StreamRange>& made, Inserted& result) {
  const StreamRange range = added.range;
  std::uint64_t run = range.begin;  // where the current piece of the segment begins
  std::uint64_t rest = 0;           // the end of a held range of which the segment took the left part, or 0
  const auto take = [&](std::uint64_t end) {
    if (run >= end) return;
    std::memcpy(bytes_ + (run - base_), added.bytes.data() + (run - range.begin), static_cast<std::size_t>(end - run));
    made.push_back({run, end});
  };
  for (std::size_t i = low; i < high; ++i) {
    const StreamRange held = ranges_[i];
    const StreamRange both{std::max(held.begin, range.begin), std::min(held.end, range.end)};
    result.overlap = true;
    if (differs(both, range.begin, added.bytes)) result.conflict = true;
    if (new_segment_wins(policy, held, added.received)) {
      if (held.begin < both.begin) made.push_back({held.begin, both.begin});
      if (held.end > both.end) rest = held.end;
    } else {
      take(both.begin);
      made.push_back(held);
      run = both.end;
    }
  }
  take(range.end);
  if (rest != 0) made.push_back({range.end, rest});
}

StreamBuffer::Inserted StreamBuffer::insert(StreamMemory& memory, std::uint64_t begin,
                                            std::span<const std::uint8_t> segment, StreamPolicy policy,
                                            std::size_t limit, std::size_t context) {
  Inserted result;
  const StreamRange received{begin, begin + segment.size()};
  Added added{received, received, segment};
  StreamRange& range = added.range;
  if (range.begin < next_) {
    // Bytes that were handed on cannot change any more.
    result.overlap = true;
    const StreamRange kept{std::max({range.begin, base_, contiguous_from_}), std::min(range.end, next_)};
    if (bytes_ != nullptr && kept.begin < kept.end) result.conflict = differs(kept, begin, segment);
    if (range.end <= next_) return result;
    range.begin = next_;
  }
  if (range.end > next_ + limit) {
    result.over_limit = true;
    if (range.begin >= next_ + limit) return result;
    range.end = next_ + limit;
  }
  if (range.begin == range.end) return result;
  added.bytes =
      segment.subspan(static_cast<std::size_t>(range.begin - begin), static_cast<std::size_t>(range.end - range.begin));
  if (!reserve(memory, range.end, context)) {
    result.no_memory = true;
    return result;
  }
  const auto find = [&] {
    auto* const low = std::partition_point(ranges_ + first_, ranges_ + last_,
                                           [&](const StreamRange& held) { return held.end <= range.begin; });
    auto* const high =
        std::partition_point(low, ranges_ + last_, [&](const StreamRange& held) { return held.begin < range.end; });
    return std::pair(static_cast<std::size_t>(low - ranges_), static_cast<std::size_t>(high - ranges_));
  };
  auto [low, high] = find();
  // Each held range may cut the segment once, which gives one piece more for each, and two at the ends.
  if (!reserve_ranges(memory, high - low + 2)) {
    (ranges() + (high - low) + 2 > kMostRanges ? result.too_many : result.no_memory) = true;
    return result;
  }
  std::tie(low, high) = find();
  std::vector<StreamRange>& made = memory.scratch();
  made.clear();
  split(low, high, added, policy, made, result);
  std::memmove(ranges_ + low + made.size(), ranges_ + high, (last_ - high) * sizeof(StreamRange));
  std::memcpy(ranges_ + low, made.data(), made.size() * sizeof(StreamRange));
  last_ = static_cast<std::uint16_t>(last_ + made.size() - (high - low));
  return result;
}

bool StreamBuffer::impose(std::uint64_t begin, std::span<std::uint8_t> segment) const {
  if (bytes_ == nullptr) return false;
  bool changed = false;
  const std::uint64_t end = begin + segment.size();
  const auto write = [&](StreamRange known) {
    const StreamRange both{std::max(known.begin, begin), std::min(known.end, end)};
    if (both.begin >= both.end || !differs(both, begin, segment)) return;
    changed = true;
    std::memcpy(segment.data() + (both.begin - begin), bytes_ + (both.begin - base_),
                static_cast<std::size_t>(both.end - both.begin));
  };
  write({std::max(base_, contiguous_from_), next_});
  const auto* const low = std::partition_point(ranges_ + first_, ranges_ + last_,
                                               [&](const StreamRange& held) { return held.end <= begin; });
  for (const auto* held = low; held != ranges_ + last_ && held->begin < end; ++held) write(*held);
  return changed;
}

StreamText StreamBuffer::ready(std::uint64_t end, std::size_t context) const {
  std::uint64_t to = next_;
  for (std::size_t i = first_; i < last_ && to < end && ranges_[i].begin == to; ++i) to = ranges_[i].end;
  to = std::min(to, std::max(end, next_));
  const std::uint64_t from = std::max({base_, contiguous_from_, next_ - std::min<std::uint64_t>(next_, context)});
  if (to == next_) return {{}, 0, next_};
  return {{bytes_ + (from - base_), static_cast<std::size_t>(to - from)}, static_cast<std::size_t>(next_ - from), from};
}

void StreamBuffer::consume(std::uint64_t end) {
  while (first_ < last_ && ranges_[first_].end <= end) ++first_;
  if (first_ < last_ && ranges_[first_].begin < end) ranges_[first_].begin = end;
  if (first_ == last_) first_ = last_ = 0;
  next_ = end;
}

void StreamBuffer::skip(std::uint64_t end) {
  next_ = contiguous_from_ = end;
  // Without held bytes the block may begin anywhere.
  if (is_empty()) base_ = end;
}

void StreamBuffer::release(StreamMemory& memory) {
  if (bytes_ != nullptr) memory.give_back(bytes_, order_);
  if (ranges_ != nullptr) memory.give_back(reinterpret_cast<std::uint8_t*>(ranges_), ranges_order_);
  bytes_ = nullptr;
  ranges_ = nullptr;
  first_ = last_ = 0;
  base_ = contiguous_from_ = next_;
}

}  // namespace penumbra::ids
