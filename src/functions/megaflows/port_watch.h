// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace penumbra::megaflows {

/// Watches the interfaces that have the ports' names: the twins, which a switch takes down with its ports.
class PortWatch {
 public:
  PortWatch();
  /// Returns by index whether the port's interface exists and was taken down. A port with an empty name is not down.
  std::vector<bool> down(std::span<const std::string> names) const;

 private:
  FileDescriptor control_;
};

}  // namespace penumbra::megaflows
