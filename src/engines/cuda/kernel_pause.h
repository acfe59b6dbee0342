// SPDX-License-Identifier: Apache-2.0
//
// Some driver calls wait until no kernel runs on the GPU: freeing memory, registering host memory, loading kernels and
// instantiating graphs. Such a call would wait for ever for a resident kernel. The owner of a resident kernel therefore
// ends it for the time of such a call in this process, and starts it again afterwards.
#pragma once

#include "base/doorbell.h"

namespace penumbra::cuda {

/// Keeps resident kernels from running during its lifetime. The constructor waits until they have ended. Threads that
/// own a resident kernel must not use it.
class KernelPause {
 public:
  KernelPause();
  ~KernelPause();
  KernelPause(const KernelPause&) = delete;
  KernelPause& operator=(const KernelPause&) = delete;
};

/// State of a resident kernel, for its owner. The doorbell `owner` rings when the kernel must end, and when it may run
/// again.
class ResidentKernel {
 public:
  explicit ResidentKernel(Doorbell& owner);
  ~ResidentKernel();
  ResidentKernel(const ResidentKernel&) = delete;
  ResidentKernel& operator=(const ResidentKernel&) = delete;

  /// True if a kernel may start or continue. May be called at any time.
  static bool is_allowed() noexcept;
  /// Call before the start of the kernel. Returns false if the kernel may not start now.
  bool begin() noexcept;
  /// Call when the kernel has ended, or when its end can no longer be observed.
  void end() noexcept;

 private:
  Doorbell& owner_;
  bool runs_ = false;
};

}  // namespace penumbra::cuda
