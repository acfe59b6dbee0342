// SPDX-License-Identifier: Apache-2.0
//
// The resident kernel by way of the CUDA runtime, and the registration of the engine.
#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "cuda/runtime.h"
#include "cuda_resident/engine.h"
#include "cuda_resident/runtime.h"
#include "penumbra/huge_memory.h"

namespace penumbra::cuda_resident {
namespace {

using cuda::check;

class RuntimeResident final : public ResidentDevice {
 public:
  /// To be called once; apart from the constructor, so that after a failure the destructor takes back what was made.
  void set_up(std::uint32_t threads) {
    constexpr unsigned kStreams = 2;  // tables, and below
    memory_ = cuda::open_gpu(0, kStreams);
    threads_ = threads;
    stop_ = memory_->allocate(sizeof run_);
    memory_->share(end_.data(), end_.bytes());
    // Streams of different priorities do not queue behind each other in hardware.
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest), "making a stream");
    check(cudaMemsetAsync(stop_, 0, sizeof run_, stream_), "clearing memory of the GPU");
    int gpu = 0, blocks = 0, processors = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, resident_kernel(), static_cast<int>(threads_), 0),
          "loading the kernel");
    check(cudaGetDevice(&gpu), "asking what GPU it is");
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, gpu), "asking what GPU it is");
    blocks_ = static_cast<std::uint32_t>(blocks);
    processors_ = static_cast<std::uint32_t>(processors);
  }
  ~RuntimeResident() override {
    give_back();
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  void abandon(const std::string& reason) noexcept override { memory_->abandon(reason); }

  cuda::Device& memory() override { return *memory_; }
  std::uint32_t most_slots() const override { return blocks_ * (processors_ - kOthersProcessors); }
  void start(const Roster* roster, std::uint32_t slots) override {
    take((slots + blocks_ - 1) / blocks_, slots);
    ++run_;
    std::array<void*, 3> arguments{static_cast<void*>(&roster), static_cast<void*>(&stop_), &run_};
    check(cudaLaunchKernel(resident_kernel(), slots, threads_, arguments.data(), 0, stream_), "starting the kernel");
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
  static constexpr unsigned kStopStream = 1;
  /// Of the GPU's, for copies of tables: behind kernels that fill it they would wait for ever.
  static constexpr std::uint32_t kOthersProcessors = 1;
  static inline std::atomic<std::uint32_t> taken_by_all{0};  ///< processors, by all engines of this process

  void take(std::uint32_t processors, std::uint32_t slots) {
    if (taken_by_all.fetch_add(processors) + processors <= processors_ - kOthersProcessors) {
      taken_ = processors;
      return;
    }
    taken_by_all -= processors;
    throw DeviceError("another kernel of this process that stays on the GPU leaves no room for " +
                          std::to_string(slots) + " blocks of " + std::to_string(threads_) +
                          " threads: choose fewer with blocks=",
                      false);
  }
  void give_back() noexcept { taken_by_all -= std::exchange(taken_, 0); }

  const HugeMemory end_{sizeof(std::uint32_t)};  ///< from where `stop_` is written
  std::unique_ptr<cuda::Device> memory_;
  cudaStream_t stream_ = nullptr;
  std::byte* stop_ = nullptr;                                          ///< on the device: the run that shall end
  std::uint32_t threads_ = 0, blocks_ = 0, processors_ = 0, run_ = 0;  ///< blocks: of a processor
  std::uint32_t taken_ = 0;                                            ///< processors
};

std::unique_ptr<ResidentDevice> open(std::uint32_t threads) {
  auto device = std::make_unique<RuntimeResident>();
  device->set_up(threads);
  return device;
}

/// What the engine `cuda` needs, and a GPU that lets a kernel run for as long as it likes.
Availability probe() {
  Availability availability = cuda::probe_gpu();
  int ends_long_kernels = 0;
  const bool is_known =
      availability.available &&
      cudaDeviceGetAttribute(&ends_long_kernels, cudaDevAttrKernelExecTimeout, cuda::number_of_gpu(0)) == cudaSuccess;
  if (!is_known || ends_long_kernels == 0) return availability;
  return {false, availability.reason +
                     "; the first GPU drives a display, for which its driver ends kernels that run for seconds: "
                     "CUDA_VISIBLE_DEVICES can name another GPU, or stop what displays there"};
}

EngineInfo present() {
  EngineInfo info = description();
  info.probe = probe;
  info.create = [](const EngineSettings& told) -> std::unique_ptr<Engine> {
    return std::make_unique<ResidentEngine>(
        Backend{open, [](const std::string& name) { return resident_shaders().find(name); },
                [](const Shader& shader) { return Variants<std::uint16_t>::call_of(shader); }},
        told);
  };
  return info;
}

[[maybe_unused]] const bool kRegistered = register_engine(present());

}  // namespace
}  // namespace penumbra::cuda_resident
