// SPDX-License-Identifier: Apache-2.0
#include "crypto/secret_memory.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace penumbra {

void erase_bytes(void* memory, std::size_t bytes) {
  explicit_bzero(memory, bytes);
}

void forbid_dumps() {
  prctl(PR_SET_DUMPABLE, 0);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

SecretMemory::SecretMemory(std::size_t bytes) {
  if (bytes == 0) return;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "cannot map " + std::to_string(bytes) + " bytes for keys");
  }
  if (mlock(memory, bytes) != 0 || madvise(memory, bytes, MADV_DONTDUMP) != 0) {
    const int error = errno;
    munmap(memory, bytes);
    throw std::system_error(error, std::generic_category(),
                            "cannot lock " + std::to_string(bytes) + " bytes for keys in memory (ulimit -l)");
  }
  memory_ = {static_cast<std::byte*>(memory), EraseAndUnmap{bytes}};
}

void EraseAndUnmap::operator()(std::byte* memory) const noexcept {
  erase_bytes(memory, bytes);
  munmap(memory, bytes);
}

}  // namespace penumbra
