// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace penumbra::io {

/// Keeps the host's stack from answering on a Linux interface that a port takes its packets from and a twin stands for:
/// packet sockets get copies, so the stack would see every packet twice, here and at the twin, and forward or answer
/// it. Reverse-path filtering drops them here, where no route points to. Several objects may hold one interface: the
/// last that goes gives it back the settings that the first found. Any thread.
class QuietInterface {
 public:
  /// What cannot be set is left as it is (no /proc/sys, no right to write there): failures() names it. An interface
  /// that was deleted and came back under its name is set again.
  explicit QuietInterface(std::string name);
  QuietInterface(const QuietInterface&) = delete;
  QuietInterface& operator=(const QuietInterface&) = delete;
  ~QuietInterface();

  /// `sysctl` assignments that somebody else has to make.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  std::string name_;
  std::vector<std::string> failures_;
};

}  // namespace penumbra::io
