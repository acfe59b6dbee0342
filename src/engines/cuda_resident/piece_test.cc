// SPDX-License-Identifier: Apache-2.0
//
// What is packed into pieces comes out again, whole or not at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "cuda_resident/piece_lines.h"

namespace penumbra::cuda_resident {
namespace {

/// Bytes in memory of exactly their size, so that a sanitizer sees what is read or written beside them.
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

/// How many bytes two sections have.
class Pieces : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  struct Way : PieceWay {
    Storing storing;
  };
  static std::vector<Way> ways() {
    return {{PieceWay{}, Storing::into_cache},
            {PieceWay::best(), Storing::into_cache},
            {PieceWay::best(), Storing::past_cache}};
  }
  std::uint32_t size_of(std::size_t section) const {
    return static_cast<std::uint32_t>(section == 0 ? std::get<0>(GetParam()) : std::get<1>(GetParam()));
  }
  std::uint32_t count() const { return 1 + pieces_for(size_of(0)) + pieces_for(size_of(1)); }
  /// Writes all of it, and what was in the sections.
  std::array<Bytes, 2> write(const Way& way, std::uint32_t number) {
    std::array<Bytes, 2> in{random_bytes(size_of(0)), random_bytes(size_of(1))};
    const std::array<Section, 2> sections{{{in[0].data.get(), in[0].size}, {in[1].data.get(), in[1].size}}};
    way.write(pieces_.data(), _mm_set_epi32(0, kHead[2], kHead[1], kHead[0]), sections, number, way.storing);
    return in;
  }
  /// The pieces behind the head, from a line's beginning on.
  Piece* behind_head() {
    std::copy_n(pieces_.begin() + 1, kSlotPieces, moved_.begin());
    return moved_.data();
  }
  std::array<Piece, kSlotPieces + kLinePieces>& pieces() { return pieces_; }

  static constexpr std::array<int, 3> kHead{11, 22, 33};

 private:
  alignas(kLineBytes) std::array<Piece, kSlotPieces + kLinePieces> pieces_{}, moved_{};
};

TEST_P(Pieces, GiveBackWhatTheyHoldToEitherWay) {
  std::uint32_t number = 6;
  for (const Way& writes : ways()) {
    for (const Way& reads : ways()) {
      const std::array<Bytes, 2> in = write(writes, ++number);
      EXPECT_TRUE(std::equal(kHead.begin(), kHead.end(), pieces()[0].data, std::equal_to<std::uint32_t>()));
      EXPECT_EQ(pieces()[0].number, number);
      const std::size_t lines = (count() + kLinePieces - 1) / kLinePieces;
      EXPECT_EQ(pieces()[lines * kLinePieces].number, 0U) << "a line too many was written";
      const Bytes first(size_of(0)), second(size_of(1));
      const std::array<Destination, 2> sections{{{first.data.get(), first.size}, {second.data.get(), second.size}}};
      EXPECT_TRUE(reads.read(behind_head(), sections, number));
      EXPECT_TRUE(std::equal(in[0].data.get(), in[0].data.get() + in[0].size, first.data.get()));
      EXPECT_TRUE(std::equal(in[1].data.get(), in[1].data.get() + in[1].size, second.data.get()));
    }
  }
}

TEST_P(Pieces, AreNotTakenForThoseOfAnotherBatch) {
  for (const Way& way : ways()) {
    write(way, 7);
    const Bytes first(size_of(0)), second(size_of(1));
    const std::array<Destination, 2> sections{{{first.data.get(), first.size}, {second.data.get(), second.size}}};
    for (std::uint32_t late = 1; late < count(); ++late) {
      pieces()[late].number = 6;
      EXPECT_FALSE(way.read(behind_head(), sections, 7)) << late;
      pieces()[late].number = 7;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bytes, Pieces,
                         testing::Combine(testing::Values(1, 2, 4, 8, 11, 12, 13, 15, 16, 17, 24, 25, 27, 28, 29, 31,
                                                          35, 36, 37, 47, 48, 49, 64, 128, 131, 256),
                                          testing::Values(0, 1, 12, 13, 24, 36, 37, 128, 400)));

TEST(PieceNumbers, LeaveOutTheOneOfNoBatch) {
  EXPECT_EQ(next_number(0), 1U);
  EXPECT_EQ(next_number(1), 2U);
  EXPECT_EQ(next_number(UINT32_MAX), 1U);
}

}  // namespace
}  // namespace penumbra::cuda_resident
