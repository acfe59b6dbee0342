// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/file_descriptor.h"
#include "crypto/rsa_engine/ring.h"

namespace penumbra::rsa_engine {

/// A region in this process's memory, which a child process does not inherit.
class MappedRegion {
 public:
  /// Makes a region whose size nobody can change, so that no access to it fails. Sets `descriptor`, for the peer.
  /// Throws std::system_error.
  explicit MappedRegion(FileDescriptor& descriptor);
  /// Maps the region of a peer. Throws std::runtime_error unless the descriptor is of a region whose size nobody can
  /// change.
  static std::unique_ptr<MappedRegion> of_peer(const FileDescriptor& descriptor);
  ~MappedRegion();
  MappedRegion(const MappedRegion&) = delete;
  MappedRegion& operator=(const MappedRegion&) = delete;

  Region& operator*() const { return *region_; }
  Region* operator->() const { return region_; }

 private:
  explicit MappedRegion(int descriptor);
  Region* region_;
};

}  // namespace penumbra::rsa_engine
