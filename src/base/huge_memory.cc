// SPDX-License-Identifier: Apache-2.0
#include "penumbra/huge_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

namespace penumbra {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

}  // namespace

HugeMemory::HugeMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  // One additional huge page ensures that the mapping has an aligned range; the rest is unmapped.
  const std::size_t kept = whole_pages(bytes);
  const std::size_t mapped = kept + kHugePage;
  void* const memory =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot map " + std::to_string(mapped) + " bytes of memory");
  }
  auto* const start = static_cast<std::byte*>(memory);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(start) % kHugePage;
  const std::size_t before = misaligned == 0 ? 0 : kHugePage - misaligned;
  if (before > 0) munmap(start, before);
  munmap(start + before + kept, kHugePage - before);
  data_ = start + before;
  // Only advice: a kernel without huge pages refuses it, and small pages are sufficient.
  madvise(data_, kept, MADV_HUGEPAGE);
}

HugeMemory::~HugeMemory() {
  if (data_ != nullptr && owner_ == nullptr) munmap(data_, whole_pages(bytes_));
}

}  // namespace penumbra
