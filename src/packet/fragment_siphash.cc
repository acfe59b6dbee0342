// SPDX-License-Identifier: Apache-2.0
#include "packet/fragment_siphash.h"

#include <sys/random.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace penumbra {

SipHashKey random_siphash_key() {
  SipHashKey key;
  // The kernel gives so few bytes as a whole (getrandom(2)).
  if (getrandom(&key, sizeof key, 0) != sizeof key) {
    throw std::system_error(errno, std::generic_category(), "no random numbers for a hash key");
  }
  return key;
}

}  // namespace penumbra
