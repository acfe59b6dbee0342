// SPDX-License-Identifier: Apache-2.0
//
// Builds packets and frames for tests, element by element.
#pragma once

#include <cstdint>
#include <string>

#include "crypto/digest.h"
#include "functions/ndn/name_uri.h"
#include "penumbra/ip.h"

namespace penumbra::ndn::testing_support {

inline constexpr MacAddress kAlice{0x0200000000AA}, kBob{0x0200000000BB}, kCarol{0x0200000000CC};

/// Encodes a TLV type or length with the fewest bytes.
inline std::string number(std::uint64_t value) {
  std::string bytes;
  const int count = value < 253 ? 1 : value <= 0xFFFF ? 2 : 4;
  if (count > 1) bytes += count == 2 ? '\xFD' : '\xFE';
  for (int i = count; i-- > 0;) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
inline std::string tlv(std::uint64_t type, const std::string& value) {
  return number(type) + number(value.size()) + value;
}
inline std::string name(const std::string& uri) {
  return tlv(7, parse_name_uri(uri));
}
inline const std::string kNonce = tlv(0x0A, "abcd");
inline std::string interest(const std::string& uri, const std::string& behind = kNonce) {
  return tlv(5, name(uri) + behind);
}
inline std::string hop_limit(int hops) {
  return tlv(0x22, std::string(1, static_cast<char>(hops)));
}
/// Returns an Interest with parameters, whose name ends with their digest.
inline std::string interest_with(const std::string& uri, const std::string& parameters,
                                 const std::string& before = kNonce) {
  const auto digest = sha256(as_bytes(parameters));
  const std::string component = tlv(2, std::string(digest.begin(), digest.end()));
  return tlv(5, tlv(7, parse_name_uri(uri) + component) + before + parameters);
}
inline std::string data(const std::string& uri, const std::string& content = "hello") {
  return tlv(6, name(uri) + tlv(0x15, content) + tlv(0x16, tlv(0x1B, std::string(1, '\0'))) + tlv(0x17, "12345678"));
}
inline std::string lp(const std::string& fields, const std::string& fragment) {
  return tlv(0x64, fields + tlv(0x50, fragment));
}
inline std::string token(const std::string& bytes) {
  return tlv(0x62, bytes);
}
inline const std::string kNackForNoRoute = tlv(0x320, tlv(0x321, "\x96"));

inline std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace penumbra::ndn::testing_support
