// SPDX-License-Identifier: Apache-2.0
//
// What the machine offers as packet memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace penumbra::io {

/// Huge pages that this process may use, or why there are none.
struct HugePages {
  std::uint64_t page_bytes = 0;  ///< 0: none
  std::string mount;             ///< the hugetlbfs to use
  std::string obstacle;          ///< why none, in words
};

/// Looks for `bytes` of free huge pages, the largest pages first, and a hugetlbfs of that page size that this process
/// may write to. `system` is the folder of /sys/kernel/mm/hugepages, `mounts` the file /proc/mounts.
HugePages find_huge_pages(std::uint64_t bytes, const std::filesystem::path& system = "/sys/kernel/mm/hugepages",
                          const std::filesystem::path& mounts = "/proc/mounts");

/// "2 MiB", "1 GiB".
std::string size_in_words(std::uint64_t bytes);

}  // namespace penumbra::io
