// SPDX-License-Identifier: Apache-2.0
//
// A device for tests that needs no GPU. A stream's work runs only when the launch thread asks whether it is done, and
// the streams take turns at random. Code that reads memory too early, or reuses it too early, therefore gets wrong
// answers. Device memory is separate from host memory. The device fails on request, and continues with its work after
// it is abandoned. As with a GPU, no resident kernel may run during some of its calls.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "cuda/device_failure.h"
#include "cuda/engine.h"
#include "cuda/kernel_pause.h"
#include "penumbra/shader_entry.h"
#include "variants.h"

namespace penumbra::cuda {

/// Faults that the test injects, and counters of the devices. May be used on any thread.
struct FakeFaults {
  std::atomic<bool> sees_all_memory{false};   ///< See Device. Set before a device is opened.
  std::atomic<bool> absent{false};            ///< Opening fails.
  std::atomic<int> absent_device{-1};         ///< Opening this device fails.
  std::atomic<bool> no_memory{false};         ///< Allocation fails.
  std::atomic<int> launches_until_fault{-1};  ///< Launches until one fails; below 0: none fails.
  std::atomic<bool> fault_is_final{false};
  std::atomic<bool> fault_is_late{false};       ///< The query for the end fails instead of the launch.
  std::atomic<bool> fault_after_an_end{false};  ///< The next launch that is queried has ended; queries fail afterwards.
  std::atomic<int> asked_in_vain{0};            ///< Queries of an abandoned device about launches known to have ended.
  std::atomic<bool> stuck{false};               ///< No work is ever done.
  std::atomic<int> stuck_stream{-1};            ///< No work of this stream is ever done.
  std::atomic<bool> fails_to_mark{false};       ///< The next mark fails.
  std::atomic<bool> fails_to_mark_after_a_fault{false};  ///< The next mark after a failed launch fails.
  std::atomic<int> opened{0}, destroyed{0}, abandoned{0};
  std::atomic<int> shared{0};                  ///< Memories that are registered.
  std::atomic<std::uint64_t> turns{0};         ///< Turns of a thread; each turn checks for a device failure.
  std::atomic<int> most_segments{0};           ///< Most segments of a launch so far.
  std::array<std::atomic<int>, 2> launches{};  ///< Launches of each device.
  std::array<DeviceFailure, 2> losses{};       ///< Failure of each device.
  std::atomic<const std::byte*> copied_from{nullptr}, copied_to{nullptr};  ///< Host addresses of the last copies.
  std::atomic<const std::byte*> source{nullptr}, destination{nullptr};     ///< Bases of the last segment's payload.

  std::atomic<std::byte> secret{std::byte{0}};  ///< A byte that only a secret table has.
  std::atomic<int> freed_with_secret{0};        ///< Memories of devices that were freed with that byte in them.
  std::atomic<int> freed{0};                    ///< Memories of devices that were freed.
  void note_freed(const std::byte* memory, std::size_t bytes) {
    ++freed;
    if (secret.load() != std::byte{0} && std::find(memory, memory + bytes, secret.load()) != memory + bytes) {
      ++freed_with_secret;
    }
  }

  /// Makes abandoned devices finish their earlier work.
  void finish_abandoned() {
    const std::lock_guard lock(mutex);
    for (const auto& finish : unfinished) finish();
  }
  void add_unfinished(std::function<void()> finish) {
    const std::lock_guard lock(mutex);
    unfinished.push_back(std::move(finish));
  }
  std::mutex mutex;  ///< Guards the following members.
  std::vector<std::function<void()>> unfinished;
};

/// Shaders of fake devices, as functions over a view and a batch.
using FakeShaders = Variants<void (*)(const void* view, const Batch& batch)>;

class FakeDevice final : public Device {
 public:
  FakeDevice(unsigned device, unsigned streams, FakeFaults& faults)
      : index_(device), faults_(faults), streams_(streams), has_ended_(streams) {
    if (faults_.absent || faults_.absent_device == static_cast<int>(device)) throw DeviceError("there is none", false);
    throw_if_lost();
    ++faults_.opened;
  }
  ~FakeDevice() override {
    const KernelPause pause;
    expect_that_it_returns();
    finish();
    for (const auto& [address, memory] : memory_) faults_.note_freed(address, bytes_.at(address));
    if (!sees_all_memory_) faults_.shared -= static_cast<int>(shared_.size());
    ++faults_.destroyed;
  }
  void abandon(const std::string& reason) noexcept override {
    faults_.losses[index_].tell(reason);
    faults_.add_unfinished([this] { finish(); });
    is_abandoned_ = true;
    ++faults_.abandoned;
  }
  void throw_if_lost() const override {
    ++faults_.turns;
    faults_.losses[index_].throw_if_told();
  }
  std::string name() const override { return "fake"; }
  bool sees_all_memory() const override { return sees_all_memory_; }

  std::byte* do_allocate(std::size_t bytes) override {
    const KernelPause pause;
    throw_if_lost();
    expect_that_it_returns();
    if (faults_.no_memory) throw DeviceError("out of memory", false);
    auto memory = std::make_unique<std::byte[]>(bytes);
    std::memset(memory.get(), 0xA5, bytes);
    std::byte* const address = memory.get();
    memory_.emplace(address, std::move(memory));
    bytes_[address] = bytes;
    return address;
  }
  void do_release(std::byte* memory) noexcept override {
    const KernelPause pause;
    if (is_lost()) return;
    expect_that_it_returns();
    finish();
    faults_.note_freed(memory, bytes_[memory]);
    EXPECT_EQ(memory_.erase(memory), 1U);
  }
  std::byte* do_share(std::byte* host, std::size_t bytes) override {
    const KernelPause pause;
    throw_if_lost();
    expect_that_it_returns();
    EXPECT_TRUE(shared_.emplace(host, bytes).second);
    if (!sees_all_memory_) ++faults_.shared;
    return host;
  }
  void do_unshare(std::byte* host) noexcept override {
    const KernelPause pause;
    if (is_lost()) return;
    expect_that_it_returns();
    EXPECT_EQ(shared_.erase(host), 1U);
    if (!sees_all_memory_) --faults_.shared;
  }

  void to_device(unsigned stream, std::byte* device, const std::byte* host, std::size_t bytes) override {
    EXPECT_TRUE(is_shared(host, bytes));
    faults_.copied_from = host;
    give(stream, [=] { std::memcpy(device, host, bytes); });
  }
  void scatter(unsigned stream, std::span<const CopyRange> ranges) override {
    EXPECT_TRUE(is_shared(reinterpret_cast<const std::byte*>(ranges.data()), ranges.size_bytes()));
    for (const CopyRange& range : ranges) EXPECT_TRUE(is_shared(range.from, range.bytes));
    give(stream, [ranges] {
      for (const CopyRange& range : ranges) std::memcpy(range.to, range.from, range.bytes);
    });
  }
  void to_host(unsigned stream, std::byte* host, const std::byte* device, std::size_t bytes) override {
    EXPECT_TRUE(is_shared(host, bytes));
    faults_.copied_to = host;
    give(stream, [=] { std::memcpy(host, device, bytes); });
  }
  void erase(unsigned stream, std::byte* device, std::size_t bytes) override {
    give(stream, [=] { std::memset(device, 0, bytes); });
  }
  void on_device(unsigned stream, std::byte* to, const std::byte* from, std::size_t bytes) override {
    give(stream, [=] { std::memcpy(to, from, bytes); });
  }
  void launch(unsigned stream, const Launch& launch) override {
    EXPECT_LE(launch.segments.size(), kMostSegments);
    faults_.source = launch.segments.back().source;
    faults_.destination = launch.segments.back().destination;
    faults_.most_segments = std::max(faults_.most_segments.load(), static_cast<int>(launch.segments.size()));
    ++faults_.launches[index_];
    const bool fails = faults_.launches_until_fault >= 0 && faults_.launches_until_fault-- == 0;
    if (fails && faults_.fails_to_mark_after_a_fault.exchange(false)) faults_.fails_to_mark = true;
    if (fails && !faults_.fault_is_late) throw DeviceError("an injected fault", faults_.fault_is_final);
    const auto* const view = static_cast<const std::byte*>(launch.view);
    give(stream, [shader = launch.shader, view = std::vector(view, view + launch.shader->view_bytes),
                  segments = std::vector(launch.segments.begin(), launch.segments.end())] {
      for (const Segment& segment : segments) run(*shader, view.data(), segment);
    });
    if (fails) late_fault_ = true;
  }
  void mark(unsigned stream) override {
    if (faults_.fails_to_mark.exchange(false)) throw DeviceError("an injected failure to mark", false);
    streams_[stream].push([] {});
  }
  bool reached(unsigned stream) override {
    if (is_abandoned_ && has_ended_[stream]) ++faults_.asked_in_vain;
    if (late_fault_) throw DeviceError("an injected late fault", faults_.fault_is_final);
    if (is_stuck(stream)) return false;
    const auto any = static_cast<unsigned>(random_() % streams_.size());
    if (!streams_[any].empty() && !is_stuck(any)) do_next(any);
    if (!streams_[stream].empty() && random_() % 2 == 0) do_next(stream);
    const bool is_of_launches = stream + 1 < streams_.size();
    if (is_of_launches && faults_.fault_after_an_end.exchange(false)) {
      finish(stream);
      late_fault_ = true;
    }
    return has_ended_[stream] = streams_[stream].empty();
  }

 private:
  bool is_lost() const { return faults_.losses[index_].is_told(); }
  bool is_stuck(unsigned stream) const { return faults_.stuck || faults_.stuck_stream == static_cast<int>(stream); }
  void finish() {
    for (unsigned i = 0; i < streams_.size(); ++i) finish(i);
  }
  void finish(unsigned stream) {
    while (!streams_[stream].empty()) do_next(stream);
  }
  /// Models a call that waits until no kernel runs on the GPU.
  void expect_that_it_returns() const {
    EXPECT_FALSE(is_lost()) << "this may never return";
    for (unsigned i = 0; i < streams_.size(); ++i) {
      EXPECT_FALSE(is_stuck(i) && !streams_[i].empty()) << "this may never return";
    }
  }
  static void run(const Shader& shader, const void* view, const Segment& segment) {
    Batch batch;
    batch.items = segment.items;
    batch.source = segment.source;
    batch.destination = segment.destination;
    for (std::size_t i = 0; i < shader.input_bytes.size(); ++i) batch.inputs[i] = segment.inputs[i];
    for (std::size_t i = 0; i < shader.output_bytes.size(); ++i) batch.outputs[i] = segment.outputs[i];
    FakeShaders::call_of(shader)(view, batch);
  }
  void give(unsigned stream, std::function<void()> operation) {
    streams_[stream].push(std::move(operation));
    has_ended_[stream] = false;
  }
  void do_next(unsigned stream) {
    streams_[stream].front()();
    streams_[stream].pop();
  }
  bool is_shared(const std::byte* host, std::size_t bytes) const {
    return sees_all_memory_ || std::ranges::any_of(shared_, [&](const auto& each) {
             return host >= each.first && host + bytes <= each.first + each.second;
           });
  }

  const unsigned index_;
  FakeFaults& faults_;
  const bool sees_all_memory_ = faults_.sees_all_memory;
  std::vector<std::queue<std::function<void()>>> streams_;
  std::vector<bool> has_ended_;  ///< Result of the last query of each stream.
  std::map<std::byte*, std::unique_ptr<std::byte[]>> memory_;
  std::map<const std::byte*, std::size_t> bytes_;  ///< Sizes of the memory.
  std::map<std::byte*, std::size_t> shared_;
  std::mt19937 random_{11};
  bool late_fault_ = false, is_abandoned_ = false;
};

/// Returns a backend of `devices` fake devices with the given shaders.
inline Backend fake_backend(FakeFaults& faults, const FakeShaders& shaders, std::size_t devices = 1) {
  return {.open = [&faults](unsigned device,
                            unsigned streams) { return std::make_unique<FakeDevice>(device, streams, faults); },
          .find_shader = [&shaders](const std::string& name) { return shaders.find(name); },
          .nodes = std::vector<int>(devices, -1)};
}

}  // namespace penumbra::cuda
