// SPDX-License-Identifier: Apache-2.0
//
// The state of a rule while its options are read, and the table of keywords.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "functions/ids/rules/option.h"
#include "functions/ids/rules/rule.h"
#include "functions/ids/rules/source.h"

namespace penumbra::ids {

/// A payload test with its buffer, in the rule's order.
struct PlacedTest {
  Buffer buffer;
  PayloadTest test;
  std::string_view place;  ///< The option's value in the rule.
};

class RuleBuilder {
 public:
  RuleBuilder(const RuleSource& source_text, Rule& rule_to_fill) : source(source_text), rule(rule_to_fill) {}

  const RuleSource& source;
  Rule& rule;
  std::vector<PlacedTest> tests;
  std::optional<Buffer> sticky;  ///< The sticky buffer that is in force.

  /// Returns the error for a value, or a part of it, that the keyword does not take.
  RuleError wrong(const Option& option, std::string_view part, const std::string& hint) const;

  /// Adds a test to the sticky buffer or the payload. A relative test without a sticky buffer goes to the buffer of the
  /// test before it.
  void add(PayloadTest test, std::string_view place, bool relative);
  void add_to(Buffer buffer, PayloadTest test, std::string_view place);
  /// Returns the content before a modifier. Throws RuleError if there is none.
  Content& last_content(const Option& option);
  PlacedTest& last_content_place(const Option& option);

  /// Notes that a keyword or buffer belongs to an application. Throws RuleError if the rule has another one.
  void require(Application application, const Option& option);

  std::uint64_t number(const Option& option, std::string_view part, std::uint64_t least, std::uint64_t most) const;
  Interval interval(const Option& option, std::uint64_t most) const;
  /// Reads a number, or the name of a variable that an earlier option has stored.
  Operand operand(const Option& option, std::string_view part, std::int64_t least, std::int64_t most) const;
  /// Returns the index of a variable that an option stores.
  int store_variable(const Option& option, std::string_view name);

  /// Checks the rule as a whole and groups the tests by buffer.
  void finish();

 private:
  void check_content(const PlacedTest& test) const;
  /// Checks that each variable is stored before it is read, in the order of evaluation.
  void check_variables() const;
};

/// A keyword of the rule language.
struct Keyword {
  enum class Value : std::uint8_t { none, required, optional };
  std::string_view name;
  Value value = Value::required;
  void (*read)(RuleBuilder& rule, const Option& option) = nullptr;
};

std::span<const Keyword> rule_keywords();         ///< msg, sid, classtype ...
std::span<const Keyword> header_keywords();       ///< ttl, flags, itype ...
std::span<const Keyword> content_keywords();      ///< content and its modifiers, isdataat ...
std::span<const Keyword> pcre_keywords();         ///< pcre
std::span<const Keyword> number_keywords();       ///< byte_test, byte_jump ...
std::span<const Keyword> session_keywords();      ///< flow, flowbits, threshold ...
std::span<const Keyword> application_keywords();  ///< urilen, ssl_state ...

/// Reads one option into the rule. Throws RuleError.
void read_option(RuleBuilder& rule, const Option& option);

/// Returns all keywords and buffer names, sorted.
const std::vector<std::string>& keyword_names();

}  // namespace penumbra::ids
