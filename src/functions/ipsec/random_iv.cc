// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/random_iv.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace penumbra::ipsec {

RandomIv::RandomIv() : state_(1) {
  if (getrandom(state_[0].key, sizeof state_[0].key, 0) != static_cast<ssize_t>(sizeof state_[0].key)) {
    throw std::system_error(errno, std::generic_category(), "ipsec: no random numbers");
  }
  begin();
}

void RandomIv::begin() noexcept {
  std::array<std::uint8_t, CHACHA20_NONCE> nonce{};
  std::memcpy(nonce.data(), &nonce_, sizeof nonce_);
  ++nonce_;
  chacha20_begin(&state_[0].stream, state_[0].key, nonce.data());
}

void RandomIv::next(std::uint8_t* iv) noexcept {
  constexpr std::array<std::uint8_t, kBytes> kZeros{};
  if (++taken_ % kMostOfNonce == 0) begin();
  chacha20_apply(&state_[0].stream, kZeros.data(), iv, kBytes, 0xFF);
}

}  // namespace penumbra::ipsec
