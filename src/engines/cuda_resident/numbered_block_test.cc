// SPDX-License-Identifier: Apache-2.0
//
// Tests that packed data are unpacked complete or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "cuda_resident/numbered_block_lines.h"

namespace penumbra::cuda_resident {
namespace {

constexpr std::size_t kMostBytes = std::size_t{kSlotPieces} * kBlockBytes;

/// Bytes in an allocation of exactly their size, so that a sanitizer reports accesses outside.
struct Bytes {
  explicit Bytes(std::size_t count) : data(std::make_unique<std::byte[]>(count)), size(count) {}
  std::unique_ptr<std::byte[]> data;
  std::size_t size;
};

Bytes random_bytes(std::size_t count) {
  static std::mt19937 random(4);
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes.data[i] = std::byte(random());
  return bytes;
}

/// Parameters: the number of bytes, and the position of their first block in a line.
class NumberedBlocks : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  static std::vector<PieceWay> ways() { return {PieceWay{}, PieceWay::best()}; }
  std::size_t bytes() const { return std::get<0>(GetParam()); }
  NumberedBlock* begin() { return blocks_.data() + std::get<1>(GetParam()); }

 private:
  alignas(kLineBytes) std::array<NumberedBlock, kSlotPieces + kLinePieces> blocks_{};
};

TEST_P(NumberedBlocks, GiveBackWhatTheyHoldToEitherWay) {
  std::uint32_t number = 6;
  for (const PieceWay& packs : ways()) {
    for (const PieceWay& unpacks : ways()) {
      const Bytes in = random_bytes(bytes()), out(bytes());
      const NumberedBlock* const end = packs.pack(begin(), in.data.get(), in.size, ++number);
      EXPECT_EQ(end - begin(), blocks_for(static_cast<std::uint32_t>(in.size)));
      EXPECT_EQ(number_in(*end), 0U) << "a block too many was written";
      const NumberedBlock* from = begin();
      EXPECT_TRUE(unpacks.unpack(from, out.data.get(), out.size, number));
      EXPECT_EQ(from, end);
      EXPECT_TRUE(std::equal(in.data.get(), in.data.get() + in.size, out.data.get()));
    }
  }
}

TEST_P(NumberedBlocks, AreNotTakenForThoseOfAnotherBatch) {
  for (const PieceWay& way : ways()) {
    const Bytes in = random_bytes(bytes()), out(bytes());
    NumberedBlock* const end = way.pack(begin(), in.data.get(), in.size, 7);
    for (NumberedBlock* late = begin(); late != end; ++late) {
      late->number = 6;
      const NumberedBlock* from = begin();
      EXPECT_FALSE(way.unpack(from, out.data.get(), out.size, 7)) << late - begin();
      late->number = 7;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bytes, NumberedBlocks,
                         testing::Combine(testing::Values(1, 2, 4, 8, 11, 12, 13, 15, 16, 17, 24, 25, 27, 28, 29, 31,
                                                          35, 36, 37, 47, 48, 49, 64, 128, 131, 256, kMostBytes - 1,
                                                          kMostBytes),
                                          testing::Values(0, 1, 2, 3)));

TEST(FirstLine, HoldsTheFirstPieceAndTheDataBehindIt) {
  constexpr std::uint32_t kFormer = 5, kNumber = 7;
  for (const PieceWay& way : {PieceWay{}, PieceWay::best()}) {
    for (std::size_t bytes = 0; bytes <= kDataBehindFirst; ++bytes) {
      alignas(kLineBytes) std::array<NumberedBlock, kLinePieces + 1> line{};
      for (NumberedBlock& block : line) block.number = kFormer;
      const Bytes in = random_bytes(bytes), out(bytes);
      way.put_first_line(line.data(), _mm_setr_epi32(1, 2, 3, kNumber), in.data.get(), bytes, kNumber);
      EXPECT_THAT(line[0].data, testing::ElementsAre(1, 2, 3)) << bytes;
      EXPECT_EQ(line[0].number, kNumber);
      const NumberedBlock* from = &line[1];
      EXPECT_TRUE(way.unpack(from, out.data.get(), bytes, kNumber)) << bytes;
      EXPECT_TRUE(std::equal(in.data.get(), in.data.get() + bytes, out.data.get())) << bytes;
      for (; from != line.data() + line.size(); ++from) EXPECT_EQ(from->number, kFormer) << bytes;
    }
  }
}

TEST(PieceNumbers, LeaveOutTheOneOfNoBatch) {
  EXPECT_EQ(next_number(0), 1U);
  EXPECT_EQ(next_number(1), 2U);
  EXPECT_EQ(next_number(UINT32_MAX), 1U);
}

}  // namespace
}  // namespace penumbra::cuda_resident
