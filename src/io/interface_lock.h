// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/file_descriptor.h"

namespace penumbra::io {

/// Keeps a second router off an interface of the host: both would forward each packet. Ends with this, however the
/// process ends. The lock is a Unix socket in the abstract namespace, which network namespaces have to themselves, as
/// they have interfaces. Ports of one router share it: one that is opened again is there before the other has gone.
class InterfaceLock {
 public:
  /// Throws std::runtime_error if another router of this user or of root has it. Without an interface it locks nothing.
  explicit InterfaceLock(const std::string& interface);

 private:
  std::shared_ptr<const FileDescriptor> socket_;
};

}  // namespace penumbra::io
