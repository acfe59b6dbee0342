// SPDX-License-Identifier: Apache-2.0
//
// A rule structure with ClassBench rules, compared with linear search. Compiled into each structure's test program.
#include "tables/rules/real_rules.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/sanitizer_scale.h"
#include "penumbra/table.h"
#include "tables/rules/rules_testing.h"

namespace penumbra {
namespace {

/// A file of rules, a file of headers, and the number of headers to look up. Without a file of headers (""), the test
/// makes headers from the rules.
struct RealRules {
  const char* rules;
  const char* headers;
  std::size_t asked;
};

constexpr RealRules kFiles[]{{"acl1_1k", "", 2000},
                             {"ipc1_1k", "", 2000},
                             {"fw1_1k", "", 2000},
                             {"cs_acl_1k", "cs_acl_1k_trace", 2000},
                             {"cs_fw_1k", "cs_fw_1k_trace", 2000},
                             {"cs_ipc_1k", "cs_ipc_1k_trace", 2000},
                             {"acl2_10k", "", 1000},
                             {"fw2_10k", "", 1000},
                             {"gen_acl1_100k.gz", "gen_acl1_100k_trace.gz", 300},
                             {"gen_fw1_100k.gz", "gen_fw1_100k_trace.gz", 300},
                             {"gen_ipc1_100k.gz", "gen_ipc1_100k_trace.gz", 300}};

/// The right answers for a file's rules, which are the same on every engine.
struct Course {
  std::vector<Rule> rules;
  std::vector<RuleWords> keys;
  std::vector<std::size_t> right;  ///< places of the winners in `rules`, counted from 1; 0: none
};

const Course& course_of(const RealRules& file) {
  static std::map<std::string, Course> courses;
  Course& course = courses[file.rules];
  if (!course.rules.empty()) return course;
  course.rules = real_rules::read_rules(real_rules::path_of(file.rules));
  if (std::string(file.headers).empty()) {
    rules_testing::Rules source({}, 1);
    for (std::size_t i = 0; i < file.asked; ++i) {
      const auto any = source.random().below(static_cast<std::uint32_t>(course.rules.size()));
      course.keys.push_back(source.key_of(course.rules[any].match));
    }
  } else {
    const auto headers = real_rules::read_headers(real_rules::path_of(file.headers));
    for (std::size_t i = 0; i < headers.size(); i += headers.size() / file.asked) course.keys.push_back(headers[i]);
  }
  course.keys.resize(course.keys.size() / kSanitizerScale);
  for (const RuleWords& key : course.keys) {
    std::size_t place = 0;
    while (place < course.rules.size() && !matches(course.rules[place].match, RuleFields::ipv4, key)) ++place;
    course.right.push_back(place == course.rules.size() ? 0 : place + 1);
  }
  return course;
}

class RealRuleLookup : public testing::TestWithParam<std::string> {};

TEST_P(RealRuleLookup, EqualsLinearSearch) {
  for (const RealRules& file : kFiles) {
    if (!exists(real_rules::path_of(file.rules))) GTEST_SKIP() << real_rules::path_of(file.rules) << " is not there";
    const Course& course = course_of(file);
    ASSERT_GT(course.rules.size(), 700U) << file.rules;
    NoReaders no_readers;
    const auto table = rules_testing::make_table(RuleFields::ipv4, no_readers);
    RuleSet rules(RuleFields::ipv4, no_readers);
    rules.feed(*table);
    for (std::size_t i = 0; i < course.rules.size(); ++i) ASSERT_EQ(rules.add(course.rules[i]), i + 1);
    rules.commit();
    conformance::ShaderRun run(GetParam(), table->shader(), table->table());
    const auto found = rules_testing::answers_of(run, RuleFields::ipv4, course.keys, 64);
    std::size_t matched = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i], course.right[i]) << file.rules << ", key " << i;
      matched += found[i] != RULES_NONE ? 1 : 0;
    }
    EXPECT_GT(matched, found.size() / 2) << file.rules;
  }
}

PENUMBRA_FOR_EACH_ENGINE(RealRuleLookup);

}  // namespace
}  // namespace penumbra
