// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace penumbra::io {

/// Keeps the host's stack from answering on a Linux interface that a port takes its packets from and a twin stands for:
/// packet sockets get copies, so the stack would see every packet twice, here and at the twin, and forward or answer
/// it. Reverse-path filtering drops them here, where no route points to. As it was when this object goes.
class QuietInterface {
 public:
  /// What cannot be set is left as it is (no /proc/sys, no right to write there): failures() names it.
  explicit QuietInterface(const std::string& name);
  QuietInterface(const QuietInterface&) = delete;
  QuietInterface& operator=(const QuietInterface&) = delete;
  ~QuietInterface();

  /// `sysctl` assignments that somebody else has to make.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  std::vector<std::pair<std::string, std::string>> before_;  ///< file, content
  std::vector<std::string> failures_;
};

}  // namespace penumbra::io
