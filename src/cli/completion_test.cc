// SPDX-License-Identifier: Apache-2.0
//
// Runs the completion script of bash in a real bash, and compares the scripts of other shells with the parser.
#include "cli/completion.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/man_page.h"
#include "cli/test_program.h"

namespace penumbra::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

ParserCommand program() {
  return describe(*make_parser());
}

std::string output_of(const std::string& command) {
  std::string output;
  std::array<char, 4096> bytes{};
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  for (std::size_t count = 0; (count = fread(bytes.data(), 1, bytes.size(), pipe)) > 0;)
    output.append(bytes.data(), count);
  pclose(pipe);
  return output;
}

/// Replaces the program that the scripts ask for names.
constexpr const char* kRouter =
    "penumbra() { case \"$*\" in 'completion names ports') printf 'wan\\nlan\\n' ;; "
    "'completion names ports --socket s') echo far ;; 'completion names functions') echo acl.2 ;; 'completion names "
    "reasons') echo ipv4.no_route ;; esac; }\n";

class BashCompletion : public testing::Test {
 protected:
  BashCompletion() { std::ofstream(folder_ / "completion") << bash_completion(program()); }

  /// Returns the words that bash offers after these words, of which the last is incomplete.
  std::vector<std::string> offered(const std::string& words) {
    std::ofstream(folder_ / "test.bash")
        << "cd " << folder_.path().string() << "\ncompopt() { :; }\n"
        << kRouter << "source ./completion\nCOMP_WORDS=(" << words
        << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_penumbra\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    std::istringstream lines(output_of("bash --norc --noprofile " + (folder_ / "test.bash").string() + " 2>&1"));
    std::vector<std::string> found;
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) found.push_back(line);
    }
    return found;
  }

  ScratchFolder folder_;
};

TEST_F(BashCompletion, OffersCommands) {
  std::vector<std::string> names;
  for (const auto& command : program().commands) names.push_back(command.name);
  EXPECT_THAT(offered("penumbra ''"), UnorderedElementsAreArray(names));
  EXPECT_THAT(offered("penumbra loo"), ElementsAre("lookup"));
  EXPECT_THAT(offered("penumbra gen ''"), ElementsAre("routes", "traffic", "rules", "headers"));
  EXPECT_THAT(offered("penumbra show dr"), ElementsAre("drops"));
}

TEST_F(BashCompletion, OffersOptionsOfTheCommand) {
  EXPECT_THAT(offered("penumbra gen routes --ne"), ElementsAre("--next-hops", "--neighbours"));
  EXPECT_THAT(offered("penumbra run x.yaml --pa"), ElementsAre("--packets"));
  EXPECT_THAT(offered("penumbra show drops --so"), ElementsAre("--socket"));
}

TEST_F(BashCompletion, OffersValues) {
  EXPECT_THAT(offered("penumbra lookup --engine ''"), UnorderedElementsAreArray(engine_names()));
  EXPECT_THAT(offered("penumbra lookup --engine = au"), ElementsAre("auto"));  // bash splits words at =
  EXPECT_THAT(offered("penumbra run --for ''"), IsEmpty());
}

TEST_F(BashCompletion, OffersFiles) {
  std::ofstream(folder_ / "my router.yaml") << "";
  EXPECT_THAT(offered("penumbra run my"), ElementsAre("my router.yaml"));
  EXPECT_THAT(offered("penumbra lookup --routes comp"), ElementsAre("completion"));
}

TEST_F(BashCompletion, OffersNamesOfTheRunningRouter) {
  EXPECT_THAT(offered("penumbra capture ''"), ElementsAre("wan", "lan"));
  EXPECT_THAT(offered("penumbra show ports l"), ElementsAre("lan"));
  EXPECT_THAT(offered("penumbra explain --socket s --port ''"), ElementsAre("far"));
  EXPECT_THAT(offered("penumbra capture drops --reason ip"), ElementsAre("ipv4.no_route"));
  EXPECT_THAT(offered("penumbra acl add --stage ''"), ElementsAre("acl.2"));
}

/// Calls `visit` with every command.
void for_each_command(const ParserCommand& command, const auto& visit) {
  visit(command);
  for (const auto& child : command.commands) for_each_command(child, visit);
}

TEST(Completion, NamesEveryCommandAndOptionForEveryShell) {
  const ParserCommand all = program();
  const std::string zsh = zsh_completion(all), fish = fish_completion(all);
  for_each_command(all, [&](const ParserCommand& command) {
    std::string function = "_" + command.full_name;
    std::ranges::replace(function, ' ', '_');
    EXPECT_THAT(zsh, HasSubstr(function + "() {"));
    EXPECT_THAT(fish, HasSubstr(fmt::format("__penumbra_at \"{}\"", command.full_name)));
    for (const auto& option : command.options) {
      const std::string& name = option.names.back();
      EXPECT_THAT(zsh, HasSubstr(name));
      EXPECT_THAT(fish, HasSubstr(name.starts_with("--") ? "-l " + name.substr(2) : "-s " + name.substr(1)));
    }
  });
}

TEST(ManPage, IsGoodRoff) {
  const ScratchFolder folder;
  std::ofstream(folder / "penumbra.1") << man_page(program());
  if (output_of("groff --version 2>/dev/null").empty()) GTEST_SKIP() << "groff is not installed";
  EXPECT_EQ(output_of("groff -ww -man -Tutf8 " + (folder / "penumbra.1").string() + " 2>&1 >/dev/null"), "");
  const std::string text = output_of("groff -man -Tascii -P-cbou " + (folder / "penumbra.1").string());
  for_each_command(program(), [&](const ParserCommand& command) { EXPECT_THAT(text, HasSubstr(command.full_name)); });
  for (const auto& [code, meaning] : exit_codes()) EXPECT_THAT(text, HasSubstr(meaning.substr(0, 20)));
}

}  // namespace
}  // namespace penumbra::cli
