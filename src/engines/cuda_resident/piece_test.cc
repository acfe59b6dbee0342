// SPDX-License-Identifier: Apache-2.0
//
// What is packed into pieces comes out again, whole or not at all.
#include "cuda_resident/piece.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace penumbra::cuda_resident {
namespace {

constexpr std::size_t kMostBytes = std::size_t{kSlotPieces} * kPieceBytes;

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

class Pieces : public testing::TestWithParam<std::size_t> {
 protected:
  std::array<Piece, kSlotPieces + 1> pieces_{};
};

TEST_P(Pieces, GiveBackWhatTheyHold) {
  const Bytes in = random_bytes(GetParam()), out(GetParam());
  const Piece* const end = pack(pieces_.data(), in.data.get(), in.size, 7);
  EXPECT_EQ(end - pieces_.data(), pieces_for(static_cast<std::uint32_t>(in.size)));
  EXPECT_EQ(number_in(*end), 0U) << "a piece too many was written";
  const Piece* from = pieces_.data();
  EXPECT_TRUE(unpack(from, out.data.get(), out.size, 7));
  EXPECT_EQ(from, end);
  EXPECT_TRUE(std::equal(in.data.get(), in.data.get() + in.size, out.data.get()));
}

TEST_P(Pieces, AreNotTakenForThoseOfAnotherBatch) {
  const Bytes in = random_bytes(GetParam()), out(GetParam());
  Piece* const end = pack(pieces_.data(), in.data.get(), in.size, 7);
  for (Piece* late = pieces_.data(); late != end; ++late) {
    late->number = 6;
    const Piece* from = pieces_.data();
    EXPECT_FALSE(unpack(from, out.data.get(), out.size, 7)) << late - pieces_.data();
    late->number = 7;
  }
}

INSTANTIATE_TEST_SUITE_P(Bytes, Pieces,
                         testing::Values(1, 2, 4, 8, 11, 12, 13, 15, 16, 17, 24, 25, 27, 28, 29, 31, 64, 128, 131, 256,
                                         kMostBytes - 1, kMostBytes));

TEST(PieceNumbers, LeaveOutTheOneOfNoBatch) {
  EXPECT_EQ(next_number(0), 1U);
  EXPECT_EQ(next_number(1), 2U);
  EXPECT_EQ(next_number(UINT32_MAX), 1U);
}

}  // namespace
}  // namespace penumbra::cuda_resident
