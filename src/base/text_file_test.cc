// SPDX-License-Identifier: Apache-2.0
#include "base/text_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "penumbra/errors.h"
#include "testing/message_of.h"

namespace penumbra {
namespace {

class TextFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  const std::filesystem::path path_ =
      std::filesystem::path(::testing::TempDir()) / ("text_file." + std::to_string(getpid()));
};

TEST_F(TextFile, IsReadToTheLastByte) {
  for (const std::size_t bytes : {0UL, 1UL, 65'535UL, 65'536UL, 65'537UL, 1'000'000UL}) {
    std::string text(bytes, 'x');
    for (std::size_t i = 0; i < bytes; i += 97) text[i] = static_cast<char>(i);
    std::ofstream(path_, std::ios::binary) << text;
    EXPECT_TRUE(read_text_file(path_) == text) << bytes;
  }
}

TEST_F(TextFile, LosesItsByteOrderMark) {
  std::ofstream(path_, std::ios::binary) << "\xEF\xBB\xBF" << "a\n";
  EXPECT_EQ(read_text_file(path_), "a\n");
  for (const std::string& text : {std::string("\xFF\xFE"
                                              "a\0",
                                              4),
                                  std::string("\xFE\xFF\0a", 4)}) {
    std::ofstream(path_, std::ios::binary) << text;
    EXPECT_EQ(message_of([&] { read_text_file(path_); }),
              path_.string() + ":1:1: begins with the byte order mark of UTF-16; save the file as UTF-8");
  }
}

TEST_F(TextFile, MayBeOnlySoLong) {
  std::ofstream(path_) << std::string(100'000, 'x');
  EXPECT_EQ(read_text_file(path_, 100'000).size(), 100'000U);
  for (const auto& file : {path_, std::filesystem::path("/dev/zero")}) {
    EXPECT_EQ(message_of([&] { read_text_file(file, 99'999); }), file.string() + ": is longer than 99999 bytes");
  }
}

TEST_F(TextFile, SaysWhyItCannotBeRead) {
  const auto message = [](const std::filesystem::path& file) -> std::string {
    return message_of([&] { read_text_file(file); });
  };
  EXPECT_EQ(message(path_), path_.string() + ": cannot be read: No such file or directory");
  EXPECT_EQ(message("/"), "/: cannot be read: Is a directory");
}

}  // namespace
}  // namespace penumbra
