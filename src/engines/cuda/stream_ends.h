// SPDX-License-Identifier: Apache-2.0
//
// Waits for the ends of streams. Afterwards a call that waits for the GPU can return.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <thread>

#include "cuda/device.h"

namespace penumbra::cuda {

using Deadline = std::chrono::steady_clock::time_point;

/// Waits for the stream's last mark. Throws the device's failure, or after `deadline` a final DeviceError, whose text
/// names `patience`.
inline void wait_for_mark(Device& device, unsigned stream, Deadline deadline, std::chrono::milliseconds patience) {
  while (!device.reached(stream)) {
    if (std::chrono::steady_clock::now() > deadline) throw endless("what the GPU was given", patience);
    std::this_thread::yield();
  }
}

/// Waits for the end of all work in the stream `copies`, and for the last marks of the streams `others`. Throws the
/// device's failure. Throws a final DeviceError if the wait takes longer than `patience`, or after a device failure.
inline void wait_for_the_end(Device& device, unsigned copies, std::span<const unsigned> others,
                             std::chrono::milliseconds patience) {
  device.throw_if_lost();
  const Deadline deadline = std::chrono::steady_clock::now() + patience;
  device.mark(copies);
  wait_for_mark(device, copies, deadline, patience);
  for (const unsigned stream : others) wait_for_mark(device, stream, deadline, patience);
}

/// Waits for the end of all work in these streams of a device that has failed. Throws a final DeviceError if the device
/// does not reach or mark the ends, so that it cannot be closed. The end of a stream whose query fails is unknown, so
/// the function still waits for the other streams.
inline void wait_after_failure(Device& device, std::span<const unsigned> streams, std::chrono::milliseconds patience) {
  device.throw_if_lost();
  const Deadline deadline = std::chrono::steady_clock::now() + patience;
  try {
    for (const unsigned stream : streams) device.mark(stream);
  } catch (const DeviceError& error) {
    if (error.is_final()) throw;
    throw final_failure(std::string("where what the GPU was given ends is not marked, ") + error.what());
  }
  for (const unsigned stream : streams) {
    try {
      wait_for_mark(device, stream, deadline, patience);
    } catch (const DeviceError& error) {
      if (error.is_final()) throw;
    }
  }
}

}  // namespace penumbra::cuda
