// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa_engine/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

namespace penumbra::rsa_engine {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void fail() {
  throw std::system_error(errno, std::generic_category(), "cannot share memory");
}

FileDescriptor make_file() {
  FileDescriptor file(memfd_create("penumbra-rsa", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ftruncate(file.get(), sizeof(Region)) != 0 || fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) fail();
  return file;
}

}  // namespace

MappedRegion::MappedRegion(int descriptor) {
  void* const memory = mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (memory == MAP_FAILED) fail();
  madvise(memory, sizeof(Region), MADV_DONTFORK);
  // All members are atomic numbers, and the file has zeros. So the objects exist already in the memory.
  region_ = std::launder(static_cast<Region*>(memory));
}

MappedRegion::MappedRegion(FileDescriptor& descriptor) : MappedRegion((descriptor = make_file()).get()) {}

std::unique_ptr<MappedRegion> MappedRegion::of_peer(const FileDescriptor& descriptor) {
  struct stat status{};
  if (fstat(descriptor.get(), &status) != 0 || status.st_size != sizeof(Region) ||
      fcntl(descriptor.get(), F_GET_SEALS) != kSeals) {
    throw std::runtime_error("the engine passed no region");
  }
  return std::unique_ptr<MappedRegion>(new MappedRegion(descriptor.get()));
}

MappedRegion::~MappedRegion() {
  munmap(region_, sizeof(Region));
}

}  // namespace penumbra::rsa_engine
