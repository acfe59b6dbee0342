// SPDX-License-Identifier: Apache-2.0
#include "io/memory.h"

#include <fmt/format.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>

namespace penumbra::io {
namespace {

/// Returns the free bytes by page size.
std::map<std::uint64_t, std::uint64_t, std::greater<>> free_pages(const std::filesystem::path& system) {
  std::map<std::uint64_t, std::uint64_t, std::greater<>> free;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(system, failed)) {
    constexpr std::string_view kPrefix = "hugepages-";
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    std::uint64_t kibibytes = 0, pages = 0;
    std::istringstream(name.substr(kPrefix.size())) >> kibibytes;
    std::ifstream(entry.path() / "free_hugepages") >> pages;
    free[kibibytes * 1024] = pages * kibibytes * 1024;
  }
  return free;
}

/// Returns a mounted hugetlbfs of this page size that this process may write to, or "".
std::string writable_mount(const std::filesystem::path& mounts, std::uint64_t page_bytes) {
  std::ifstream table(mounts);
  for (std::string line; std::getline(table, line);) {
    std::string device, folder, type;
    std::istringstream(line) >> device >> folder >> type;
    struct statfs info{};
    if (type != "hugetlbfs" || ::access(folder.c_str(), W_OK) != 0) continue;
    if (::statfs(folder.c_str(), &info) == 0 && static_cast<std::uint64_t>(info.f_bsize) == page_bytes) return folder;
  }
  return "";
}

}  // namespace

HugePages find_huge_pages(std::uint64_t bytes, const std::filesystem::path& system,
                          const std::filesystem::path& mounts) {
  std::string obstacle = "none are reserved";
  for (const auto& [page_bytes, free] : free_pages(system)) {
    if (free == 0) continue;
    if (free < bytes) {
      obstacle = fmt::format("only {} free in pages of {}, {} needed", size_in_words(free), size_in_words(page_bytes),
                             size_in_words(bytes));
      continue;
    }
    const std::string mount = writable_mount(mounts, page_bytes);
    if (!mount.empty()) return {page_bytes, mount, ""};
    obstacle = fmt::format("no hugetlbfs for pages of {} that this user may write to", size_in_words(page_bytes));
  }
  return {0, "", obstacle};
}

std::string size_in_words(std::uint64_t bytes) {
  constexpr std::uint64_t kKibi = 1024, kMebi = kKibi * 1024, kGibi = kMebi * 1024;
  if (bytes >= kGibi && bytes % kGibi == 0) return fmt::format("{} GiB", bytes / kGibi);
  if (bytes >= kMebi) return fmt::format("{} MiB", (bytes + kMebi - 1) / kMebi);
  return fmt::format("{} KiB", (bytes + kKibi - 1) / kKibi);
}

}  // namespace penumbra::io
