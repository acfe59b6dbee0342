// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/parser_tree.h"
#include "cli/test_program.h"
#include "penumbra/engine.h"

namespace penumbra::cli {
namespace {

using testing::HasSubstr;

TEST(Program, ShowsItsHelpWithTheExitCodes) {
  const Outcome outcome = run({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const auto& [code, meaning] : exit_codes()) EXPECT_THAT(outcome.output, HasSubstr(meaning));
  EXPECT_EQ(outcome.errors, "");
}

TEST(Program, AloneListsItsCommands) {
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.output, "");
  const auto parser = make_parser();
  for (const auto* command : parser->get_subcommands(nullptr)) {
    EXPECT_THAT(outcome.errors, HasSubstr("\n  " + command->get_name() + " "));
    EXPECT_THAT(outcome.errors, HasSubstr(command->get_description()));
  }
  EXPECT_THAT(outcome.errors, HasSubstr("--help"));
}

TEST(Program, NamesWholeCommandsInTheirHelp) {
  EXPECT_THAT(run({"gen", "routes", "--help"}).output, HasSubstr("penumbra gen routes"));
}

TEST(Program, SaysWhatItIsMadeOf) {
  const Outcome outcome = run({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const auto& engine : engines()) {
    if (engine.create != nullptr) {
      EXPECT_THAT(outcome.output, HasSubstr(engine.name));
    }
  }
  EXPECT_THAT(outcome.output, HasSubstr("DPDK"));
}

TEST(Program, RefusesAWrongCommandLine) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> lines{
      {{}, "say what to do"},
      {{"shw"}, "did you mean 'show'?"},
      {{"show", "dropps"}, "did you mean 'drops'?"},
      {{"show", "drops", "--sockt", "x"}, "did you mean '--socket'?"},
      {{"run"}, "CONFIG is required"},
      {{"run", "x.yaml", "--for", "10 parsecs"}, "expected a duration"},
      {{"run", "x.yaml", "--for", "-1"}, "expected a duration"},
      {{"run", "x.yaml", "--for", "0s"}, "from 1ms to 87600h"},
      {{"run", "x.yaml", "--for", "99999999999s"}, "from 1ms to 87600h"},
      {{"run", "x.yaml", "--packets", "1.5"}, "expected a whole number"},
      {{"lookup", "--routes", "x", "--engine", "scaler"}, "did you mean 'scalar'?"},
      {{"gen", "routes", "--ports", "0"}, "--ports"},
      {{"gen", "routes", "--ports", "a b"}, "found 'a b'"},
      {{"gen", "routes", "--ports", "a,,c"}, "found ''"},
      {{"gen", "traffic", "-o", "x", "--size", "59"}, "60 to 9214"},
      {{"gen", "traffic", "-o", "x", "--dst", "zipf:0"}, "zipf[:FLOWS[:EXPONENT]]"},
      {{"gen", "traffic", "-o", "x", "--dst", "prefixes"}, "--routes"},
      {{"gen", "traffic", "-o", "x", "--odd", "101"}, "--odd"},
      {{"gen", "traffic", "-o", "x", "--routes", "y"}, "--dst prefixes"},
      {{"gen", "routes", "--next-hops", "-1"}, "'-1'"},
      {{"gen", "foo"}, "unknown command 'foo'; there are: routes, traffic"},
      {{"trace", "add"}, "N is required"},
      {{"lookup"}, "--routes is required: A file of routes as `ip route` prints them"},
      {{"trace", "add", "-1"}, "'-1': expected a whole number"},
  };
  for (const auto& [words, message] : lines) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 2) << testing::PrintToString(words);
    EXPECT_THAT(outcome.errors, HasSubstr(message));
    EXPECT_THAT(outcome.errors, HasSubstr("--help"));
    EXPECT_EQ(outcome.output, "");
  }
}

void expect_that_values_may_be_left_out(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const bool takes_one = option->get_expected_max() > 0 && !option->get_positional();
    if (!takes_one || option->get_expected_min() > 0) continue;
    EXPECT_NE(option->get_default_str(), "") << command.get_name() << " " << option->get_name();
  }
  for (const CLI::App* child : command.get_subcommands(nullptr)) expect_that_values_may_be_left_out(*child);
}

TEST(Program, KnowsTheValueOfEachOptionThatMayStandWithoutOne) {
  expect_that_values_may_be_left_out(*make_parser());
}

TEST(Program, SaysWhereAnInputIsWrong) {
  const ScratchFolder folder;
  const std::string config = (folder / "router.yaml").string();
  std::ofstream(config) << "ports:\n  - {name: a, device: none, snik: count}\npipeline: [ipv4]\n";
  const Outcome outcome = run({"check", config});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.errors, testing::StartsWith("penumbra: " + config + ":2:"));
  EXPECT_THAT(outcome.errors, HasSubstr("'sink'"));

  const Outcome machine_readable = run({"check", "-j", config});
  EXPECT_EQ(machine_readable.exit_code, 3);
  EXPECT_EQ(machine_readable.errors, outcome.errors);
  const auto error = nlohmann::json::parse(machine_readable.output);
  EXPECT_THAT(error["error"], testing::StartsWith("unknown key 'snik'"));  // file and line are separate members
  EXPECT_EQ(nlohmann::json::parse(run({"run", "-j", config}).output), error);
  EXPECT_EQ(error["ok"], false);
  EXPECT_EQ(error["file"], config);
  EXPECT_EQ(error["line"], 2);
}

TEST(Program, SaysThatNoRouterAnswers) {
  const ScratchFolder folder;
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"show", "ports"}, {"trace", "show"}, {"show", "engines"}}) {
    auto line = words;
    line.insert(line.end(), {"--socket", (folder / "none.sock").string()});
    EXPECT_EQ(run(line).exit_code, 5);
  }
}

TEST(Program, AnswersInJsonWhereverItIsAsked) {
  using nlohmann::json;
  for (const auto& words : std::vector<std::vector<std::string>>{{"--version", "-j"}, {"-j", "version"}}) {
    const auto built = std::ranges::count_if(engines(), [](const auto& engine) { return engine.create != nullptr; });
    EXPECT_EQ(json::parse(run(words).output)["engines"].size(), built);
  }
  const std::vector<std::string> sizes{"gen", "routes", "--count", "50", "--next-hops", "3", "--ports", "1"};
  auto routes = sizes;
  routes.insert(routes.begin(), "-j");
  const auto list = json::parse(run(routes).output);
  ASSERT_EQ(list.size(), 50U);
  EXPECT_EQ(list[0]["next_hops"][0]["dev"], "port0");
  const ScratchFolder folder;
  const std::string capture = (folder / "x.pcap").string();
  EXPECT_EQ(json::parse(run({"gen", "traffic", "-j", "--packets", "7", "--size", "100", "-o", capture}).output),
            (json{{"file", capture}, {"packets", 7}, {"bytes", 700}}));
  EXPECT_EQ(run({"gen", "traffic", "-j", "-o", "-"}).exit_code, 2);
  const auto refused = json::parse(run({"show", "-j", "ports", "--socket", (folder / "none.sock").string()}).output);
  EXPECT_EQ(refused["ok"], false);
  EXPECT_EQ(json::parse(run({"-j", "show", "ports", "--socket", (folder / "none.sock").string()}).output), refused);
  const Outcome wrong = run({"check", "-j"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(json::parse(wrong.output), (json{{"ok", false}, {"error", "CONFIG is required: The configuration"}}));
  EXPECT_EQ(json::parse(run({"run", "-j", "--fro", "1s"}).output)["error"],
            "unknown option '--fro'; did you mean '--for'?");
  const Outcome cannot = run({"-j", "man"});
  EXPECT_EQ(cannot.exit_code, 2);
  EXPECT_THAT(cannot.errors, testing::Not(HasSubstr("did you mean '--json'")));
}

TEST(Program, TakesHelpAndVersionAsCommands) {
  EXPECT_EQ(run({"help"}).output, run({"--help"}).output);
  EXPECT_EQ(run({"help", "gen", "routes"}).output, run({"gen", "routes", "--help"}).output);
  EXPECT_EQ(run({"version"}).output, run({"--version"}).output);
  const Outcome unknown = run({"help", "shw"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("did you mean 'show'?"));
  EXPECT_THAT(run({"help", "foo"}).errors, HasSubstr("there is no command 'foo'; there are: "));
  EXPECT_THAT(run({"help", "run", "foo"}).errors, HasSubstr("there is no command 'foo'\nTry"));
}

TEST(Program, WritesOverNothingPrecious) {
  const ScratchFolder folder;
  const std::string routes = (folder / "routes.txt").string(), capture = (folder / "x.pcap").string(),
                    other = (folder / "other").string();
  const std::string again = (folder / "./other").string();
  const auto refused = [](const std::vector<std::string>& words) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 2) << testing::PrintToString(words);
    return outcome.errors;
  };
  EXPECT_THAT(refused({"gen", "routes", "--count", "5", "-o", other, "--neighbours", again}),
              HasSubstr("cannot both go"));
  EXPECT_FALSE(std::filesystem::exists(other));
  ASSERT_EQ(run({"gen", "routes", "--count", "5", "-o", routes}).exit_code, 0);
  const auto size = std::filesystem::file_size(routes);
  const auto prefixes = [&routes](const std::string& output) -> std::vector<std::string> {
    return {"gen", "traffic", "--packets", "5", "--routes", routes, "--dst", "prefixes", "-o", output};
  };
  EXPECT_THAT(refused(prefixes(routes)), HasSubstr("is read"));
  EXPECT_THAT(refused({"gen", "traffic", "-o", routes}), HasSubstr("is no capture"));
  EXPECT_THAT(refused({"capture", "wan", "-w", routes, "--socket", (folder / "none.sock").string()}),
              HasSubstr("is no capture"));
  EXPECT_EQ(std::filesystem::file_size(routes), size);
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_EQ(run(prefixes(capture)).exit_code, 0);
  EXPECT_EQ(run(prefixes(capture)).exit_code, 0) << "a capture may be replaced";
}

TEST(Program, SaysWhereItLooksForARouter) {
  EXPECT_THAT(run({"show", "--help"}).output, HasSubstr("penumbra.sock"));
  // The default socket depends on the user, so root also gets a hint about other users' sockets.
  const ScratchFolder folder;
  const std::string before = getenv("XDG_RUNTIME_DIR") == nullptr ? "" : getenv("XDG_RUNTIME_DIR");
  setenv("XDG_RUNTIME_DIR", folder.path().string().c_str(), 1);
  const Outcome outcome = run({"show", "ports"});
  setenv("XDG_RUNTIME_DIR", before.c_str(), 1);
  if (outcome.exit_code == 0) GTEST_SKIP() << "a router runs here";
  EXPECT_THAT(outcome.errors, HasSubstr("--socket PATH"));
  EXPECT_THAT(outcome.errors, HasSubstr("$XDG_RUNTIME_DIR/penumbra.sock"));
}

TEST(Quantities, HaveUnits) {
  const std::vector<std::pair<std::string, std::string>> times{
      {"10", "10"}, {"10s", "10"}, {"250ms", "0.25"}, {"2m", "120"}, {"1.5h", "5400"}};
  for (auto [text, seconds] : times) {
    EXPECT_EQ(as_seconds()(text), "");
    EXPECT_EQ(text, seconds);
  }
  const std::vector<std::pair<std::string, std::string>> counts{
      {"7", "7"}, {"900k", "900000"}, {"1.5M", "1500000"}, {"2G", "2000000000"}};
  for (auto [text, number] : counts) {
    EXPECT_EQ(as_count()(text), "");
    EXPECT_EQ(text, number);
  }
  for (std::string wrong : {"abc", "99ms", "25h", "0"}) {
    EXPECT_THAT(as_confirm_time()(wrong), testing::HasSubstr("from 100ms to 24h"));
  }
  for (std::string wrong : {"", "s", "1x", "-1", "1 s", "nan", "inf", "1e3"}) {
    EXPECT_NE(as_seconds()(wrong), "") << wrong;
    EXPECT_NE(as_count()(wrong), "") << wrong;
  }
}

TEST(ParserTree, HasChoicesFilesAndInheritedOptions) {
  const ParserCommand program = describe(*make_parser());
  const auto find = [](const auto& list, const std::string& name) {
    return *std::ranges::find(list, name, [](const auto& each) { return each.name; });
  };
  const auto option = [](const ParserCommand& command, const std::string& name) {
    return *std::ranges::find_if(command.options, [&](const auto& each) { return each.names.back() == name; });
  };
  const ParserCommand lookup = find(program.commands, "lookup");
  EXPECT_EQ(option(lookup, "--engine").choices, engine_names());
  EXPECT_TRUE(option(lookup, "--routes").is_file());
  EXPECT_TRUE(option(lookup, "--routes").required);
  EXPECT_EQ(option(lookup, "--json").value, "");
  const ParserCommand drops = find(find(program.commands, "show").commands, "drops");
  EXPECT_EQ(drops.full_name, "penumbra show drops");
  EXPECT_TRUE(option(drops, "--socket").is_file());
}

}  // namespace
}  // namespace penumbra::cli
