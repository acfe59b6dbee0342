// SPDX-License-Identifier: Apache-2.0
//
// Sizes of headers, and addresses in network byte order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/checksum.h"
#include "packet/edits.h"
#include "penumbra/bytes.h"
#include "penumbra/ip.h"

namespace penumbra::io {

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kIpv4Bytes = 20;  ///< Bytes without options.
inline constexpr std::size_t kIpv6Bytes = 40;  ///< Bytes without extension headers.

inline void store_address(std::uint8_t* at, Ipv4Address address) {
  store_be32(at, address.value);
}
inline void store_address(std::uint8_t* at, Ipv6Address address) {
  store_be64(at, address.high);
  store_be64(at + 8, address.low);
}

}  // namespace penumbra::io
