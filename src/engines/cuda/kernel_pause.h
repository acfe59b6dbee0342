// SPDX-License-Identifier: Apache-2.0
//
// Some calls of the driver wait until nothing runs on the GPU: giving memory back, sharing the host's, loading kernels,
// making graphs ready. A kernel that never ends would have them wait for ever. So whoever keeps one ends it for as long
// as there is such a call in the process, and starts it anew afterwards.
#pragma once

#include "base/doorbell.h"

namespace penumbra::cuda {

/// While there is one, no kernel runs that never ends. Waits until these have ended; not for a thread that keeps one.
class KernelPause {
 public:
  KernelPause();
  ~KernelPause();
  KernelPause(const KernelPause&) = delete;
  KernelPause& operator=(const KernelPause&) = delete;
};

/// What the owner of such a kernel looks at. `owner` is rung when its kernel has to end, and when it may run again.
class ResidentKernel {
 public:
  explicit ResidentKernel(Doorbell& owner);
  ~ResidentKernel();
  ResidentKernel(const ResidentKernel&) = delete;
  ResidentKernel& operator=(const ResidentKernel&) = delete;

  /// Whether the kernel may run, or go on. Any time.
  static bool is_allowed() noexcept;
  /// Before the kernel is started; false: not now.
  bool begin() noexcept;
  /// The kernel has ended, or nobody will ever know.
  void end() noexcept;

 private:
  Doorbell& owner_;
  bool runs_ = false;
};

}  // namespace penumbra::cuda
