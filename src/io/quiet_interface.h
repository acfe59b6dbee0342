// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace penumbra::io {

/// Stops the host's stack from answering on a Linux interface that a port reads and a twin represents. Packet sockets
/// receive copies, so the stack would handle each packet twice: on the interface and on the twin. Reverse-path
/// filtering drops the packets on the interface, because no route leads to it.
///
/// Several objects may hold one interface; the last one restores the original settings. Any thread.
class QuietInterface {
 public:
  /// Applies the settings. Settings that cannot be changed (no /proc/sys, no rights) are listed in failures(). A
  /// deleted interface that returns under its name gets the settings again.
  explicit QuietInterface(std::string name);
  QuietInterface(const QuietInterface&) = delete;
  QuietInterface& operator=(const QuietInterface&) = delete;
  ~QuietInterface();

  /// Returns the `sysctl` assignments that the administrator has to make.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  std::string name_;
  std::vector<std::string> failures_;
};

}  // namespace penumbra::io
