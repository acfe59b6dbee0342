// SPDX-License-Identifier: Apache-2.0
//
// The resident kernel (APUNet, section 4.4; Intel's continuous threads). A block is a group and serves one slot. The
// first warp of a group polls the slot until a batch is there; each lane reads one or two numbered blocks. The first
// warp alone runs batches of up to 32 items. For larger batches it wakes the other warps, which wait at a barrier.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cuda_resident/layout.h"
#include "cuda_resident/shading.cuh"

namespace penumbra::cuda_resident {

/// A batch in the group's shared memory.
struct Work {
  std::uint32_t items, number;
  std::uint8_t shader;
  Form form;
  bool is_end;  ///< True if the group must end; there is no batch then.
};

/// A block's group, in its shared memory.
struct Group {
  Slot* slot;  ///< Null if the block has no group.
  std::uint32_t* beat;
};

/// Calls `use` with the shading of the shader at `index`. The function must be inlined: otherwise the captures of `use`
/// would be in local memory, which costs a batch microseconds.
template <auto... Functions, class Use>
__device__ __forceinline__ void dispatch(std::uint32_t index, Use use) {
  std::uint32_t at = 0;
  ((at++ == index ? (use(ShadingFor<Functions>{}), true) : false) || ...);
}

/// Reads the slot with the first warp. A thread holds two numbered blocks.
class Reader {
 public:
  __device__ Reader(const volatile Group& group, const volatile std::uint32_t* stop, std::uint32_t run)
      : group_(group),
        in_(group.slot->in),
        stop_(stop),
        run_(run),
        number_(next_number(load_vector(group.slot->out).w)) {}

  /// Waits for the next batch. Returns false if the group must end.
  __device__ bool wait() {
    for (;;) {
      const std::uint32_t lane = threadIdx.x;
      if (lane < ahead_) first_ = load_vector(in_ + lane);
      if (lane + kWarp < ahead_) second_ = load_vector(in_ + lane + kWarp);
      const std::uint32_t stop = *stop_;
      const uint4 head = {__shfl_sync(~0U, first_.x, 0), __shfl_sync(~0U, first_.y, 0), 0,
                          __shfl_sync(~0U, first_.w, 0)};
      if (head.w == number_) {
        blocks_ = head.y >> 16 & 0xFF;
        const bool lacks = (lane < blocks_ && (lane >= ahead_ || first_.w != number_)) ||
                           (lane + kWarp < blocks_ && (lane + kWarp >= ahead_ || second_.w != number_));
        ahead_ = blocks_;
        if (__any_sync(~0U, lacks)) continue;
        ahead_ = head.y >> 24;
        work_ = {head.x, number_, static_cast<std::uint8_t>(head.y), static_cast<Form>(head.y >> 8 & 0xFF), false};
        number_ = next_number(number_);
        quiet_ = 0;
        return true;
      }
      if (__any_sync(~0U, stop == run_)) return false;
      if (++quiet_ >= kQuiet) rest();
      tell_beat();
    }
  }
  __device__ const Work& work() const { return work_; }
  /// Copies the batch into shared memory, where the view stays for later batches.
  template <class Shading>
  __device__ void unpack(std::byte* room) {
    const std::uint32_t lane = threadIdx.x;
    if (!has_view_ && work_.form == Form::columns_only) {
      auto* const view = reinterpret_cast<std::uint64_t*>(room + sizeof(Head));
      const auto* const from = reinterpret_cast<const volatile std::uint64_t*>(group_.slot->view);
      for (std::uint32_t i = lane; i < kMostViewBytes / sizeof *from; i += kWarp) view[i] = from[i];
      __syncwarp();
    }
    has_view_ = true;
    if (lane < blocks_) Shading::unpack(room, lane, first_, work_.form, work_.items);
    if (lane + kWarp < blocks_) Shading::unpack(room, lane + kWarp, second_, work_.form, work_.items);
  }

 private:
  /// Polls without a batch, some milliseconds, after which the group rests between polls and reads only the slot's
  /// first block. The bus is then free for others. The next batch is delayed by a rest and one more poll.
  static constexpr std::uint32_t kQuiet = 1U << 12;
  static constexpr unsigned kRestNanoseconds = 4000;
  static constexpr long long kBeatClocks = 1LL << 24;

  __device__ void rest() {
    quiet_ = kQuiet;
    ahead_ = 1;
    __nanosleep(kRestNanoseconds);
  }
  __device__ void tell_beat() {
    const long long now = clock64();
    if (now - told_ < kBeatClocks) return;
    told_ = now;
    if (threadIdx.x != 0) return;
    volatile std::uint32_t* const beat = group_.beat;
    *beat = *beat + 1;
  }

  const volatile Group& group_;
  const NumberedBlock* in_;
  const volatile std::uint32_t* stop_;
  std::uint32_t run_, number_;
  std::uint32_t ahead_ = 1;   ///< Numbered blocks that are read at once; the last batch sets the number.
  std::uint32_t blocks_ = 0;  ///< Numbered blocks of the batch.
  std::uint32_t quiet_ = 0;   ///< Polls since the last batch.
  bool has_view_ = false;
  uint4 first_{}, second_{};
  long long told_ = 0;
  Work work_{};
};

/// Gives this block a group of `roster`. Returns false if none is left. A block on a multiprocessor that stays free
/// waits until other blocks have all groups: if it ended earlier, too few blocks might be left.
__device__ inline bool take_group(volatile Group& group, Roster* roster, const Places& places) {
  if (threadIdx.x == 0) {
    std::uint32_t processor = 0, number = places.groups;
    asm("mov.u32 %0, %%smid;" : "=r"(processor));
    if (processor >= places.free_processors) {
      number = atomicAdd(places.taken, 1U);
    } else {
      while (*static_cast<volatile std::uint32_t*>(places.taken) < places.groups) __nanosleep(1000);
    }
    group.slot = number < places.groups ? roster->slots[number] : nullptr;
    group.beat = roster->beats + number;
  }
  __syncthreads();
  return group.slot != nullptr;
}

/// Serves the slots of `roster`. The groups end when `*stop` equals `run`. The launch bound limits a thread to 128 of a
/// multiprocessor's 65,536 registers, for any number of shaders. The GPU can therefore hold kMostSlots groups of 128
/// threads.
template <auto... Functions>
__global__ void __launch_bounds__(kMostThreads, 1)
    serve(Roster* roster, const volatile std::uint32_t* stop, std::uint32_t run, Places places) {
  static_assert(sizeof...(Functions) <= kMostShaders);
  __shared__ alignas(16) std::byte room[kRoom];
  __shared__ Work shared_work;
  // Read where it is needed: registers are few.
  __shared__ Group shared_group;
  volatile Group& group = shared_group;
  if (!take_group(group, roster, places)) return;
  const bool is_first_warp = threadIdx.x < kWarp;
  Reader reader(group, stop, run);
  for (;;) {
    while (is_first_warp) {
      if (!reader.wait()) {
        shared_work.is_end = true;
        break;
      }
      const Work work = reader.work();
      const bool is_small = work.form != Form::addresses && work.items <= kWarp;
      dispatch<Functions...>(work.shader, [&]<class Shading>(Shading) {
        reader.unpack<Shading>(room);
        __syncwarp();
        if (is_small) {
          Shading::shade(room, work.items, [] { __syncwarp(); });
          __syncwarp();
          Shading::pack(room, group.slot->out, work.items, work.number);
          __syncwarp();
        }
      });
      if (!is_small) {
        shared_work = work;
        break;
      }
    }
    __syncthreads();
    const Work work = shared_work;
    if (work.is_end) return;
    dispatch<Functions...>(work.shader, [&]<class Shading>(Shading) {
      if (work.form != Form::addresses) {
        Shading::shade(room, work.items, [] { __syncthreads(); });
        __syncthreads();
        if (is_first_warp) Shading::pack(room, group.slot->out, work.items, work.number);
      } else {
        Shading::shade_elsewhere(room, work.items);
        __syncthreads();
        if (threadIdx.x == 0) {
          __threadfence_system();
          store_vector(group.slot->out, make_uint4(0, 0, 0, work.number));
        }
      }
    });
    __syncthreads();
  }
}

}  // namespace penumbra::cuda_resident
