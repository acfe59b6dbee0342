// SPDX-License-Identifier: Apache-2.0
//
// Tests the search for patterns on every engine against a search for one pattern after the other.
#include "tables/patterns/patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "engines/conformance.h"
#include "penumbra/huge_memory.h"
#include "penumbra/sample_input.h"
#include "tables/patterns/automaton.h"

namespace penumbra {
namespace {

using testing::IsSupersetOf;

std::string folded(std::string text) {
  for (char& byte : text) byte = static_cast<char>(patterns::folded(static_cast<std::uint8_t>(byte)));
  return text;
}

std::set<std::uint32_t> found_by_oracle(const std::vector<std::string>& patterns, const std::string& text) {
  std::set<std::uint32_t> found;
  for (std::uint32_t i = 0; i < patterns.size(); ++i) {
    if (folded(text).find(folded(patterns[i])) != std::string::npos) found.insert(i);
  }
  return found;
}

/// Random bytes of an alphabet: few different ones, so that patterns overlap, or all.
std::string random_text(Random& random, std::uint32_t length, std::uint32_t alphabet) {
  std::string text;
  for (std::uint32_t i = 0; i < length; ++i) {
    text.push_back(static_cast<char>(alphabet == 256 ? random.below(256) : "aAbBcD\0z"[random.below(alphabet)]));
  }
  return text;
}

std::vector<std::string> random_patterns(Random& random, std::size_t count, std::uint32_t most,
                                         std::uint32_t alphabet) {
  std::vector<std::string> all;
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) all.push_back(random_text(random, 3 + random.below(most - 2), alphabet));
  return all;
}

void load(PatternTable& table, const std::vector<std::string>& patterns) {
  table.publish(std::make_shared<const Patterns>(patterns));
}

/// Runs texts, each of which continues from a state.
class Search {
 public:
  Search(const std::string& engine, PatternTable& table) : table_(table), run_(engine, "patterns", table.table()) {}

  struct Result {
    std::uint32_t after = 0;
    patterns_found found{};
  };
  std::vector<Result> operator()(const std::vector<std::string>& texts, const std::vector<std::uint32_t>& before,
                                 std::uint32_t batch_items) {
    std::size_t bytes = 1;
    for (const std::string& text : texts) bytes += text.size();
    const auto memory = std::make_shared<HugeMemory>(bytes);
    std::vector<std::uint64_t> positions;
    std::vector<std::uint32_t> lengths;
    std::uint64_t at = 0;
    for (const std::string& text : texts) {
      positions.push_back(at);
      lengths.push_back(static_cast<std::uint32_t>(text.size()));
      std::ranges::copy(std::as_bytes(std::span(text)), memory->data() + at);
      at += text.size();
    }
    std::vector<std::uint32_t> after(texts.size(), 77);
    std::vector<patterns_found> found(texts.size());
    const auto queue = run_.open_queue();
    if (batch_items % 2 == 0) queue->share(memory);
    (*queue)({before.data(), positions.data(), lengths.data()}, {after.data(), found.data()}, texts.size(), batch_items,
             {memory->data(), nullptr});
    std::vector<Result> results;
    results.reserve(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) results.push_back({after[i], found[i]});
    return results;
  }
  /// Returns the patterns of the listed sets.
  std::set<std::uint32_t> patterns_of(const patterns_found& found) const {
    std::set<std::uint32_t> all;
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(found.count, PATTERNS_MOST_FOUND); ++i) {
      const auto members = table_.patterns()->patterns_of(found.set[i]);
      all.insert(members.begin(), members.end());
    }
    return all;
  }

 private:
  PatternTable& table_;
  conformance::ShaderRun run_;
};

class PatternSearch : public testing::TestWithParam<std::string> {
 protected:
  NoReaders readers_;
  PatternTable table_{readers_};
};

TEST_P(PatternSearch, AreFoundAsOneAfterTheOther) {
  Random random(1);
  for (const std::uint32_t alphabet : {2U, 5U, 8U, 256U}) {
    for (const std::size_t count : {1U, 20U, 300U}) {
      const std::vector<std::string> patterns = random_patterns(random, count, 3 + alphabet, alphabet);
      load(table_, patterns);
      std::vector<std::string> texts;
      for (int i = 0; i < (kSanitizerScale > 1 ? 20 : 200); ++i) {
        texts.push_back(random_text(random, random.below(i % 10 == 0 ? 1500 : 60), alphabet));
        if (i % 3 == 0) texts.back() += patterns[random.below(static_cast<std::uint32_t>(count))] + "a";
      }
      Search search(GetParam(), table_);
      for (const std::uint32_t batch_items : conformance::kBatchSizes) {
        const auto results = search(texts, std::vector<std::uint32_t>(texts.size(), PATTERNS_BEGIN), batch_items);
        for (std::size_t i = 0; i < texts.size(); ++i) {
          const std::set<std::uint32_t> right = found_by_oracle(patterns, texts[i]);
          ASSERT_EQ(results[i].found.generation, table_.patterns()->generation());
          if (results[i].found.count <= PATTERNS_MOST_FOUND) {
            ASSERT_EQ(search.patterns_of(results[i].found), right) << i << " of alphabet " << alphabet;
          } else {
            ASSERT_THAT(right, IsSupersetOf(search.patterns_of(results[i].found)));
            ASSERT_GE(right.size(), 1U);
          }
        }
      }
    }
  }
}

TEST_P(PatternSearch, AreFoundWhereverAStreamIsCut) {
  Random random(2);
  const std::vector<std::string> patterns{"abc", "bcaab", "cab", std::string("a\0b", 3), "aabbaabb"};
  load(table_, patterns);
  const std::string stream = "xABCaabbAabb" + std::string("a\0b", 3) + "caabz";
  const std::set<std::uint32_t> right = found_by_oracle(patterns, stream);
  Search search(GetParam(), table_);
  std::vector<std::string> firsts, seconds, thirds;
  for (std::size_t first = 0; first <= stream.size(); ++first) {
    for (std::size_t second = first; second <= stream.size(); ++second) {
      firsts.push_back(stream.substr(0, first));
      seconds.push_back(stream.substr(first, second - first));
      thirds.push_back(stream.substr(second));
    }
  }
  std::vector<std::uint32_t> states(firsts.size(), PATTERNS_BEGIN);
  std::vector<std::set<std::uint32_t>> found(firsts.size());
  for (const auto& part : {firsts, seconds, thirds}) {
    const auto results = search(part, states, 64);
    for (std::size_t i = 0; i < part.size(); ++i) {
      states[i] = results[i].after;
      found[i].merge(search.patterns_of(results[i].found));
    }
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], right) << firsts[i].size() << ", " << seconds[i].size();
}

TEST_P(PatternSearch, AreReplacedAsAGeneration) {
  Search search(GetParam(), table_);
  const std::vector<std::uint32_t> begin{PATTERNS_BEGIN};
  for (const std::string word : {"first", "second", "third"}) {
    load(table_, std::vector<std::string>{word, "other"});
    const auto result = search({"a first, a SECOND, a third"}, begin, 1).front();
    EXPECT_EQ(result.found.generation, table_.patterns()->generation());
    EXPECT_EQ(search.patterns_of(result.found), std::set<std::uint32_t>{0}) << word;
  }
  load(table_, {});
  EXPECT_EQ(search({"a first"}, begin, 1).front().found.count, 0U);
}

TEST_P(PatternSearch, SayThatMoreWereFoundThanAreListed) {
  std::vector<std::string> patterns;
  std::string text;
  for (int i = 0; i < PATTERNS_MOST_FOUND + 1; ++i) {
    patterns.emplace_back(4, static_cast<char>('a' + i));
    text += patterns.back();
  }
  load(table_, patterns);
  Search search(GetParam(), table_);
  const std::vector<std::uint32_t> begin(2, PATTERNS_BEGIN);
  const auto results = search({text, text.substr(4) + text.substr(4)}, begin, 2);
  EXPECT_GT(results[0].found.count, std::uint32_t{PATTERNS_MOST_FOUND});
  EXPECT_EQ(results[1].found.count, std::uint32_t{PATTERNS_MOST_FOUND}) << "each counts once";
}

PENUMBRA_FOR_EACH_ENGINE(PatternSearch);
PENUMBRA_WITHOUT_AVX512(PatternSearch);

TEST(PatternsSample, LetsAutoMeasureByLength) {
  NoReaders readers;
  PatternTable table(readers);
  load(table, {"select", "password", "union"});
  const auto engine = create_engine(kAuto);
  engine->use_table(table.table());
  const Shader* const shader = engine->find_shader("patterns");
  ASSERT_NE(shader, nullptr);
  engine->announce(*shader, table.table());
  const auto queue = engine->open_queue();
  engine->load_calibrations({});
  std::vector<std::uint32_t> lengths;
  for (const EngineCalibration& each : engine->calibrations()) lengths.push_back(each.length);
  EXPECT_THAT(lengths, testing::ElementsAre(64, 512, 1408));
}

TEST(PatternsSample, BeginsTextsThatHavePatterns) {
  const auto sample = make_sample_input("patterns");
  ASSERT_NE(sample, nullptr);
  EXPECT_EQ(sample->table(), nullptr) << "the table of the traffic decides the cost";
  std::vector<std::uint32_t> before(3);
  sample->fill_column(0, std::as_writable_bytes(std::span(before)));
  EXPECT_THAT(before, testing::Each(PATTERNS_BEGIN));
  std::string text(1000, '\0');
  sample->fill_source(std::as_writable_bytes(std::span(text)));
  EXPECT_THAT(text, testing::HasSubstr("password"));
}

TEST(Patterns, TakeNoShortPattern) {
  const std::vector<std::string> patterns{"abc", "ab"};
  EXPECT_THROW(Patterns{patterns}, std::invalid_argument);
  EXPECT_EQ(Patterns{std::span(patterns).first(1)}.patterns_of(0).size(), 1U);
}

TEST(Patterns, FindAllSetsOfAText) {
  Random random(4);
  for (int round = 0; round < 200; ++round) {
    const std::vector<std::string> patterns = random_patterns(random, 40, 6, 5);
    const Patterns automaton(patterns);
    const std::string text = random_text(random, random.below(300), 5);
    std::set<std::uint32_t> found;
    automaton.search({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, [&](std::uint32_t set) {
      const auto members = automaton.patterns_of(set);
      found.insert(members.begin(), members.end());
    });
    ASSERT_EQ(found, found_by_oracle(patterns, text));
  }
}

TEST(Patterns, AreCompact) {
  Random random(3);
  const std::vector<std::string> patterns = random_patterns(random, 5000 / kSanitizerScale, 20, 256);
  std::size_t letters = 0;
  for (const std::string& pattern : patterns) letters += pattern.size();
  // About an entry of 12 bytes a letter, apart from the table of pairs.
  EXPECT_LT(Patterns(patterns).bytes(), 300'000 + 20 * letters);
}

}  // namespace
}  // namespace penumbra
