// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/file_descriptor.h"

namespace penumbra::io {

/// Returns true if a Linux interface is virtual, so that no device completes checksums.
bool is_virtual_interface(const std::string& name);

/// Stops the peer of a veth interface from sending frames longer than its MTU for segmentation (TSO). The kernel
/// disables TSO while an XDP program is attached here, so this class attaches a program that passes everything. The
/// program is detached with this object or the process.
class VethPeer {
 public:
  /// Does nothing if the interface is not a veth.
  explicit VethPeer(const std::string& interface);
  VethPeer(const VethPeer&) = delete;
  VethPeer& operator=(const VethPeer&) = delete;

  /// Returns why attaching failed and advice, or "" on success.
  const std::string& failure() const { return failure_; }

 private:
  FileDescriptor link_;
  std::string failure_;
};

}  // namespace penumbra::io
