// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

#include "base/testing_stderr_pipe.h"

namespace penumbra {
namespace {

using std::chrono::milliseconds;
using Time = std::chrono::system_clock::time_point;

/// Sets the local time zone during its lifetime.
class Zone {
 public:
  explicit Zone(const char* name) {
    setenv("TZ", name, 1);
    tzset();
  }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;
  ~Zone() {
    unsetenv("TZ");
    tzset();
  }
};

TEST(Log, ToAFullPipeWaitsForNobodyAndTellsWhatIsLost) {
  const StderrPipe pipe;
  pipe.fill_but(0);
  log_info("one");
  log_warning("two\nthree");
  EXPECT_FALSE(write_to_stderr("progress"));
  pipe.drain();
  log_info("four");
  log_info("five");
  EXPECT_EQ(texts_of(pipe.drain()), "3 lines of the log were lost: standard error took no more\nfour\nfive\n");
  pipe.fill_but(0);
  log_info("six");
  pipe.drain();
  log_info("seven");
  EXPECT_EQ(texts_of(pipe.drain()), "1 line of the log was lost: standard error took no more\nseven\n");
  EXPECT_TRUE(write_to_stderr("progress"));
  EXPECT_EQ(pipe.drain(), "progress");
}

TEST(Log, CutsALineThatAPipeMayNotTakeAtOnce) {
  const StderrPipe pipe;
  pipe.fill_but(4096);
  log_info(std::string(100'000, 'x'));  // blocks if the line is written whole
  const std::string log = pipe.drain();
  EXPECT_TRUE(log.ends_with("x... (100030 bytes)\n")) << log.substr(log.size() - 60);
  EXPECT_FALSE(write_to_stderr(std::string(5000, 'x')));
}

TEST(WriteToStderr, GivesUpWhenNobodyReads) {
  const StderrPipe pipe;
  pipe.fill_but(4096);
  EXPECT_FALSE(write_to_stderr(std::string(5000, 'x'), milliseconds(1)));
  EXPECT_TRUE(pipe.drain().ends_with(std::string(4096, 'x')));
}

TEST(WriteToStderr, WaitsForAReaderThatIsLate) {
  const StderrPipe pipe;
  pipe.fill_but(0);
  std::string all;
  std::thread reader([&] {
    while (std::ranges::count(all, 'x') < 70'000) all += pipe.drain();
  });
  const std::string text(70'000, 'x');  // more than the pipe holds
  EXPECT_TRUE(write_to_stderr(text, std::chrono::minutes(1)));
  reader.join();
  EXPECT_TRUE(all.ends_with(text));
}

TEST(LogLines, BeginWithTheLocalTime) {
  const Time time(milliseconds(1'795'766'400'042));
  {
    const Zone utc("UTC0");
    EXPECT_EQ(log_lines(LogLevel::info, "port 'wan': link up", false, time),
              "2026-11-27T08:00:00.042+00:00 port 'wan': link up\n");
  }
  const Zone newfoundland("NST3:30");
  EXPECT_EQ(log_lines(LogLevel::warning, "x", false, time), "2026-11-27T04:30:00.042-03:30 x\n");
}

TEST(LogLines, BeginWithThePriorityForTheJournal) {
  EXPECT_EQ(log_lines(LogLevel::error, "x", true, Time{}), "<3>x\n");
  EXPECT_EQ(log_lines(LogLevel::warning, "x", true, Time{}), "<4>x\n");
  EXPECT_EQ(log_lines(LogLevel::info, "x", true, Time{}), "<6>x\n");
}

TEST(LogLines, AreAsManyAsTheTextHas) {
  EXPECT_EQ(log_lines(LogLevel::info, "a\nb\n", true, Time{}), "<6>a\n<6>b\n");
  EXPECT_EQ(log_lines(LogLevel::info, "", true, Time{}), "");
}

TEST(Journal, IsWhatTheVariableNames) {
  struct stat status{};
  ASSERT_EQ(fstat(STDERR_FILENO, &status), 0);
  const std::string here = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  EXPECT_TRUE(is_journal(STDERR_FILENO, here.c_str()));
  EXPECT_FALSE(is_journal(STDERR_FILENO, (here + "1").c_str()));
  EXPECT_FALSE(is_journal(STDERR_FILENO, ("1" + here).c_str()));
  EXPECT_FALSE(is_journal(STDERR_FILENO, nullptr));
  EXPECT_FALSE(is_journal(STDERR_FILENO, ""));
  EXPECT_FALSE(is_journal(-1, here.c_str()));
}

}  // namespace
}  // namespace penumbra
