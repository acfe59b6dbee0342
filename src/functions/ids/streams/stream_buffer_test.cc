// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/streams/stream_buffer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "functions/ids/streams/stream_testing.h"

namespace penumbra::ids {
namespace {

constexpr std::size_t kLimit = 4096;

class StreamBufferTest : public testing::Test {
 protected:
  ~StreamBufferTest() override {
    buffer_.release(memory_);
    EXPECT_EQ(memory_.used(), 0U);
  }
  StreamBuffer::Inserted insert(std::uint64_t begin, std::string_view text, std::size_t limit = kLimit) {
    return buffer_.insert(memory_, begin, bytes_of(text), StreamPolicy::first, limit, StreamBuffer::kContext);
  }
  /// Takes all that is ready.
  std::string take() {
    const StreamText text = buffer_.ready(~std::uint64_t{0}, StreamBuffer::kContext);
    const std::string fresh = text_of(text.fresh_bytes());
    buffer_.consume(buffer_.next() + fresh.size());
    return fresh;
  }

  StreamMemory memory_{std::size_t{1} << 20};
  StreamBuffer buffer_;
};

TEST_F(StreamBufferTest, PutsSegmentsInOrder) {
  insert(4, "efg");
  EXPECT_EQ(take(), "");
  insert(0, "abcd");
  EXPECT_EQ(buffer_.ready(2, 31).bytes.size(), 2U);
  EXPECT_EQ(take(), "abcdefg");
  EXPECT_TRUE(insert(0, "abc").overlap);
  EXPECT_FALSE(insert(0, "abc").conflict);
  EXPECT_TRUE(insert(2, "xdefg").conflict);  // the bytes before next() are kept
  EXPECT_EQ(take(), "");
}

TEST_F(StreamBufferTest, WritesKnownBytesOverASegment) {
  const auto impose = [this](std::uint64_t begin, std::string text) {
    const bool changed = buffer_.impose(begin, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    return (changed ? "!" : "") + text;
  };
  EXPECT_EQ(impose(0, "xx"), "xx") << "nothing is known";
  insert(0, "abcd");
  take();
  insert(6, "gh");
  insert(10, "kl");
  EXPECT_EQ(impose(0, "0123456789ABCD"), "!abcd45gh89klCD");
  EXPECT_EQ(impose(2, "cd"), "cd");
  EXPECT_EQ(impose(4, "45"), "45");
  EXPECT_EQ(impose(11, "xyz"), "!lyz");
  buffer_.skip(6);
  EXPECT_EQ(impose(0, "0123"), "0123") << "bytes before a gap are not kept";
}

TEST_F(StreamBufferTest, HandsOnTheBytesBefore) {
  std::string all;
  for (int i = 0; i < 3000; ++i) {
    const std::string piece(1, static_cast<char>('a' + i % 26));
    insert(all.size(), piece);
    const StreamText text = buffer_.ready(~std::uint64_t{0}, 31);
    EXPECT_EQ(text.fresh, std::min<std::size_t>(31, all.size()));
    EXPECT_EQ(text.offset + text.fresh, all.size());
    all += piece;
    EXPECT_TRUE(all.ends_with(text_of(text.bytes)));
    buffer_.consume(all.size());
  }
  EXPECT_EQ(memory_.held(), 512U);  // one block of bytes, one of ranges
}

TEST_F(StreamBufferTest, DoesNotHandOnBytesBeforeAGap) {
  insert(0, "abc");
  EXPECT_EQ(take(), "abc");
  insert(5, "f");
  buffer_.skip(5);
  const StreamText text = buffer_.ready(10, 31);
  EXPECT_EQ(text_of(text.bytes), "f");
  EXPECT_EQ(text.fresh, 0U);
  EXPECT_EQ(text.offset, 5U);
}

TEST_F(StreamBufferTest, CutsAtTheLimit) {
  EXPECT_TRUE(insert(2, "cdef", 4).over_limit);
  EXPECT_TRUE(insert(4, "ef", 4).over_limit);
  EXPECT_FALSE(insert(0, "ab", 4).over_limit);
  EXPECT_EQ(take(), "abcd");
}

TEST_F(StreamBufferTest, RefusesWhatExceedsTheMemory) {
  StreamMemory little(1024);
  StreamBuffer other;
  EXPECT_TRUE(other.insert(little, 0, bytes_of(std::string(2000, 'a')), StreamPolicy::first, kLimit, 31).no_memory);
  EXPECT_FALSE(other.insert(little, 0, bytes_of("a"), StreamPolicy::first, kLimit, 31).no_memory);
  EXPECT_EQ(little.used(), other.memory());
  other.release(little);
  EXPECT_EQ(little.used(), 0U);
}

TEST_F(StreamBufferTest, MergesOnlyWhereThereAreTooManyRanges) {
  for (std::uint64_t i = 0; i < 2 * StreamBuffer::kMostRanges; ++i) {
    EXPECT_FALSE(insert(1 + i, "a").too_many);
    EXPECT_LE(buffer_.ranges(), StreamBuffer::kMostRanges);
  }
  insert(0, "a");
  EXPECT_EQ(take().size(), 2 * StreamBuffer::kMostRanges + 1);
  unsigned refused = 0;
  const std::uint64_t from = buffer_.next() + 1;
  for (std::uint64_t i = 0; i < 2 * StreamBuffer::kMostRanges; ++i)
    refused += insert(from + 2 * i, "b").too_many ? 1 : 0;
  EXPECT_GE(refused, StreamBuffer::kMostRanges);
  EXPECT_LE(buffer_.ranges(), StreamBuffer::kMostRanges);
}

/// Zeek's issue 575: each duplicate of one of many held segments walked over all of them.
TEST_F(StreamBufferTest, HoldsNoMoreAfterManyDuplicates) {
  for (std::uint64_t i = 0; i < 400; ++i) insert(10 + 3 * i, "ab");
  const std::size_t ranges = buffer_.ranges(), used = memory_.used();
  for (std::uint64_t i = 0; i < 50000; ++i) EXPECT_FALSE(insert(10 + 3 * (i % 400), "ab").conflict);
  EXPECT_EQ(buffer_.ranges(), ranges);
  EXPECT_EQ(memory_.used(), used);
}

/// Segments of up to 12 bytes near the first missing byte, with random bytes, so that they overlap in every way.
TEST(StreamBuffer, AgreesWithAMapOfBytes) {
  std::mt19937 random(3);
  const auto number = [&](unsigned most) { return std::uniform_int_distribution<unsigned>(0, most)(random); };
  unsigned conflicts = 0, taken = 0, gaps = 0;
  for (int round = 0; round < 1400; ++round) {
    const auto policy = static_cast<StreamPolicy>(round % 7);
    StreamMemory memory(1 << 20);
    StreamBuffer buffer;
    StreamModel model(policy);
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t low = model.next() - std::min<std::uint64_t>(model.next(), 8);
      const std::uint64_t begin = low + number(30);
      std::string segment;
      for (unsigned i = number(12); i > 0; --i) segment += static_cast<char>('a' + number(2));
      const auto inserted = buffer.insert(memory, begin, bytes_of(segment), policy, 34, 31);
      const bool conflict = model.insert(begin, segment, 34);
      ASSERT_EQ(inserted.conflict, conflict) << "round " << round << " step " << step;
      conflicts += conflict ? 1 : 0;
      if (number(3) == 0) {
        const std::uint64_t until = model.next() + number(20);
        const StreamText text = buffer.ready(until, 31);
        const std::string fresh = text_of(text.fresh_bytes());
        ASSERT_EQ(fresh, model.take(until, 31)) << "round " << round << " step " << step;
        buffer.consume(buffer.next() + fresh.size());
        ASSERT_EQ(buffer.next(), model.next());
        taken += fresh.empty() ? 0 : 1;
      } else if (number(9) == 0 && !model.is_empty() && model.first_held() > model.next()) {
        const std::uint64_t end = model.first_held();
        buffer.skip(end);
        model.skip(end);
        ++gaps;
      }
      ASSERT_EQ(buffer.is_empty(), model.is_empty());
    }
    buffer.release(memory);
    ASSERT_EQ(memory.used(), 0U);
  }
  EXPECT_GT(conflicts, 10000U);
  EXPECT_GT(taken, 5000U);
  EXPECT_GT(gaps, 500U);
}

}  // namespace
}  // namespace penumbra::ids
