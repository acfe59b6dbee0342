// SPDX-License-Identifier: Apache-2.0
//
// A compiled regular expression (PCRE2).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "functions/ids/rules/payload_test.h"

struct pcre2_real_code_8;

namespace penumbra::ids {

class Expression {
 public:
  /// Compiles for matching, with the JIT compiler where it takes the expression. Throws std::runtime_error if the
  /// expression is wrong.
  explicit Expression(const Pcre& pcre);

  /// Returns the fault of a wrong expression.
  static std::optional<std::string> fault(const Pcre& pcre);

  const pcre2_real_code_8* code() const { return code_.get(); }

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace penumbra::ids
