// SPDX-License-Identifier: Apache-2.0
//
// Finds memory for packets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace penumbra::io {

/// Huge pages that this process may use, or the reason why there are none.
struct HugePages {
  std::uint64_t page_bytes = 0;  ///< 0: none.
  std::string mount;             ///< The hugetlbfs to use.
  std::string obstacle;          ///< Why there are no huge pages.
};

/// Looks for `bytes` of free huge pages, the largest pages first, and a writable hugetlbfs of that page size. `system`
/// is the folder of /sys/kernel/mm/hugepages, `mounts` the file /proc/mounts.
HugePages find_huge_pages(std::uint64_t bytes, const std::filesystem::path& system = "/sys/kernel/mm/hugepages",
                          const std::filesystem::path& mounts = "/proc/mounts");

/// Returns a size such as "2 MiB" or "1 GiB".
std::string size_in_words(std::uint64_t bytes);

}  // namespace penumbra::io
