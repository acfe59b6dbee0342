// SPDX-License-Identifier: Apache-2.0
//
// NDN's TLV encoding (NDN Packet Format Specification 0.3, "Type-Length-Value Encoding") as far as names need it:
// numbers, and the components of names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "penumbra/bytes.h"

namespace penumbra::ndn {

/// Bytes of a packet or of a name.
using Bytes = std::span<const std::uint8_t>;

/// Returns the encoded size of a number in bytes: 1, 3, 5 or 9.
constexpr std::size_t number_bytes(std::uint64_t number) {
  if (number < 253) return 1;
  if (number <= 0xFFFF) return 3;
  return number <= 0xFFFF'FFFF ? 5 : 9;
}

/// Removes a number from the front of `bytes`. Returns false if the bytes end too early or the encoding is not the
/// shortest.
inline bool take_number(Bytes& bytes, std::uint64_t& number) {
  if (bytes.empty()) return false;
  const std::uint8_t first = bytes[0];
  if (first < 253) {
    number = first;
    bytes = bytes.subspan(1);
    return true;
  }
  const std::size_t size = first == 253 ? 3 : first == 254 ? 5 : 9;
  if (bytes.size() < size) return false;
  const std::uint8_t* const at = bytes.data() + 1;
  number = size == 3 ? load_be16(at) : size == 5 ? load_be32(at) : load_be64(at);
  bytes = bytes.subspan(size);
  return number_bytes(number) == size;
}

/// An element: its type and value.
struct Element {
  std::uint32_t type = 0;
  Bytes value;
};

/// Removes an element from the front of `bytes`. Returns false if the bytes end too early, an encoding is not the
/// shortest, or the type is not 1 to 2^32 - 1.
inline bool take_element(Bytes& bytes, Element& element) {
  std::uint64_t type = 0, length = 0;
  if (!take_number(bytes, type) || type == 0 || type > 0xFFFF'FFFF) return false;
  if (!take_number(bytes, length) || length > bytes.size()) return false;
  element = {static_cast<std::uint32_t>(type), bytes.first(length)};
  bytes = bytes.subspan(length);
  return true;
}

inline constexpr std::uint32_t kImplicitDigestType = 1, kParametersDigestType = 2, kGenericType = 8;
inline constexpr std::size_t kComponentDigestBytes = 32;

/// Removes a component from the front of a name's value. Returns false if its type is not 1 to 65535, or if a digest
/// does not have 32 bytes (section "Name").
inline bool take_component(Bytes& name, Element& component) {
  if (!take_element(name, component) || component.type > 0xFFFF) return false;
  const bool is_digest = component.type <= kParametersDigestType;
  return !is_digest || component.value.size() == kComponentDigestBytes;
}

}  // namespace penumbra::ndn
