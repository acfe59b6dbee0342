// SPDX-License-Identifier: Apache-2.0
#include <ranges>
#include <variant>

#include "functions/ids/verify/verifier.h"

namespace penumbra::ids {
namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

const NumberField* field_of(const PayloadTest& test) {
  if (const auto* byte_test = std::get_if<ByteTest>(&test)) return &byte_test->field;
  if (const auto* jump = std::get_if<ByteJump>(&test)) return &jump->field;
  if (const auto* extract = std::get_if<ByteExtract>(&test)) return &extract->field;
  if (const auto* math = std::get_if<ByteMath>(&test)) return &math->field;
  return nullptr;
}

bool is_relative(const PayloadTest& test) {
  if (const NumberField* const field = field_of(test)) return field->relative;
  return std::visit(Overloaded{[](const Content& content) { return content.is_relative(); },
                               [](const Pcre& pcre) { return pcre.relative; },
                               [](const IsDataAt& at) { return at.relative; }, [](const auto&) { return false; }},
                    test);
}

/// Returns true if the test moves the place to which relative tests refer.
bool moves(const PayloadTest& test) {
  return std::visit(Overloaded{[](const Content& content) { return !content.negated; },
                               [](const Pcre& pcre) { return !pcre.negated; }, [](const ByteJump&) { return true; },
                               [](const ByteExtract&) { return true; }, [](const ByteMath&) { return true; },
                               [](const auto&) { return false; }},
                    test);
}

}  // namespace

PreparedRule::PreparedRule(const Rule& rule) : variables_(rule.variables.size()) {
  for (const BufferTests& tests : rule.buffers) {
    Group& group = groups_.emplace_back(Group{tests.buffer, {}});
    for (const PayloadTest& test : tests.tests) {
      Step& step = group.steps.emplace_back();
      step.test = &test;
      if (const auto* content = std::get_if<Content>(&test)) step.literal.emplace(content->bytes, content->nocase);
      if (const auto* pcre = std::get_if<Pcre>(&test)) step.expression = std::make_unique<Expression>(*pcre);
      const NumberField* const field = field_of(test);
      if (std::holds_alternative<Asn1>(test) || (field != nullptr && field->dce)) is_complete_ = false;
    }
    bool depends = false;
    for (Step& step : std::views::reverse(group.steps)) {
      step.is_followed_by_relative = depends;
      if (is_relative(*step.test)) {
        depends = true;
      } else if (moves(*step.test)) {
        depends = false;
      }
    }
  }
}

}  // namespace penumbra::ids
