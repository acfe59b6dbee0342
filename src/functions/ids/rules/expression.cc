// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "functions/ids/rules/expression.h"

#include <pcre2.h>

#include <array>
#include <stdexcept>
#include <string>

namespace penumbra::ids {
namespace {

pcre2_code* compile(const Pcre& pcre, std::string& fault) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pcre.pattern.data()), pcre.pattern.size(),
                                         pcre.options, &error, &offset, nullptr);
  if (code == nullptr) {
    std::array<PCRE2_UCHAR, 256> message{};
    pcre2_get_error_message(error, message.data(), message.size());
    fault = std::string(reinterpret_cast<const char*>(message.data())) + " at byte " + std::to_string(offset);
  }
  return code;
}

}  // namespace

void Expression::Free::operator()(pcre2_real_code_8* code) const {
  pcre2_code_free(code);
}

Expression::Expression(const Pcre& pcre) {
  std::string fault;
  code_.reset(compile(pcre, fault));
  if (code_ == nullptr) throw std::runtime_error(fault);
  // Without JIT code the interpreter matches, with the same results.
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
}

std::optional<std::string> Expression::fault(const Pcre& pcre) {
  std::string fault;
  pcre2_code_free(compile(pcre, fault));
  if (fault.empty()) return std::nullopt;
  return fault;
}

}  // namespace penumbra::ids
