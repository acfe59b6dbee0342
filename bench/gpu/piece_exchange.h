// SPDX-License-Identifier: Apache-2.0
//
// An exchange with a resident kernel in which each piece of 16 bytes carries the exchange's number. No flag therefore
// has to follow the data in either direction. The exchange gives the lower limit of an answer's latency.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <span>

#include "bench.h"
#include "gpu/cuda_call.h"
#include "gpu/kernels.h"

namespace penumbra::bench::gpu {

/// The kernel runs during this object's lifetime; no GPU memory may be allocated or freed meanwhile.
class PieceExchange {
 public:
  explicit PieceExchange(std::uint32_t numbers)
      : pieces_((numbers + Piece::kNumbers - 1) / Piece::kNumbers), in_(pieces_), out_(pieces_) {
    for (unsigned i = 0; i < pieces_; ++i) in_[i] = out_[i] = {};
    gpu::check(launch_pieces(in_.data(), out_.data(), pieces_, stream_.get()), "starting a kernel that never stops");
  }
  ~PieceExchange() {
    for (Piece& piece : in_.span()) store(piece, {{}, Piece::kStop});
    cudaStreamSynchronize(stream_.get());
  }
  PieceExchange(const PieceExchange&) = delete;
  PieceExchange& operator=(const PieceExchange&) = delete;

  /// Exchanges the numbers from `first` on, and waits for all answers.
  void once(std::uint32_t first) noexcept {
    ++exchange_;
    for (std::uint32_t i = 0; i < pieces_; ++i) {
      const std::uint32_t number = first + i * Piece::kNumbers;
      store(in_[i], {{number, number + 1, number + 2}, exchange_});
    }
    for (const Piece& piece : out_.span()) {
      while (load(piece).exchange != exchange_) {
      }
    }
  }
  /// Throws WrongAnswer unless the answers of once(first) are right.
  void check(std::uint32_t first) {
    once(first);
    for (const Piece& piece : out_.span()) {
      for (const std::uint32_t found : piece.number) {
        if (found != answer(first++)) throw WrongAnswer("exchange by pieces: an answer is wrong");
      }
    }
  }

 private:
  static void store(Piece& to, const Piece& piece) noexcept {
    const auto value = _mm_load_si128(reinterpret_cast<const __m128i*>(&piece));
    asm volatile("vmovdqa %1, %0" : "=m"(to) : "x"(value));
  }
  static Piece load(const Piece& from) noexcept {
    __m128i value;
    asm volatile("vmovdqa %1, %0" : "=x"(value) : "m"(from));
    Piece piece;
    _mm_store_si128(reinterpret_cast<__m128i*>(&piece), value);
    return piece;
  }

  unsigned pieces_;
  SharedArray<Piece> in_, out_;
  Stream stream_;
  std::uint32_t exchange_ = 0;
};

}  // namespace penumbra::bench::gpu
