// SPDX-License-Identifier: Apache-2.0
//
// Has common helpers of the text formats' tests for input that the parsers refuse.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>

#include "penumbra/errors.h"

namespace penumbra::control {

struct BadCase {
  std::string text;
  int line;
  int column;
  std::string message;  ///< A part of the message.

  friend std::ostream& operator<<(std::ostream& out, const BadCase& bad) { return out << bad.text.substr(0, 200); }
};

/// Expects that `parse` throws the case's InputError about `file`.
inline void expect_refused(const BadCase& bad, const std::string& file, const std::function<void()>& parse) {
  try {
    parse();
    ADD_FAILURE() << "accepted: " << bad;
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(bad.message)) << bad;
    EXPECT_EQ(error.location().file, file);
    EXPECT_EQ(error.location().line, bad.line) << error.what();
    EXPECT_EQ(error.location().column, bad.column) << error.what();
  }
}

}  // namespace penumbra::control
