// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace penumbra::control::xfrm {

/// Refuses a request with an errno and a text for people. The text never contains a key.
class Refused : public std::runtime_error {
 public:
  Refused(int error, const std::string& reason) : std::runtime_error(reason), error_(error) {}
  int error() const { return error_; }  ///< EINVAL, for example.

 private:
  int error_;
};

/// Throws Refused unless `holds`.
inline void require(bool holds, int error, const char* reason) {
  if (!holds) throw Refused(error, reason);
}

}  // namespace penumbra::control::xfrm
