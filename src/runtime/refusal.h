// SPDX-License-Identifier: Apache-2.0
//
// Defines the kinds of refusals of a router, and their form on the control socket.
#pragma once

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>

#include "penumbra/errors.h"

namespace penumbra::runtime {

enum class RefusalKind {
  failure,     ///< Possible at another time, or by another router.
  usage,       ///< The request is wrong: std::invalid_argument.
  input,       ///< A named file is wrong: InputError.
  permission,  ///< The socket accepts only commands that change nothing.
  version,     ///< The router does not support the request's protocol version.
};

/// The router understood the request but does not execute it. The message has the reason.
class RouterRefusal : public std::runtime_error {
 public:
  RouterRefusal(RefusalKind kind, const std::string& message, SourceLocation location)
      : std::runtime_error(message), kind_(kind), location_(std::move(location)) {}
  RefusalKind kind() const { return kind_; }
  /// Returns the place of the error, for the kind `input`.
  const SourceLocation& location() const { return location_; }

 private:
  RefusalKind kind_;
  SourceLocation location_;
};

/// Returns the answer for an exception.
nlohmann::ordered_json to_answer(const std::exception& error);
/// Returns the refusal that an answer contains. An unknown kind, from a later router, becomes a failure.
RouterRefusal refusal_of(const nlohmann::ordered_json& answer);

}  // namespace penumbra::runtime
