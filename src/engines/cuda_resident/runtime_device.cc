// SPDX-License-Identifier: Apache-2.0
//
// The resident kernel by way of the CUDA runtime, and the registration of the engine.
#include <cuda_runtime_api.h>

#include <array>
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
    int gpu = 0, blocks = 0, processors = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, resident_kernel(), static_cast<int>(threads_), 0),
          "loading the kernel");
    check(cudaGetDevice(&gpu), "asking what GPU it is");
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, gpu), "asking what GPU it is");
    most_slots_ = static_cast<std::uint32_t>(blocks) * static_cast<std::uint32_t>(processors);
  }
  ~RuntimeResident() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  void abandon(const std::string& reason) noexcept override { memory_->abandon(reason); }

  cuda::Device& memory() override { return *memory_; }
  std::uint32_t most_slots() const override { return most_slots_; }
  void start(const Roster* roster, std::uint32_t slots) override {
    if (slots > most_slots_) {
      throw DeviceError("the GPU holds " + std::to_string(most_slots_) + " blocks of " + std::to_string(threads_) +
                            " threads at once, and " + std::to_string(slots) + " are wanted: choose fewer with blocks=",
                        true);
    }
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
    return true;
  }

 private:
  static constexpr unsigned kStopStream = 1;

  const HugeMemory end_{sizeof(std::uint32_t)};  ///< from where `stop_` is written
  std::unique_ptr<cuda::Device> memory_;
  cudaStream_t stream_ = nullptr;
  std::byte* stop_ = nullptr;  ///< on the device: the run that shall end
  std::uint32_t threads_ = 0, most_slots_ = 0, run_ = 0;
};

std::unique_ptr<ResidentDevice> open(std::uint32_t threads) {
  auto device = std::make_unique<RuntimeResident>();
  device->set_up(threads);
  return device;
}

EngineInfo present() {
  EngineInfo info = description();
  info.probe = cuda::probe_gpu;
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
