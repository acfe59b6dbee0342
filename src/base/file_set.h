// SPDX-License-Identifier: Apache-2.0
//
// Several files that are written as one: all of them or none, also if the machine stops meanwhile.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace penumbra {

struct FileContent {
  std::filesystem::path file;
  std::string text;
};

/// Writes the files. Each keeps its mode, and its owner where that is permitted; a link stays a link. `journal` is a
/// file that exists while the new contents take their places: finish_files() ends what was cut off. Throws
/// std::system_error; then nothing has changed.
void write_files(const std::filesystem::path& journal, std::span<const FileContent> files);
/// Before the files are read: completes what write_files() had begun to put in place. Does nothing without a journal.
/// Throws std::system_error.
void finish_files(const std::filesystem::path& journal);

/// Identity of a file, to detect a later change.
struct FileStamp {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t seconds = 0,
               nanoseconds = 0;  ///< of the last change of its contents
  bool operator==(const FileStamp&) const = default;
};
/// All 0 if there is no such file.
FileStamp stamp_of(const std::filesystem::path& file) noexcept;

}  // namespace penumbra
