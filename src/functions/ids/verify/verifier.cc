// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "functions/ids/verify/verifier.h"

#include <pcre2.h>

#include <algorithm>
#include <new>
#include <variant>

#include "functions/ids/verify/number_reader.h"

namespace penumbra::ids {
namespace {

/// Adds and multiplies without overflow for the positions of a buffer, which are below 2^32.
constexpr std::int64_t kFar = std::int64_t{1} << 40;
std::int64_t bounded(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, kFar));
}

bool compare(const ByteTest& test, std::uint64_t found, std::uint64_t wanted) {
  switch (test.comparison) {
    case ByteTest::Operator::equal:
      return found == wanted;
    case ByteTest::Operator::less:
      return found < wanted;
    case ByteTest::Operator::less_or_equal:
      return found <= wanted;
    case ByteTest::Operator::greater:
      return found > wanted;
    case ByteTest::Operator::greater_or_equal:
      return found >= wanted;
    case ByteTest::Operator::bit_and:
      return (found & wanted) != 0;
    case ByteTest::Operator::bit_or:
      return (found ^ wanted) != 0;
  }
  return false;
}

std::optional<std::uint64_t> calculate(ByteMath::Operator operation, std::uint64_t left, std::uint64_t right) {
  switch (operation) {
    case ByteMath::Operator::add:
      return left + right;
    case ByteMath::Operator::subtract:
      return left - right;
    case ByteMath::Operator::multiply:
      return left * right;
    case ByteMath::Operator::divide:
      if (right == 0) return std::nullopt;
      return left / right;
    case ByteMath::Operator::shift_left:
      return right < 64 ? left << right : 0;
    case ByteMath::Operator::shift_right:
      return right < 64 ? left >> right : 0;
  }
  return std::nullopt;
}

}  // namespace

/// The verification of one rule on one buffer. `place` is the end of the last match, to which relative tests refer.
class Verification {
 public:
  /// `place` is that of the text's first byte in its stream.
  Verification(Verifier& owner, const PreparedRule::Group& group, std::span<const std::uint8_t> text,
               std::uint64_t place, std::uint32_t& steps)
      : owner_(owner),
        group_(group),
        text_(text),
        size_(static_cast<std::int64_t>(text.size())),
        begin_(bounded(place)),
        steps_(steps) {}

  bool run() { return from(0, 0); }
  /// Returns true if run() ended because of the limit of steps.
  bool is_exceeded() const { return is_exceeded_; }

 private:
  /// Evaluates the steps from `index` on. The depth of the recursion is the number of tests of a rule.
  bool from(std::size_t index, std::int64_t place) {
    if (index == group_.steps.size()) return true;
    if (!count()) return false;
    const PreparedRule::Step& step = group_.steps[index];
    return std::visit([&](const auto& test) { return evaluate(test, step, index, place); }, *step.test);
  }

  /// Counts a step. Returns false if the limit is exceeded.
  bool count() {
    if (steps_ == 0) {
      is_exceeded_ = true;
      return false;
    }
    --steps_;
    return true;
  }

  std::int64_t value_of(const Operand& operand) const {
    return operand.is_variable() ? bounded(owner_.variables_[static_cast<std::size_t>(operand.variable)])
                                 : operand.number;
  }
  std::uint64_t wide_value_of(const Operand& operand) const {
    return operand.is_variable() ? owner_.variables_[static_cast<std::size_t>(operand.variable)]
                                 : static_cast<std::uint64_t>(operand.number);
  }

  /// The bytes of the buffer in which a content must lie.
  struct Range {
    std::int64_t begin, end;
  };
  Range range_of(const Content& content, const Literal& literal, std::int64_t place) const {
    Range range{0, size_};
    if (content.is_relative()) {
      const std::int64_t distance = content.distance ? value_of(*content.distance) : 0;
      range.begin = place + distance;
      if (content.within) range.end = range.begin + value_of(*content.within);
    } else {
      range.begin = -begin_;
      if (content.offset) range.begin += value_of(*content.offset);
      if (content.depth) range.end = range.begin + value_of(*content.depth);
      if (content.startswith) range.end = static_cast<std::int64_t>(literal.size()) - begin_;
    }
    if (content.endswith) range.begin = std::max(range.begin, size_ - static_cast<std::int64_t>(literal.size()));
    return {std::max<std::int64_t>(range.begin, 0), std::min(range.end, size_)};
  }

  bool evaluate(const Content& content, const PreparedRule::Step& step, std::size_t index, std::int64_t place) {
    const Literal& literal = step.literal.value();
    const Range range = range_of(content, literal, place);
    const bool must_end = content.endswith;
    std::int64_t at = range.begin;
    while (at < range.end) {
      const std::size_t found =
          literal.find(text_.first(static_cast<std::size_t>(range.end)), static_cast<std::size_t>(at));
      if (found == Literal::kNone) break;
      const auto end = static_cast<std::int64_t>(found + literal.size());
      at = static_cast<std::int64_t>(found) + 1;
      if (must_end && end != size_) continue;
      if (content.negated) return false;
      if (from(index + 1, end)) return true;
      if (!step.is_followed_by_relative || !count()) return false;
    }
    return content.negated && from(index + 1, place);
  }

  bool evaluate(const Pcre& pcre, const PreparedRule::Step& step, std::size_t index, std::int64_t place) {
    if (place > size_) return false;
    const std::span<const std::uint8_t> subject =
        pcre.relative ? text_.subspan(static_cast<std::size_t>(place)) : text_;
    const std::int64_t base = pcre.relative ? place : 0;
    std::size_t start = 0;
    while (start <= subject.size()) {
      const int found = pcre2_match(step.expression->code(), subject.data(), subject.size(), start, 0,
                                    owner_.match_data_, owner_.context_);
      owner_.packet_steps_ -= std::min(owner_.packet_steps_, Verifier::kStepsOfExpression);
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0) {
        ++owner_.counters_.pcre_exceeded;
        return false;
      }
      if (pcre.negated) return false;
      const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(owner_.match_data_);
      start = ends[0] + 1;  // The match data is overwritten by later expressions.
      if (from(index + 1, base + static_cast<std::int64_t>(ends[1]))) return true;
      if (!step.is_followed_by_relative || !count()) return false;
    }
    return pcre.negated && from(index + 1, place);
  }

  /// A number with the position after its bytes.
  struct Read {
    std::uint64_t value;
    std::int64_t end;
  };
  std::optional<Read> read(const NumberField& field, std::int64_t place) const {
    const std::int64_t bytes = value_of(field.bytes);
    const std::int64_t begin = (field.relative ? place : 0) + value_of(field.offset);
    if (begin < 0 || bytes < 0 || begin > size_ || bytes > size_ - begin) return std::nullopt;
    if (bytes == 0) return Read{0, begin};
    const auto value =
        read_number(field, text_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes)));
    if (!value) return std::nullopt;
    return Read{*value, begin + bytes};
  }

  bool evaluate(const ByteTest& test, const PreparedRule::Step& /*step*/, std::size_t index, std::int64_t place) {
    const auto found = read(test.field, place);
    if (!found || compare(test, found->value, wide_value_of(test.value)) == test.negated) return false;
    return from(index + 1, place);
  }

  bool evaluate(const ByteJump& jump, const PreparedRule::Step& /*step*/, std::size_t index, std::int64_t place) {
    const auto found = read(jump.field, place);
    if (!found) return false;
    std::int64_t distance = bounded(found->value) * jump.multiplier;
    if (jump.align) distance = (distance + 3) / 4 * 4;
    distance += value_of(jump.post_offset);
    const std::int64_t base = jump.from == ByteJump::From::beginning ? 0
                              : jump.from == ByteJump::From::end     ? size_
                                                                     : found->end;
    // A place before the buffer is its beginning, as in Suricata.
    const std::int64_t target = std::max<std::int64_t>(base + distance, 0);
    return target < size_ && from(index + 1, target);
  }

  bool evaluate(const ByteExtract& extract, const PreparedRule::Step& /*step*/, std::size_t index, std::int64_t place) {
    const auto found = read(extract.field, place);
    if (!found) return false;
    std::uint64_t value = found->value * extract.multiplier;
    const auto alignment = static_cast<std::uint64_t>(extract.alignment);
    value = (value + alignment - 1) / alignment * alignment;
    owner_.variables_[static_cast<std::size_t>(extract.variable)] = value;
    return from(index + 1, found->end);
  }

  bool evaluate(const ByteMath& math, const PreparedRule::Step& /*step*/, std::size_t index, std::int64_t place) {
    const auto found = read(math.field, place);
    if (!found) return false;
    const auto result = calculate(math.operation, found->value, wide_value_of(math.value));
    if (!result) return false;
    owner_.variables_[static_cast<std::size_t>(math.variable)] = *result;
    return from(index + 1, found->end);
  }

  bool evaluate(const IsDataAt& at, const PreparedRule::Step& /*step*/, std::size_t index, std::int64_t place) {
    const std::int64_t position = value_of(at.position);
    const bool there = at.relative ? place + position <= size_ : position < size_;
    return there != at.negated && from(index + 1, place);
  }

  bool evaluate(const BufferSize& test, const PreparedRule::Step& /*step*/, std::size_t index, std::int64_t place) {
    return test.length.contains(static_cast<std::uint64_t>(size_)) && from(index + 1, place);
  }

  bool evaluate(const Asn1& /*test*/, const PreparedRule::Step& /*step*/, std::size_t /*index*/,
                std::int64_t /*place*/) {
    return false;
  }

  Verifier& owner_;
  const PreparedRule::Group& group_;
  std::span<const std::uint8_t> text_;
  std::int64_t size_;
  std::int64_t begin_;  ///< The place of the text in its stream.
  std::uint32_t& steps_;
  bool is_exceeded_ = false;
};

Verifier::Verifier(const VerifyLimits& limits)
    : limits_(limits),
      packet_steps_(limits.packet_steps),
      match_data_(pcre2_match_data_create(1, nullptr)),
      context_(pcre2_match_context_create(nullptr)),
      stack_(pcre2_jit_stack_create(std::size_t{32} << 10, std::size_t{512} << 10, nullptr)) {
  if (match_data_ == nullptr || context_ == nullptr || stack_ == nullptr) throw std::bad_alloc();
  pcre2_set_match_limit(context_, limits.pcre_match);
  pcre2_set_depth_limit(context_, limits.pcre_depth);
  pcre2_set_heap_limit(context_, limits.pcre_heap_kib);
  pcre2_jit_stack_assign(context_, nullptr, stack_);
}

Verifier::~Verifier() {
  pcre2_jit_stack_free(stack_);
  pcre2_match_context_free(context_);
  pcre2_match_data_free(match_data_);
}

bool Verifier::matches(const PreparedRule& rule, const BufferTable& buffers) {
  if (!rule.is_complete()) return false;
  if (variables_.size() < rule.variables()) variables_.resize(rule.variables());
  if (packet_steps_ == 0) {
    ++counters_.packets_exceeded;
    return false;
  }
  std::uint32_t steps = limits_.steps;
  const bool matched = std::ranges::all_of(rule.groups(), [&](const PreparedRule::Group& group) {
    const auto text = buffers.get(group.buffer);
    if (!text) return false;
    Verification verification(*this, group, *text, buffers.place_of(group.buffer), steps);
    const bool holds = verification.run();
    if (verification.is_exceeded()) ++counters_.steps_exceeded;
    return holds;
  });
  packet_steps_ -= std::min(packet_steps_, limits_.steps - steps);
  return matched;
}

}  // namespace penumbra::ids
