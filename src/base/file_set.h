// SPDX-License-Identifier: Apache-2.0
//
// Writes several files atomically: all of them or none, even if the machine fails meanwhile.
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

/// Writes the files. Each file keeps its mode, and its owner if that is permitted; a link stays a link. `journal` is a
/// file that exists while the new contents replace the old: finish_files() completes an interrupted write. Throws
/// std::system_error; then nothing has changed.
void write_files(const std::filesystem::path& journal, std::span<const FileContent> files);
/// Completes an interrupted write_files(). Call before reading the files. Does nothing without a journal. Throws
/// std::system_error.
void finish_files(const std::filesystem::path& journal);

/// Identity of a file, to detect a later change.
struct FileStamp {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t seconds = 0,
               nanoseconds = 0;  ///< Time of the last change of the contents.
  bool operator==(const FileStamp&) const = default;
};
/// Returns the stamp of a file, or all 0 if the file does not exist.
FileStamp stamp_of(const std::filesystem::path& file) noexcept;

}  // namespace penumbra
