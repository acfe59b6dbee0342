// SPDX-License-Identifier: Apache-2.0
//
// A device thread with its device: opens the device, registers memory with it, maintains copies of tables there, and
// handles its failure. All engines of devices handle a failure in the same steps:
//
//   1. Nothing more is submitted (stop_work()).
//   2. The work of the device is waited for, at most the patience. If it does not end, or the failure is final, the
//      device is abandoned: nothing waits for it again, and it is never closed, because that might never return.
//   3. Batches in flight that end are answered (wait_for_answers()). Workers run all others on the CPU.
//   4. An abandoned device is kept until the process ends, with all memory that it may still access. Any other device
//      is closed, and opened again after a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cuda/device_thread.h"
#include "cuda/table_copies.h"
#include "penumbra/huge_memory.h"

namespace penumbra::offload {

using cuda::Device;
using cuda::DeviceError;

/// Host memory that the device can access.
struct SharedRange {
  SharedRange(std::shared_ptr<const HugeMemory> memory, bool needed) : host(std::move(memory)), is_needed(needed) {}

  const std::shared_ptr<const HugeMemory> host;
  const bool is_needed;                   ///< True if the device is useless without this memory.
  std::atomic<std::byte*> seen{nullptr};  ///< Device address of `host`; null if the device cannot access it.
  std::atomic<bool> is_everything{
      false};  ///< True if the device sees all memory, at its own addresses, as it sees this.

  // Used on the device thread only.
  std::byte* device = nullptr;  ///< Counterpart in device memory, if the engine wants counterparts.
  unsigned users = 1;

  /// True if the device can access any byte of the process.
  bool reaches_all() const noexcept { return is_reached() && is_everything.load(std::memory_order_relaxed); }
  bool is_reached() const noexcept { return seen.load(std::memory_order_relaxed) != nullptr; }
  /// True if the bytes lie in this memory.
  bool has(const std::byte* begin, std::size_t bytes) const noexcept {
    return begin >= host->data() && begin + bytes <= host->data() + host->bytes();
  }
  /// Returns the device address of a host byte: of the byte `itself`, or in the counterpart.
  std::byte* address_of(const std::byte* byte, bool itself) const noexcept {
    return (itself ? seen.load(std::memory_order_relaxed) : device) + (byte - host->data());
  }
};

class DeviceOwner : public cuda::DeviceThread {
 public:
  // Call the following functions on any thread; they wait for the device thread.

  /// Registers host memory with the device and keeps it alive. Each share() needs one unshare(). If the device lacks
  /// memory for the counterpart and `is_needed` is set, the device counts as failed.
  std::shared_ptr<SharedRange> share(std::shared_ptr<const HugeMemory> host, bool is_needed = false);
  void unshare(SharedRange& range);
  /// Adds a table's copies, which ring doorbell().
  void add(cuda::TableCopies& table);
  Doorbell& doorbell() { return doorbell_; }

  /// Counts bytes of payload that a worker gathers into staging memory, or that it will copy back from there.
  void count_copied(std::size_t bytes) noexcept { copied_.fetch_add(bytes, std::memory_order_relaxed); }

  /// Returns the name of the device that was opened last; empty if none was. Any thread.
  std::string device_name() const;

 protected:
  struct Options {
    std::chrono::milliseconds patience;     ///< Time limit of the device's work, after which the device has failed.
    std::chrono::milliseconds retry_after;  ///< Time from a failure to the next attempt to open the device.
    bool has_counterparts = false;          ///< True if shared memory gets a counterpart in device memory.
  };
  DeviceOwner(const char* name, std::chrono::milliseconds longest_sleep, Options options);

  // The device thread calls the following functions. Those that are not noexcept throw DeviceError.

  /// Opens the device and returns its memory and streams.
  virtual std::shared_ptr<Device> open_device() = 0;
  /// Begins work, with the shared memory registered.
  virtual void begin_work() = 0;
  /// Waits for the device's work.
  virtual void quieten() = 0;
  /// Stops submitting after a failure; answers what the device was not given.
  virtual void stop_work() noexcept = 0;
  /// Ends a kernel that would keep the device from being closed.
  virtual void end_kernel() {}
  /// Returns the streams that have work, besides copy_stream().
  virtual std::vector<unsigned> busy_streams() const { return {}; }
  /// Returns the stream for copies of tables.
  virtual unsigned copy_stream() const = 0;
  /// Lets nobody wait for the device again.
  virtual void abandon_device(const std::string& reason) noexcept { memory_->abandon(reason); }
  /// Waits for batches in flight after a failure, each at most its time limit, and answers those that end.
  virtual void wait_for_answers() noexcept = 0;
  /// Answers all batches that are still in flight. The device is closed, or abandoned and kept.
  virtual void end_work() noexcept = 0;

  /// Opens the device again when it is time to. Returns true if there is a device.
  bool has_device();
  bool is_final() const noexcept { return is_final_; }
  /// Adds memory that the caller made.
  void hold(std::shared_ptr<SharedRange> range);
  /// Removes one user of the memory.
  void drop(SharedRange& range);
  void reach(SharedRange& range);
  void let_go(SharedRange& range) noexcept;
  /// Continue the updates of tables' copies; true if anything was done, or is left to do.
  bool advance_tables();
  bool tables_have_work() const noexcept;
  void note_copied(std::vector<std::string>& lines) const;

  void open() final;
  void close() final;
  void lose(const DeviceError& error) final;

  std::shared_ptr<Device> memory_;  ///< Memory and streams of the device; null without a device.
  std::vector<std::shared_ptr<SharedRange>> ranges_;
  std::vector<cuda::TableCopies*> tables_;
  mutable std::mutex words_mutex_;  ///< Guards the following members.
  std::string name_, failure_;

 private:
  void stop_everything() noexcept;
  void keep_for_good();

  const Options limits_;
  std::atomic<std::uint64_t> copied_{0};
  bool is_final_ = false;
  Clock::time_point retry_at_;
};

}  // namespace penumbra::offload
