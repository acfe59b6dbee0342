// SPDX-License-Identifier: Apache-2.0
#include "runtime/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "runtime/unconfirmed.h"
#include "testing/message_of.h"

namespace penumbra::runtime {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

std::string error(const std::vector<std::string>& arguments) {
  return message_of<std::invalid_argument>([&] { read_command_request(arguments); });
}

TEST(CommandRequest, OptionsThenEntries) {
  const std::vector<std::string> arguments{"--stage",   "two", "--source", "a.txt",
                                           "--confirm", "1.5", "one",      "two\nthree"};
  const CommandRequest request = read_command_request(arguments);
  EXPECT_EQ(request.stage, "two");
  EXPECT_EQ(request.entries.name, "a.txt");
  EXPECT_EQ(request.entries.text, "one\ntwo\nthree\n");
  EXPECT_EQ(request.confirm, milliseconds(1500));
}

TEST(CommandRequest, SaysWhatIsWrong) {
  EXPECT_EQ(error({}), "command line: there is no entry");
  EXPECT_EQ(error({"--source", "a.txt", " \n\t"}), "a.txt: there is no entry");
  EXPECT_EQ(error({"--stage"}), "--stage needs a value");
  EXPECT_EQ(error({"--stagge", "x", "entry"}), "unknown option '--stagge'; did you mean '--stage'?");
  EXPECT_THAT(error({"--confirm", "0", "entry"}), testing::HasSubstr("expected 0.1 to 86400 seconds, found '0'"));
  EXPECT_THAT(error({"--confirm", "nan", "entry"}), testing::HasSubstr("found 'nan'"));
}

TEST(Commands, TellWhetherTheyChangeAnything) {
  using Requests = std::vector<std::pair<std::string, std::string>>;
  const Requests looking{
      {"show", "ports"}, {"capture", "drops"}, {"reload", "plan"}, {"trace", "show"}, {"config", "show"}};
  for (const auto& [command, topic] : looking) EXPECT_FALSE(changes_something(command, topic)) << command;
  const Requests changing{
      {"reload", "apply"}, {"trace", "add"}, {"config", "save"}, {"config", "rollback"}, {"x", "show"}};
  for (const auto& [command, topic] : changing) EXPECT_TRUE(changes_something(command, topic)) << command;
  for (const auto& name : command_names()) {
    EXPECT_FALSE(changes_something(name, "show")) << name;
    EXPECT_TRUE(changes_something(name, "add")) << name;
    EXPECT_NE(topic_of(name), "") << name;
  }
}

/// Checks every command, so that those of a new function are covered too.
TEST(Commands, NeedFullAccessToChangeAnything) {
  for (const auto& command : router_commands()) {
    for (const auto& action : command.actions) {
      EXPECT_EQ(needs_full_access(command.name, action.name), action.changes) << command.name << ' ' << action.name;
    }
    EXPECT_FALSE(needs_full_access(command.name, "show")) << command.name;
  }
  using Requests = std::vector<std::pair<std::string, std::string>>;
  const Requests refused{{"config", "set"},      {"config", "unset"}, {"config", "save"},   {"config", "confirm"},
                         {"config", "rollback"}, {"reload", "apply"}, {"reload", "plan"},   {"trace", "add"},
                         {"trace", "clear"},     {"capture", "port"}, {"capture", "drops"}, {"later", "show"}};
  for (const auto& [command, topic] : refused) {
    EXPECT_TRUE(needs_full_access(command, topic)) << command << ' ' << topic;
  }
  const Requests taken{{"show", "ports"}, {"config", "show"}, {"trace", "show"}, {"explain", "wan"}};
  for (const auto& [command, topic] : taken) {
    EXPECT_FALSE(needs_full_access(command, topic)) << command << ' ' << topic;
  }
}

class UnconfirmedTest : public testing::Test {
 protected:
  void add(int change, std::optional<std::chrono::nanoseconds> time) {
    const std::lock_guard lock(mutex_);
    unconfirmed_.add([this, change] { undone_.push_back(change); }, time);
  }
  std::vector<int> undone() {
    const std::lock_guard lock(mutex_);
    return undone_;
  }

  std::mutex mutex_;
  std::vector<int> undone_;
  std::vector<std::string> log_;
  Unconfirmed unconfirmed_{mutex_, [this](const std::string& text) { log_.push_back(text); }};
};

TEST_F(UnconfirmedTest, TakesBackTheLatestFirst) {
  add(1, std::nullopt);  // No change awaits confirmation, so this one stays.
  add(2, milliseconds(20));
  add(3, std::nullopt);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (undone().empty() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_THAT(undone(), ElementsAre(3, 2));
  const std::lock_guard lock(mutex_);
  EXPECT_THAT(log_, ElementsAre("2 changes were not confirmed in time and are taken back"));
  EXPECT_FALSE(unconfirmed_.left());
}

TEST_F(UnconfirmedTest, WhatIsConfirmedStays) {
  add(1, std::chrono::hours(1));
  const std::lock_guard lock(mutex_);
  EXPECT_GT(unconfirmed_.left().value_or(std::chrono::seconds(0)).count(), 3000);
  EXPECT_TRUE(unconfirmed_.confirm());
  EXPECT_FALSE(unconfirmed_.confirm());
  EXPECT_EQ(unconfirmed_.roll_back(), 0U);
  EXPECT_TRUE(undone_.empty());
}

TEST_F(UnconfirmedTest, OneThatFailsDoesNotKeepTheOthers) {
  add(1, std::chrono::hours(1));
  const std::lock_guard lock(mutex_);
  unconfirmed_.add([] { throw std::length_error("full"); }, std::nullopt);
  EXPECT_EQ(unconfirmed_.roll_back(), 2U);
  EXPECT_THAT(undone_, ElementsAre(1));
  EXPECT_THAT(log_, ElementsAre("a change cannot be taken back: full"));
}

}  // namespace
}  // namespace penumbra::runtime
