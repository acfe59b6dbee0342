// SPDX-License-Identifier: Apache-2.0
#include "base/file_set.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <system_error>

#include "base/scratch_folder.h"

namespace penumbra {
namespace {

std::string read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

class FileSetTest : public testing::Test {
 protected:
  std::filesystem::path path(const char* name) const { return folder_.path() / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }
  ScratchFolder folder_;
};

TEST_F(FileSetTest, WritesAllAndLeavesNothingElse) {
  write(path("a"), "old");
  ::chmod(path("a").c_str(), 0600);
  std::filesystem::create_symlink(path("a"), path("link"));
  write_files(path("journal"), std::vector<FileContent>{{path("link"), "new a"}, {path("b"), "new b"}});
  EXPECT_EQ(read(path("a")), "new a");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read(path("b")), "new b");
  EXPECT_EQ(std::filesystem::status(path("a")).permissions(), std::filesystem::perms(0600));
  EXPECT_EQ(files(), 3U);
}

TEST_F(FileSetTest, OneThatCannotBeWrittenAndNoneIs) {
  write(path("a"), "old");
  const std::vector<FileContent> contents{{path("a"), "new"}, {path("missing") / "b", "new"}};
  EXPECT_THROW(write_files(path("journal"), contents), std::system_error);
  EXPECT_EQ(read(path("a")), "old");
  EXPECT_EQ(files(), 1U);
}

/// Simulates the files after a machine failure, before and after the change counts.
TEST_F(FileSetTest, WhatWasCutOffIsEndedOrForgotten) {
  write(path("a"), "new a");
  write(path("b"), "old b");
  write(path("b.new"), "new b");
  finish_files(path("journal"));
  EXPECT_EQ(read(path("b")), "old b");
  write(path("journal"), path("a").string() + "\n" + path("b").string() + "\n");
  finish_files(path("journal"));
  EXPECT_EQ(read(path("a")), "new a");
  EXPECT_EQ(read(path("b")), "new b");
  EXPECT_EQ(files(), 2U);
}

TEST_F(FileSetTest, AStampTellsAChange) {
  EXPECT_EQ(stamp_of(path("a")), FileStamp{});
  write(path("a"), "one");
  const FileStamp before = stamp_of(path("a"));
  EXPECT_EQ(stamp_of(path("a")), before);
  write(path("a"), "three");
  EXPECT_NE(stamp_of(path("a")), before);
}

}  // namespace
}  // namespace penumbra
