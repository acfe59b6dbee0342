// SPDX-License-Identifier: Apache-2.0
//
// Evaluates the payload tests of a rule, with backtracking: a rule matches if some choice of occurrences of its
// contents and expressions satisfies all tests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "functions/ids/rules/expression.h"
#include "functions/ids/rules/rule.h"
#include "functions/ids/verify/buffer_table.h"
#include "functions/ids/verify/literal.h"

struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
struct pcre2_real_jit_stack_8;

namespace penumbra::ids {

/// The payload tests of a rule, prepared for verification. Read-only, so that workers can share it. Refers to the rule,
/// which must outlive it.
class PreparedRule {
 public:
  struct Step {
    const PayloadTest* test = nullptr;
    std::optional<Literal> literal;          ///< Of a content.
    std::unique_ptr<Expression> expression;  ///< Of a pcre.
    /// True if the steps after this one depend on where this one matches, so that another match is worth a try.
    bool is_followed_by_relative = false;
  };
  struct Group {
    Buffer buffer;
    std::vector<Step> steps;
  };

  /// Throws std::runtime_error if an expression cannot be compiled.
  explicit PreparedRule(const Rule& rule);

  const std::vector<Group>& groups() const { return groups_; }
  std::size_t variables() const { return variables_; }
  /// Returns false if the rule has a test that verification does not know: asn1, or numbers in the order of DCE/RPC.
  bool is_complete() const { return is_complete_; }

 private:
  std::vector<Group> groups_;
  std::size_t variables_ = 0;
  bool is_complete_ = true;
};

/// Bounds on the work for one rule and for one packet.
struct VerifyLimits {
  std::uint32_t steps = 3000;  ///< Tests that are evaluated for one rule, each occurrence counted.
  /// Steps for all rules of a packet. An expression counts as kStepsOfExpression.
  std::uint32_t packet_steps = 100'000;
  std::uint32_t pcre_match = 3500;
  std::uint32_t pcre_depth = 1500;
  std::uint32_t pcre_heap_kib = 1024;
};

/// Counts verifications that a limit ended. Such a rule does not match.
struct VerifyCounters {
  std::uint64_t steps_exceeded = 0;
  std::uint64_t pcre_exceeded = 0;
  std::uint64_t packets_exceeded = 0;  ///< Rules that were not verified because of VerifyLimits::packet_steps.

  std::uint64_t all() const { return steps_exceeded + pcre_exceeded + packets_exceeded; }
};

/// Verifies rules. Each worker has its own.
class Verifier {
 public:
  explicit Verifier(const VerifyLimits& limits = {});
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;
  ~Verifier();

  /// Begins a packet, whose rules share VerifyLimits::packet_steps.
  void begin() { packet_steps_ = limits_.packet_steps; }
  /// Returns true if all payload tests of the rule hold. A rule with tests on an absent buffer does not match.
  bool matches(const PreparedRule& rule, const BufferTable& buffers);

  const VerifyCounters& counters() const { return counters_; }

 private:
  friend class Verification;

  VerifyLimits limits_;
  static constexpr std::uint32_t kStepsOfExpression = 30;

  VerifyCounters counters_;
  std::uint32_t packet_steps_ = 0;
  std::vector<std::uint64_t> variables_;
  pcre2_real_match_data_8* match_data_;
  pcre2_real_match_context_8* context_;
  pcre2_real_jit_stack_8* stack_;
};

}  // namespace penumbra::ids
