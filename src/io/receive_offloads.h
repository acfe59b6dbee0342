// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace penumbra::io {

/// Stops a Linux interface from merging received segments into frames longer than its MTU (GRO and LRO). A packet
/// socket would receive the merged frames and have no room for them. The destructor restores the settings.
class ReceiveOffloads {
 public:
  /// Switches the offloads off.
  explicit ReceiveOffloads(std::string interface);
  ReceiveOffloads(const ReceiveOffloads&) = delete;
  ReceiveOffloads& operator=(const ReceiveOffloads&) = delete;
  ~ReceiveOffloads();

  /// Returns why switching failed and advice, or "" on success.
  const std::string& failure() const { return failure_; }

 private:
  struct Offload;
  static const std::vector<Offload> kOffloads;

  std::string interface_;
  std::vector<const Offload*> switched_off_;
  std::string failure_;
};

}  // namespace penumbra::io
