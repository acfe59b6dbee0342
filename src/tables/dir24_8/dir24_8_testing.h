// SPDX-License-Identifier: Apache-2.0
//
// Provides helpers for the tests of the IPv4 tables.
#pragma once

#include <cstdint>

#include "base/prefix_oracle.h"
#include "tables/dir24_8/dir24_8.h"
#include "tables/prefix_testing.h"

namespace penumbra::dir24_8_testing {

using Oracle = PrefixOracle<Ipv4, Dir24_8::Entry>;

inline Ipv4Address address(const char* text) {
  return parse_ipv4_address(text).value();
}
inline Ipv4Prefix prefix(const char* text) {
  return parse_ipv4_prefix(text).value();
}
inline Ipv4Prefix prefix_of(std::uint32_t address, unsigned length) {
  return Ipv4Prefix::around({address}, length);
}

}  // namespace penumbra::dir24_8_testing
