// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace penumbra::io {

/// Keeps a Linux interface from joining received segments into frames longer than its MTU (GRO and LRO), which a packet
/// socket would be given as they are and have no room for. As it was when this object goes.
class ReceiveOffloads {
 public:
  /// Switches them off.
  explicit ReceiveOffloads(std::string interface);
  ReceiveOffloads(const ReceiveOffloads&) = delete;
  ReceiveOffloads& operator=(const ReceiveOffloads&) = delete;
  ~ReceiveOffloads();

  /// Why it did not succeed, and what to do about it; "" if it did.
  const std::string& failure() const { return failure_; }

 private:
  struct Offload;
  static const std::vector<Offload> kOffloads;

  std::string interface_;
  std::vector<const Offload*> switched_off_;
  std::string failure_;
};

}  // namespace penumbra::io
