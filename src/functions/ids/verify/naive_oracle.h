// SPDX-License-Identifier: Apache-2.0
//
// A slow evaluator of payload tests that shares no code with Verifier. It keeps the set of all states that satisfy the
// tests so far, and compares byte by byte.
#pragma once

#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "functions/ids/rules/rule.h"

namespace penumbra::ids {

class NaiveOracle {
 public:
  /// Returns true if the tests of all buffers hold. `buffers` has the bytes of each buffer that is present.
  static bool matches(const Rule& rule, const std::map<Buffer, std::string>& buffers) {
    Variables_ variables;
    for (const BufferTests& group : rule.buffers) {
      const auto found = buffers.find(group.buffer);
      if (found == buffers.end()) return false;
      NaiveOracle oracle(found->second);
      oracle.states_ = {{0, variables}};
      for (const PayloadTest& test : group.tests) {
        std::set<State> next;
        for (const State& state : oracle.states_) {
          std::visit([&](const auto& each) { oracle.step(each, state, next); }, test);
        }
        oracle.states_ = next;
      }
      if (oracle.states_.empty()) return false;
      variables = oracle.states_.begin()->second;
    }
    return true;
  }

 private:
  using Variables_ = std::map<int, std::uint64_t>;
  using State = std::pair<long, Variables_>;  ///< The end of the last match and the variables.

  explicit NaiveOracle(std::string text) : text_(std::move(text)) {}

  static long number(const Operand& operand, const State& state) {
    if (operand.variable < 0) return operand.number;
    const std::uint64_t value = state.second.at(operand.variable);
    return value > 1000000 ? 1000000 : static_cast<long>(value);
  }

  bool equal_at(const Content& content, long at) const {
    if (at < 0 || at + static_cast<long>(content.bytes.size()) > static_cast<long>(text_.size())) return false;
    for (std::size_t i = 0; i < content.bytes.size(); ++i) {
      const auto a = static_cast<unsigned char>(text_[static_cast<std::size_t>(at) + i]);
      const auto b = static_cast<unsigned char>(content.bytes[i]);
      const bool same = a == b || (content.nocase && a < 128 && b < 128 && std::tolower(a) == std::tolower(b));
      if (!same) return false;
    }
    return true;
  }

  bool is_allowed(const Content& content, long at, const State& state) const {
    const long end = at + static_cast<long>(content.bytes.size());
    if (content.startswith && at != 0) return false;
    if (content.endswith && end != static_cast<long>(text_.size())) return false;
    if (content.distance || content.within) {
      const long begin = state.first + (content.distance ? number(*content.distance, state) : 0);
      if (at < begin) return false;
      return !content.within || end <= begin + number(*content.within, state);
    }
    const long offset = content.offset ? number(*content.offset, state) : 0;
    if (at < offset) return false;
    return !content.depth || end <= offset + number(*content.depth, state);
  }

  void step(const Content& content, const State& state, std::set<State>& next) const {
    bool found = false;
    for (long at = 0; at <= static_cast<long>(text_.size()); ++at) {
      if (!equal_at(content, at) || !is_allowed(content, at, state)) continue;
      found = true;
      if (!content.negated) next.insert({at + static_cast<long>(content.bytes.size()), state.second});
    }
    if (content.negated && !found) next.insert(state);
  }

  /// Knows the expressions "[ab].c" and "^b", which the random rules have.
  void step(const Pcre& pcre, const State& state, std::set<State>& next) const {
    bool found = false;
    const long first = pcre.relative ? state.first : 0;
    const long size = pcre.pattern == "^b" ? 1 : 3;
    for (long at = first; at + size <= static_cast<long>(text_.size()); ++at) {
      const std::string part = text_.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
      const bool here = size == 1 ? at == first && part[0] == 'b'
                                  : (part[0] == 'a' || part[0] == 'b') && part[1] != '\n' && part[2] == 'c';
      if (!here) continue;
      found = true;
      if (!pcre.negated) next.insert({at + size, state.second});
    }
    if (pcre.negated && !found) next.insert(state);
  }

  struct Read {
    std::uint64_t value;
    long end;
  };
  std::optional<Read> read(const NumberField& field, const State& state) const {
    const long begin = (field.relative ? state.first : 0) + number(field.offset, state);
    const long bytes = number(field.bytes, state);
    if (begin < 0 || begin + bytes > static_cast<long>(text_.size())) return std::nullopt;
    if (bytes == 0) return Read{0, begin};
    std::uint64_t value = 0;
    std::uint64_t weight = 1;
    if (field.is_text) {
      bool some = false;
      for (long i = 0;
           i < bytes && std::isdigit(static_cast<unsigned char>(text_[static_cast<std::size_t>(begin + i)])); ++i) {
        value = value * 10 + static_cast<std::uint64_t>(text_[static_cast<std::size_t>(begin + i)] - '0');
        some = true;
      }
      if (!some) return std::nullopt;
    } else {
      if (bytes > 8) return std::nullopt;
      for (long i = 0; i < bytes; ++i) {
        const long place = field.little_endian ? begin + i : begin + bytes - 1 - i;
        value += weight * static_cast<unsigned char>(text_[static_cast<std::size_t>(place)]);
        weight *= 256;
      }
    }
    if (field.bitmask != 0) {
      value &= field.bitmask;
      for (std::uint64_t mask = field.bitmask; mask % 2 == 0; mask /= 2) value /= 2;
    }
    return Read{value, begin + bytes};
  }

  void step(const ByteTest& test, const State& state, std::set<State>& next) const {
    const auto found = read(test.field, state);
    if (!found) return;
    const std::uint64_t value = found->value;
    const std::uint64_t wanted =
        test.value.variable < 0 ? static_cast<std::uint64_t>(test.value.number) : state.second.at(test.value.variable);
    using enum ByteTest::Operator;
    const bool holds = test.comparison == equal              ? value == wanted
                       : test.comparison == less             ? value < wanted
                       : test.comparison == less_or_equal    ? value <= wanted
                       : test.comparison == greater          ? value > wanted
                       : test.comparison == greater_or_equal ? value >= wanted
                       : test.comparison == bit_and          ? (value & wanted) > 0
                                                             : value != wanted;
    if (holds != test.negated) next.insert(state);
  }

  void step(const ByteJump& jump, const State& state, std::set<State>& next) const {
    const auto found = read(jump.field, state);
    if (!found) return;
    long distance = static_cast<long>(found->value) * static_cast<long>(jump.multiplier);
    while (jump.align && distance % 4 != 0) ++distance;
    long base = found->end;
    if (jump.from == ByteJump::From::beginning) base = 0;
    if (jump.from == ByteJump::From::end) base = static_cast<long>(text_.size());
    const long target = std::max(0L, base + distance + number(jump.post_offset, state));
    if (target < static_cast<long>(text_.size())) next.insert({target, state.second});
  }

  void step(const ByteExtract& extract, const State& state, std::set<State>& next) const {
    const auto found = read(extract.field, state);
    if (!found) return;
    State after{found->end, state.second};
    std::uint64_t value = found->value * extract.multiplier;
    while (value % static_cast<std::uint64_t>(extract.alignment) != 0) ++value;
    after.second[extract.variable] = value;
    next.insert(after);
  }

  void step(const ByteMath& math, const State& state, std::set<State>& next) const {
    const auto found = read(math.field, state);
    if (!found) return;
    const std::uint64_t right =
        math.value.variable < 0 ? static_cast<std::uint64_t>(math.value.number) : state.second.at(math.value.variable);
    std::uint64_t value = found->value;
    switch (math.operation) {
      case ByteMath::Operator::add:
        value += right;
        break;
      case ByteMath::Operator::subtract:
        value -= right;
        break;
      case ByteMath::Operator::multiply:
        value *= right;
        break;
      case ByteMath::Operator::divide:
        if (right == 0) return;
        value /= right;
        break;
      case ByteMath::Operator::shift_left:
        for (std::uint64_t i = 0; i < right && value != 0; ++i) value *= 2;
        break;
      case ByteMath::Operator::shift_right:
        for (std::uint64_t i = 0; i < right && value != 0; ++i) value /= 2;
        break;
    }
    State after{found->end, state.second};
    after.second[math.variable] = value;
    next.insert(after);
  }

  void step(const IsDataAt& at, const State& state, std::set<State>& next) const {
    const long place = number(at.position, state) + (at.relative ? state.first : 1);
    if ((place <= static_cast<long>(text_.size())) != at.negated) next.insert(state);
  }

  void step(const BufferSize& size, const State& state, std::set<State>& next) const {
    if (size.length.contains(text_.size())) next.insert(state);
  }

  void step(const Asn1& /*test*/, const State& /*state*/, std::set<State>& /*next*/) const {}

  std::string text_;
  std::set<State> states_;
};

}  // namespace penumbra::ids
