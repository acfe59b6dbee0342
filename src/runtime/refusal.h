// SPDX-License-Identifier: Apache-2.0
//
// Why a router does not do what it was asked for, and how that is said over the control socket.
#pragma once

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>

#include "penumbra/errors.h"

namespace penumbra::runtime {

enum class RefusalKind {
  failure,     ///< it could be done at another time, or by another router
  usage,       ///< what was asked for is wrong: std::invalid_argument
  input,       ///< a file that was named is wrong: InputError
  permission,  ///< the socket takes only commands that change nothing
  version,     ///< the request is of a version of the protocol that the router does not speak
};

/// The router understood the request and says in words why it does not do it.
class RouterRefusal : public std::runtime_error {
 public:
  RouterRefusal(RefusalKind kind, const std::string& message, SourceLocation location)
      : std::runtime_error(message), kind_(kind), location_(std::move(location)) {}
  RefusalKind kind() const { return kind_; }
  /// Of the kind `input`: where.
  const SourceLocation& location() const { return location_; }

 private:
  RefusalKind kind_;
  SourceLocation location_;
};

/// The answer that tells what was thrown.
nlohmann::ordered_json to_answer(const std::exception& error);
/// The refusal that an answer tells of. A kind that is not known, of a later router, is a failure.
RouterRefusal refusal_of(const nlohmann::ordered_json& answer);

}  // namespace penumbra::runtime
