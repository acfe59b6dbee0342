// SPDX-License-Identifier: Apache-2.0
#include "base/file_set.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "base/file_descriptor.h"

namespace penumbra {
namespace {

constexpr const char* kNew = ".new";  ///< Suffix of a new file until it replaces the old file.

[[noreturn]] void fail(const std::filesystem::path& file, const char* what) {
  throw std::system_error(errno, std::generic_category(), file.string() + ": " + what);
}

std::filesystem::path new_name(std::filesystem::path file) {
  return file += kNew;
}

void sync_folder(const std::filesystem::path& file) {
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const FileDescriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor || ::fsync(descriptor.get()) != 0) fail(folder, "cannot be written to the disk");
}

/// Writes one file. The new file gets the mode and owner of `like`, if that file exists.
void write_one(const std::filesystem::path& file, const std::string& text, const std::filesystem::path& like) {
  constexpr mode_t kUsual = 0644, kMode = 07777;
  const FileDescriptor descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kUsual));
  if (!descriptor) fail(file, "cannot be written");
  struct stat status{};
  if (::stat(like.c_str(), &status) == 0) {
    [[maybe_unused]] const int owned = ::fchown(descriptor.get(), status.st_uid, status.st_gid);
    if (::fchmod(descriptor.get(), status.st_mode & kMode) != 0) fail(file, "cannot be given its mode");
  }
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(descriptor.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) fail(file, "cannot be written");
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  if (::fsync(descriptor.get()) != 0) fail(file, "cannot be written to the disk");
}

void put_in_place(const std::vector<std::filesystem::path>& files) {
  for (const auto& file : files) {
    if (::rename(new_name(file).c_str(), file.c_str()) != 0 && errno != ENOENT) fail(file, "cannot be replaced");
    sync_folder(file);
  }
}

}  // namespace

void write_files(const std::filesystem::path& journal, std::span<const FileContent> files) {
  std::vector<std::filesystem::path> targets;
  std::string list;
  for (const auto& [file, text] : files) {
    targets.push_back(std::filesystem::weakly_canonical(file));
    list += targets.back().string() + "\n";
    if (targets.back().string().find('\n') != std::string::npos) {
      throw std::invalid_argument(file.string() + ": a file's name must not have several lines");
    }
  }
  try {
    for (std::size_t i = 0; i < files.size(); ++i) write_one(new_name(targets[i]), files[i].text, targets[i]);
    if (targets.size() > 1) {
      write_one(new_name(journal), list, targets.front());
      put_in_place({journal});  // From here on the change counts.
    }
  } catch (...) {
    for (const auto& target : targets) ::unlink(new_name(target).c_str());
    ::unlink(new_name(journal).c_str());
    throw;
  }
  put_in_place(targets);
  if (targets.size() > 1) ::unlink(journal.c_str());
}

void finish_files(const std::filesystem::path& journal) {
  struct stat status{};
  if (::lstat(journal.c_str(), &status) != 0) return;
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) {
    throw std::runtime_error(journal.string() +
                             ": a save of another user was cut off: start the router as that user, "
                             "or delete this file to do without that save");
  }
  std::ifstream list(journal);
  std::vector<std::filesystem::path> targets;
  for (std::string line; std::getline(list, line);) targets.emplace_back(line);
  put_in_place(targets);
  ::unlink(journal.c_str());
}

FileStamp stamp_of(const std::filesystem::path& file) noexcept {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = static_cast<std::uint64_t>(status.st_size),
          .seconds = status.st_mtim.tv_sec,
          .nanoseconds = status.st_mtim.tv_nsec};
}

}  // namespace penumbra
