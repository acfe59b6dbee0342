// SPDX-License-Identifier: Apache-2.0
//
// Converts names to and from URIs (NDN Packet Format Specification 0.3, "NDN URI Scheme").
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tables/ndn_names/name_tlv.h"

namespace penumbra::ndn {

/// Reports an error in the URI of a name, with its position.
class NameUriError : public std::invalid_argument {
 public:
  NameUriError(std::size_t at, const std::string& message) : std::invalid_argument(message), at_(at) {}
  std::size_t at() const { return at_; }

 private:
  std::size_t at_;
};

/// Returns the components of a name, encoded as in a packet, from `/a/b` with or without `ndn:`. Throws NameUriError.
///
/// `%XX` is a byte. `TYPE=VALUE` is a component of another type than 8. `sha256digest=` and `params-sha256=` take 64
/// hexadecimal digits. `seg=`, `off=`, `v=`, `t=` and `seq=` take a number (NDN Naming Conventions, revision 3). A
/// component of periods only has three periods more than its value. `/` is the name without components.
std::string parse_name_uri(std::string_view uri);
/// Returns a URI that parse_name_uri() converts to the same name. Numbers appear as bytes. The components must be
/// valid.
std::string to_uri(Bytes name);

/// Returns the result of parse_name_uri() in the type that packets use.
inline Bytes as_bytes(std::string_view name) {
  return {reinterpret_cast<const std::uint8_t*>(name.data()), name.size()};
}

}  // namespace penumbra::ndn
