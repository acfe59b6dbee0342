// SPDX-License-Identifier: Apache-2.0
//
// The bytes of one direction of a TCP connection that wait to be inspected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "functions/ids/streams/stream_memory.h"
#include "functions/ids/streams/stream_policy.h"

namespace penumbra::ids {

/// Contiguous bytes of a stream. The first `fresh` bytes were handed on before; the others are new.
struct StreamText {
  std::span<const std::uint8_t> bytes;
  std::size_t fresh = 0;
  std::uint64_t offset = 0;  ///< The place of the first byte in the stream.

  std::span<const std::uint8_t> fresh_bytes() const { return bytes.subspan(fresh); }
};

/// Holds segments in the order of the stream. Received bytes are copied once, to their place.
///
/// Ranges of segments are kept apart, because policies decide by where a segment begins and ends. Only if there are
/// kMostRanges, ranges that touch are merged. A search is logarithmic, so duplicates take linear time in all. The owner
/// calls release() before destruction.
class StreamBuffer {
 public:
  /// Bytes that are kept of what was handed on. A pattern of one byte more is found across two texts.
  static constexpr std::size_t kContext = 31;
  static constexpr std::size_t kMostRanges = 512;

  StreamBuffer() = default;
  StreamBuffer(const StreamBuffer&) = delete;
  StreamBuffer& operator=(const StreamBuffer&) = delete;

  struct Inserted {
    bool overlap = false;     ///< Some bytes were received before.
    bool conflict = false;    ///< They differ.
    bool over_limit = false;  ///< The segment lies beyond `limit` and was cut or refused.
    bool no_memory = false;   ///< The segment was refused: the memory of all streams is used up.
    bool too_many = false;    ///< The segment was refused: there are too many ranges.
  };
  /// Inserts a segment whose first byte has the place `begin`. At most `limit` bytes are held after next(); `context`
  /// bytes before next() are kept.
  Inserted insert(StreamMemory& memory, std::uint64_t begin, std::span<const std::uint8_t> segment, StreamPolicy policy,
                  std::size_t limit, std::size_t context);

  /// Writes the bytes that are held or kept over those of a segment whose first byte has the place `begin`. Returns
  /// true if a byte has changed.
  bool impose(std::uint64_t begin, std::span<std::uint8_t> segment) const;

  /// Returns the bytes from next() to the first hole, at most to `end`, with at most `context` bytes before them.
  StreamText ready(std::uint64_t end, std::size_t context) const;
  /// Marks the bytes before `end` as handed on. Precondition: ready() returned them.
  void consume(std::uint64_t end);
  /// Leaves out the bytes before `end`, which were lost. Precondition: none of them is held.
  void skip(std::uint64_t end);

  std::uint64_t next() const { return next_; }  ///< The place of the first byte that was not handed on.
  bool is_empty() const { return first_ == last_; }
  std::uint64_t first_held() const { return ranges_[first_].begin; }  ///< Precondition: !is_empty().
  std::uint64_t last_held() const { return ranges_[last_ - 1].end; }  ///< Precondition: !is_empty().
  std::size_t ranges() const { return last_ - first_; }

  /// Gives all memory back. next() is kept.
  void release(StreamMemory& memory);
  std::size_t memory() const {
    return (bytes_ == nullptr ? 0 : std::size_t{1} << order_) +
           (ranges_ == nullptr ? 0 : std::size_t{1} << ranges_order_);
  }

 private:
  bool reserve(StreamMemory& memory, std::uint64_t end, std::size_t context);
  bool reserve_ranges(StreamMemory& memory, std::size_t more);
  void merge_touching();
  bool differs(StreamRange range, std::uint64_t begin, std::span<const std::uint8_t> segment) const;
  /// A segment as received, and the part of it that is inserted.
  struct Added {
    StreamRange received, range;
    std::span<const std::uint8_t> bytes;  ///< Of `range`.
  };
  /// Adds the pieces of a segment and of the ranges from `low` to `high`, which it overlaps, to `made`.
  void split(std::size_t low, std::size_t high, const Added& added, StreamPolicy policy, std::vector<StreamRange>& made,
             Inserted& result);
  std::size_t capacity() const { return bytes_ == nullptr ? 0 : std::size_t{1} << order_; }
  std::size_t range_capacity() const {
    return ranges_ == nullptr ? 0 : (std::size_t{1} << ranges_order_) / sizeof(StreamRange);
  }

  std::uint8_t* bytes_ = nullptr;
  StreamRange* ranges_ = nullptr;  ///< Sorted, without overlap; those from first_ to last_ - 1 count.
  std::uint64_t base_ = 0;         ///< The place of bytes_[0].
  std::uint64_t next_ = 0;
  std::uint64_t contiguous_from_ = 0;  ///< No byte is lost between this place and next_.
  std::uint16_t first_ = 0, last_ = 0;
  std::uint8_t order_ = 0, ranges_order_ = 0;
};

}  // namespace penumbra::ids
