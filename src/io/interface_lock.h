// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/file_descriptor.h"

namespace penumbra::io {

/// Prevents a second router from using an interface of the host, because both routers would forward each packet. The
/// lock ends with this object or the process. The lock is a Unix socket in the abstract namespace, which is separate
/// for each network namespace, like interfaces. Ports of one router share the lock, so that a port can be opened again
/// before the old port is closed.
class InterfaceLock {
 public:
  /// Throws std::runtime_error if another router of this user or of root holds the lock. An empty name locks nothing.
  explicit InterfaceLock(const std::string& interface);

 private:
  std::shared_ptr<const FileDescriptor> socket_;
};

}  // namespace penumbra::io
