// SPDX-License-Identifier: Apache-2.0
//
// Names as people write them (NDN Packet Format Specification 0.3, "NDN URI Scheme").
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tables/ndn_names/name_tlv.h"

namespace penumbra::ndn {

/// A text that is no name, and where in it that shows.
class NameUriError : public std::invalid_argument {
 public:
  NameUriError(std::size_t at, const std::string& message) : std::invalid_argument(message), at_(at) {}
  std::size_t at() const { return at_; }

 private:
  std::size_t at_;
};

/// `/a/b`, with or without `ndn:` in front: the components as they stand in a packet. `%XX` is a byte, `TYPE=VALUE` a
/// component of another type than 8, `sha256digest=` and `params-sha256=` take 64 hexadecimal digits, `seg=`, `off=`,
/// `v=`, `t=` and `seq=` a number (NDN Naming Conventions, revision 3), and of a component of nothing but periods three
/// do not count. `/` is the name of no components. Throws NameUriError.
std::string parse_name_uri(std::string_view uri);
/// What parse_name_uri() reads back as the same; numbers stand as the bytes that they are. The components are valid.
std::string to_uri(Bytes name);

/// What parse_name_uri() gives, as packets have it.
inline Bytes as_bytes(std::string_view name) {
  return {reinterpret_cast<const std::uint8_t*>(name.data()), name.size()};
}

}  // namespace penumbra::ndn
