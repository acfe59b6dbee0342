// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "penumbra/errors.h"

namespace penumbra {

/// Returns the message of the `Error` that `action` throws, or "no error".
template <class Error = InputError, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace penumbra
