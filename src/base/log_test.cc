// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>

namespace penumbra {
namespace {

using std::chrono::milliseconds;
using Time = std::chrono::system_clock::time_point;

/// The local time zone, for as long as this lives.
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
