// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/file_descriptor.h"

namespace penumbra::io {

/// Whether a Linux interface is virtual: no device is behind it that would complete checksums.
bool is_virtual_interface(const std::string& name);

/// Keeps the peer of a veth interface from handing over frames longer than its MTU, for others to segment (TSO): the
/// kernel switches that off as long as an XDP program is attached here, so one is that lets everything pass. It goes
/// with this object, or with the process.
class VethPeer {
 public:
  /// Does nothing to what is not a veth.
  explicit VethPeer(const std::string& interface);
  VethPeer(const VethPeer&) = delete;
  VethPeer& operator=(const VethPeer&) = delete;

  /// Why it did not succeed, and what to do about it; "" if it did.
  const std::string& failure() const { return failure_; }

 private:
  FileDescriptor link_;
  std::string failure_;
};

}  // namespace penumbra::io
