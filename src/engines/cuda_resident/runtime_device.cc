// SPDX-License-Identifier: Apache-2.0
//
// The resident kernel through the CUDA runtime, and the registration of the engine.
#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda/runtime.h"
#include "cuda_resident/engine.h"
#include "cuda_resident/runtime.h"
#include "penumbra/huge_memory.h"

namespace penumbra::cuda_resident {
namespace {

using cuda::check;

class RuntimeResident final : public ResidentDevice {
 public:
  /// Call once. set_up() is separate from the constructor, so that after a failure the destructor frees what was made.
  void set_up(unsigned index, std::uint32_t threads) {
    constexpr unsigned kStreams = 2;  // For tables, and kStopStream.
    memory_ = cuda::open_gpu(index, kStreams);
    threads_ = threads;
    stop_ = memory_->allocate(sizeof run_);
    memory_->share(end_.data(), end_.bytes());
    // Streams of different priorities do not queue after each other in hardware.
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest), "making a stream");
    check(cudaMemsetAsync(stop_, 0, sizeof run_, stream_), "clearing memory of the GPU");
    places_taken_ = memory_->allocate(sizeof(std::uint32_t));
    // A multiprocessor divides its memory for its first block, and keeps to that as long as blocks stay. The largest
    // part goes to shared memory, which launches of the engine `cuda` may need; the kernel's loads pass by the cache.
    check(cudaFuncSetAttribute(resident_kernel(), cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared),
          "loading the kernel");
    int blocks = 0, processors = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, resident_kernel(), static_cast<int>(threads_), 0),
          "loading the kernel");
    check(cudaGetDevice(&gpu_), "asking what GPU it is");
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, gpu_), "asking what GPU it is");
    if (gpu_ >= static_cast<int>(taken_by_all.size())) throw DeviceError("more GPUs than are counted here", true);
    blocks_ = static_cast<std::uint32_t>(blocks);
    processors_ = static_cast<std::uint32_t>(processors);
  }
  ~RuntimeResident() override {
    give_back();
    if (stream_ != nullptr && !is_lost())
      cudaStreamDestroy(stream_);  // The call might never return after a device failure.
  }
  void abandon(const std::string& reason) noexcept override { memory_->abandon(reason); }

  cuda::Device& memory() override { return *memory_; }
  std::uint32_t most_slots() const override { return blocks_ * (processors_ - kFreeProcessors); }
  void start(const Roster* roster, std::uint32_t slots) override {
    take((slots + blocks_ - 1) / blocks_, slots);
    ++run_;
    check(cudaMemsetAsync(places_taken_, 0, sizeof(std::uint32_t), stream_), "clearing memory of the GPU");
    Places places{reinterpret_cast<std::uint32_t*>(places_taken_), slots, kFreeProcessors};
    std::array<void*, 4> arguments{static_cast<void*>(&roster), static_cast<void*>(&stop_), &run_, &places};
    check(cudaLaunchKernel(resident_kernel(), blocks_ * processors_, threads_, arguments.data(), 0, stream_),
          "starting the kernel");
  }
  void stop() override {
    std::memcpy(end_.data(), &run_, sizeof run_);
    memory_->to_device(kStopStream, stop_, end_.data(), sizeof run_);
  }
  bool has_ended() override {
    const cudaError_t found = cudaStreamQuery(stream_);
    if (found == cudaErrorNotReady) return false;
    check(found, "running the kernel");
    give_back();
    return true;
  }

 private:
  bool is_lost() const noexcept {
    try {
      memory_->throw_if_lost();
    } catch (const DeviceError&) {
      return true;
    }
    return false;
  }

  static constexpr unsigned kStopStream = 1;
  /// Multiprocessors on which no group stays. Copies of tables and launches of the engine `cuda`, whatever they need,
  /// would wait for ever for kernels that fill the GPU.
  static constexpr std::uint32_t kFreeProcessors = 1;
  /// Multiprocessors of each GPU in use by all engines of this process.
  static inline std::array<std::atomic<std::uint32_t>, 256> taken_by_all{};

  void take(std::uint32_t processors, std::uint32_t slots) {
    std::atomic<std::uint32_t>& taken = taken_by_all.at(static_cast<std::size_t>(gpu_));
    if (taken.fetch_add(processors) + processors <= processors_ - kFreeProcessors) {
      taken_ = processors;
      return;
    }
    taken -= processors;
    throw DeviceError("another kernel of this process that stays on the GPU leaves no room for " +
                          std::to_string(slots) + " blocks of " + std::to_string(threads_) +
                          " threads: choose fewer with blocks=",
                      false);
  }
  void give_back() noexcept {
    if (taken_ != 0) taken_by_all[static_cast<std::size_t>(gpu_)] -= std::exchange(taken_, 0);
  }

  const HugeMemory end_{sizeof(std::uint32_t)};  ///< Source of `stop_`.
  std::unique_ptr<cuda::Device> memory_;
  cudaStream_t stream_ = nullptr;
  std::byte* stop_ = nullptr;          ///< Device address of the number of the run that must end.
  std::byte* places_taken_ = nullptr;  ///< Device address of Places::taken.
  std::uint32_t threads_ = 0, blocks_ = 0, processors_ = 0, run_ = 0;  ///< `blocks_` is per multiprocessor.
  std::uint32_t taken_ = 0;                                            ///< Multiprocessors.
  int gpu_ = 0;                                                        ///< CUDA device number.
};

std::unique_ptr<ResidentDevice> open(unsigned index, std::uint32_t threads) {
  auto device = std::make_unique<RuntimeResident>();
  device->set_up(index, threads);
  return device;
}

/// Returns the serving GPUs that have no time limit for kernels.
std::vector<unsigned> lasting_gpus() {
  std::vector<unsigned> lasting;
  for (unsigned i = 0; i < cuda::nodes_of_gpus().size(); ++i) {
    int ends_long_kernels = 0;
    const cudaError_t found =
        cudaDeviceGetAttribute(&ends_long_kernels, cudaDevAttrKernelExecTimeout, cuda::number_of_gpu(i));
    if (found != cudaSuccess || ends_long_kernels == 0) lasting.push_back(i);
  }
  return lasting;
}

/// Requires a GPU that the engine `cuda` can use, and that has no time limit for kernels.
Availability probe() {
  Availability availability = cuda::probe_gpu();
  if (!availability.available || !lasting_gpus().empty()) return availability;
  return {false, availability.reason +
                     "; what GPUs there are drive displays, for which their driver ends kernels that run for seconds: "
                     "stop what displays there"};
}

EngineInfo present() {
  EngineInfo info = description();
  info.probe = probe;
  info.create = [](const EngineSettings& told) -> std::unique_ptr<Engine> {
    const std::vector<unsigned> gpus = lasting_gpus();
    std::vector<int> nodes;
    nodes.reserve(gpus.size());
    for (const unsigned gpu : gpus) nodes.push_back(cuda::nodes_of_gpus()[gpu]);
    return std::make_unique<ResidentEngine>(
        Backend{[gpus](unsigned index, std::uint32_t threads) { return open(gpus.at(index), threads); },
                [](const std::string& name) { return resident_shaders().find(name); },
                [](const Shader& shader) { return Variants<std::uint16_t>::call_of(shader); }, nodes},
        told);
  };
  return info;
}

[[maybe_unused]] const bool kRegistered = register_engine(present());

}  // namespace
}  // namespace penumbra::cuda_resident
