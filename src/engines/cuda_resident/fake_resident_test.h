// SPDX-License-Identifier: Apache-2.0
//
// A resident kernel for tests that needs no GPU. CPU threads serve its groups: they use the same slots, write the
// result blocks in any order, and fail on request.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cuda/fake_device.h"
#include "cuda/fake_world_test.h"
#include "cuda_resident/device.h"
#include "cuda_resident/numbered_block.h"

namespace penumbra::cuda_resident {

/// Faults that the test injects, and counters of the kernel. May be used on any thread.
struct KernelFaults {
  KernelFaults() = default;
  KernelFaults(const KernelFaults&) = delete;
  KernelFaults& operator=(const KernelFaults&) = delete;
  /// Ends the groups of abandoned kernels: no group outlives this object.
  ~KernelFaults() {
    is_over = true;
    while (running > 0) std::this_thread::yield();
  }

  std::atomic<bool> mute{false};          ///< Groups run, but answer nothing.
  std::atomic<int> mute_group{-1};        ///< This group answers nothing.
  std::atomic<bool> slow{false};          ///< Groups take batches, and answer them once this becomes false.
  std::atomic<bool> dead{false};          ///< Groups do nothing any more.
  std::atomic<bool> ends{false};          ///< The kernel ends by itself, once.
  std::atomic<bool> stays{false};         ///< A kernel that must end does not end, though all of its groups do.
  std::atomic<bool> refuses{false};       ///< The kernel does not start.
  std::atomic<int> late_microseconds{0};  ///< Delay of each answer.
  std::uint32_t holds = kMostSlots;       ///< Groups that run at once. Set before an engine is made.
  std::atomic<int> started{0}, abandoned{0};
  std::atomic<int> awaited{0};  ///< Queries for the end of an abandoned kernel.
  std::atomic<int> running{0};  ///< Threads of groups.
  std::atomic<bool> is_over{false};
  /// State of the call that makes a kernel end. A detached thread may make the call, so the state may outlive the test.
  struct Telling {
    std::atomic<bool> hangs{false};
    std::atomic<int> fails{0};         ///< Number of calls that fail.
    std::atomic<bool> is_done{false};  ///< Refers to the kernel that was started last.
  };
  std::shared_ptr<Telling> telling = std::make_shared<Telling>();
  std::atomic<int> elsewhere{0};                       ///< Batches, or parts, whose columns were outside the slot.
  std::array<std::atomic<int>, kMostSlots> answers{};  ///< One counter per group.
  std::atomic<int> patient{0};  ///< Batches after which a group reads only its slot's first block.
};

class FakeResident final : public ResidentDevice {
 public:
  FakeResident(cuda::FakeWorld& world, KernelFaults& faults, unsigned index)
      : memory_(index, kStreams, world.faults),
        shaders_{&world.modulo_shader(), &world.lookup_shader(), &world.wide_shader(), &world.payload_shader()},
        faults_(faults) {}
  ~FakeResident() override {
    stop_ = true;
    while (running_ > 0) std::this_thread::yield();
  }
  void abandon(const std::string& reason) noexcept override {
    memory_.abandon(reason);
    is_abandoned_ = true;
    ++faults_.abandoned;
  }
  cuda::Device& memory() override { return memory_; }
  std::uint32_t most_slots() const override { return faults_.holds; }
  void start(const Roster* roster, std::uint32_t slots) override {
    if (faults_.refuses) throw DeviceError("an injected refusal", false);
    EXPECT_EQ(running_, 0);
    ++faults_.started;
    telling_->is_done = false;
    stop_ = false;
    running_ = kThreads;
    faults_.running += static_cast<int>(kThreads);
    for (std::uint32_t i = 0; i < kThreads; ++i) {
      std::thread([this, roster = const_cast<Roster*>(roster), slots, i] { serve(*roster, slots, i); }).detach();
    }
  }
  void stop() override {
    if (telling_->fails > 0 && telling_->fails-- > 0) throw DeviceError("an injected failure to end the kernel", false);
    while (telling_->hangs && is_abandoned_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    telling_->is_done = true;
    stop_ = true;
  }
  bool has_ended() override {
    if (is_abandoned_) ++faults_.awaited;
    return running_ == 0;
  }

  static std::uint16_t index_of(const Shader& shader) {
    return shader.name == "echo" ? 0 : shader.name == "ipv4_dir24_8" ? 1 : shader.name == "wide" ? 2 : 3;
  }

 private:
  static constexpr std::uint32_t kThreads = 2;
  static constexpr unsigned kStreams = 1;
  struct Group {
    std::uint32_t index;
    Slot* slot;
    std::uint32_t* beat;
    std::uint32_t number;
    std::vector<std::byte> view;  ///< View of the last batch.
  };

  void serve(Roster& roster, std::uint32_t slots, std::uint32_t thread) {
    std::vector<Group> groups;
    for (std::uint32_t i = thread; i < slots; i += kThreads) {
      groups.push_back({i, roster.slots[i], &roster.beats[i], next_number(number_in(roster.slots[i]->out[0])), {}});
    }
    std::mt19937 random(thread);
    while (!faults_.is_over && (faults_.dead || (!stop_ && !faults_.ends.exchange(false)))) {
      if (faults_.dead) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      for (Group& group : groups) {
        std::atomic_ref(*group.beat).fetch_add(1, std::memory_order_relaxed);
        if (!is_mute(group) && has_batch(group)) answer(group, random);
      }
      std::this_thread::yield();
    }
    stop_ = true;
    while (faults_.stays && !faults_.is_over) std::this_thread::yield();
    KernelFaults& faults = faults_;  // The device may be destroyed as soon as the last thread ends.
    --running_;
    --faults.running;
  }
  bool is_mute(const Group& group) const { return faults_.mute || faults_.mute_group == static_cast<int>(group.index); }
  static Head head_of(const Group& group) {
    const __m128i block = load_block(group.slot->in[0]);
    Head head;
    std::memcpy(&head, &block, sizeof head);
    return head;
  }
  static bool has_batch(const Group& group) {
    if (number_in(group.slot->in[0]) != group.number) return false;
    const Head head = head_of(group);
    return std::all_of(group.slot->in, group.slot->in + head.blocks,
                       [&](const NumberedBlock& block) { return number_in(block) == group.number; });
  }
  static std::size_t bases_bytes_of(const Shader& shader) { return shader.has_payload() ? 2 * sizeof(std::byte*) : 0; }
  static std::size_t view_bytes_of(const Shader& shader) { return bases_bytes_of(shader) + shader.view_bytes; }
  /// Runs the shader on the columns of the batch.
  static void run(const Shader& shader, const std::vector<std::byte>& view, Batch& batch) {
    if (shader.has_payload()) {
      std::memcpy(static_cast<void*>(&batch.source), view.data(), sizeof batch.source);
      std::memcpy(static_cast<void*>(&batch.destination), view.data() + sizeof batch.source, sizeof batch.destination);
    }
    cuda::FakeShaders::call_of(shader)(view.data() + bases_bytes_of(shader), batch);
  }
  /// Reads the head and the view, and moves `from` past them.
  const std::vector<std::byte>& take_view(Group& group, const Head& head, const NumberedBlock*& from,
                                          std::uint32_t number) const {
    const std::size_t view_bytes = view_bytes_of(*shaders_.at(head.shader));
    if (head.form == Form::columns_only) {
      ++from;
      if (group.view.empty()) group.view.assign(group.slot->view, group.slot->view + view_bytes);
    } else {
      std::vector<std::byte> packed_head(sizeof(Head) + view_bytes);
      EXPECT_TRUE(unpack(from, packed_head.data(), packed_head.size(), number));
      group.view.assign(packed_head.begin() + sizeof(Head), packed_head.end());
    }
    EXPECT_EQ(group.view.size(), view_bytes) << "a batch without a view, of another shader than the last one";
    return group.view;
  }
  void answer(Group& group, std::mt19937& random) {
    ++faults_.answers.at(group.index);
    const Head head = head_of(group);
    if (head.ahead == 1) {
      ++faults_.patient;
    } else {
      EXPECT_EQ(head.ahead, head.blocks);
    }
    const Shader& shader = *shaders_.at(head.shader);
    const std::uint32_t number = std::exchange(group.number, next_number(group.number));
    const NumberedBlock* from = group.slot->in;
    const std::vector<std::byte>& view = take_view(group, head, from, number);
    if (faults_.late_microseconds > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(faults_.late_microseconds));
    }
    while (faults_.slow && !faults_.is_over) std::this_thread::yield();
    Batch batch;
    batch.items = head.items;
    const std::size_t inputs = shader.input_bytes.size(), outputs = shader.output_bytes.size();
    if (head.form == Form::addresses) {
      std::array<std::byte*, 2 * kMaxColumns> addresses{};
      EXPECT_TRUE(unpack(from, static_cast<void*>(addresses.data()), (inputs + outputs) * sizeof addresses[0], number));
      std::copy_n(addresses.begin(), inputs, batch.inputs.begin());
      std::copy_n(addresses.begin() + inputs, outputs, batch.outputs.begin());
      run(shader, view, batch);
      ++faults_.elsewhere;
      store_block(group.slot->out[0], _mm_set_epi32(static_cast<int>(number), 0, 0, 0));
      return;
    }
    std::vector<std::vector<std::byte>> columns;
    for (const std::size_t bytes : shader.input_bytes) {
      auto& column = columns.emplace_back(bytes * head.items);
      EXPECT_TRUE(unpack(from, column.data(), column.size(), number));
    }
    EXPECT_EQ(from, group.slot->in + head.blocks);
    for (const std::size_t bytes : shader.output_bytes) columns.emplace_back(bytes * head.items);
    for (std::size_t i = 0; i < inputs; ++i) batch.inputs[i] = columns[i].data();
    for (std::size_t i = 0; i < outputs; ++i) batch.outputs[i] = columns[inputs + i].data();
    run(shader, view, batch);
    std::array<NumberedBlock, kSlotPieces> blocks{};
    NumberedBlock* end = blocks.data();
    for (std::size_t i = inputs; i < columns.size(); ++i) end = pack(end, columns[i].data(), columns[i].size(), number);
    std::vector<std::size_t> order(static_cast<std::size_t>(end - blocks.data()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) store_block(group.slot->out[i], load_block(blocks.at(i)));
  }

  cuda::FakeDevice memory_;
  const std::array<const Shader*, 4> shaders_;
  KernelFaults& faults_;
  const std::shared_ptr<KernelFaults::Telling> telling_ = faults_.telling;
  std::atomic<bool> stop_{false}, is_abandoned_{false};
  std::atomic<int> running_{0};
};

/// Returns a backend whose kernel serves the shaders of `world`.
inline Backend fake_backend(cuda::FakeWorld& world, KernelFaults& faults, std::size_t devices = 1) {
  return {[&world, &faults](unsigned index, std::uint32_t /*threads*/) {
            return std::make_unique<FakeResident>(world, faults, index);
          },
          [&world](const std::string& name) -> const Shader* {
            for (const Shader* shader : {&world.modulo_shader(), &world.lookup_shader(), &world.wide_shader()}) {
              if (shader->name == name) return shader;
            }
            return nullptr;
          },
          FakeResident::index_of, std::vector<int>(devices, -1)};
}

}  // namespace penumbra::cuda_resident
