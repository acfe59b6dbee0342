// SPDX-License-Identifier: Apache-2.0
//
// A GPU by way of the CUDA runtime, and the registration of the engine.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/engine.h"
#include "cuda/kernels.h"

namespace penumbra::cuda {
namespace {

constexpr int kLeastMajor = 8;  ///< compute capability: what the kernels are compiled for begins there

/// Why the GPU is lost to this process; empty: it is not.
std::string lost_for;
std::mutex lost_mutex;

/// After these the process' context is broken, or there is none: NVIDIA's manual has the process started anew.
bool breaks_the_context(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorDevicesUnavailable:
    case cudaErrorCudartUnloading:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

void check(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // so that a later call does not tell of it again
  const bool is_final = breaks_the_context(error);
  throw DeviceError(std::string(doing) + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")" +
                        (is_final ? "; this program has to be started anew to use the GPU again" : ""),
                    is_final);
}

class RuntimeDevice final : public Device {
 public:
  /// To be called once; apart from the constructor, so that after a failure the destructor takes back what was made.
  void set_up(unsigned streams) {
    check(cudaSetDevice(0), "taking the GPU");
    check(cudaGetDeviceProperties(&properties_, 0), "asking what GPU it is");
    // What would otherwise be loaded in the middle of traffic.
    const auto load = [](const void* kernel) {
      cudaFuncAttributes attributes;
      check(cudaFuncGetAttributes(&attributes, kernel), "loading a shader");
    };
    kernels().for_each([&load](const Shader&, const Kernel& kernel) { load(kernel.function); });
    load(scatter_kernel());
    for (unsigned i = 0; i < streams; ++i) {
      Stream stream;
      check(cudaStreamCreateWithFlags(&stream.stream, cudaStreamNonBlocking), "making a stream");
      streams_.push_back(stream);
      check(cudaEventCreateWithFlags(&streams_.back().mark, cudaEventDisableTiming), "making an event");
    }
  }
  ~RuntimeDevice() override {
    for (const Stream& each : streams_) {
      cudaStreamSynchronize(each.stream);
      if (each.mark != nullptr) cudaEventDestroy(each.mark);
      cudaStreamDestroy(each.stream);
    }
    for (std::byte* memory : allocated_) cudaFree(memory);
    for (const Shared& each : shared_) cudaHostUnregister(each.host);
  }
  void abandon(const std::string& reason) noexcept override {
    const std::lock_guard lock(lost_mutex);
    lost_for = reason;
  }

  std::string name() const override { return properties_.name; }

  std::byte* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), "taking memory of the GPU");
    return allocated_.emplace_back(static_cast<std::byte*>(memory));
  }
  void release(std::byte* memory) noexcept override {
    cudaFree(memory);
    std::erase(allocated_, memory);
  }
  std::byte* share(std::byte* host, std::size_t bytes) override {
    check(cudaHostRegister(host, bytes, cudaHostRegisterMapped), "sharing memory with the GPU");
    Shared& shared = shared_.emplace_back(Shared{host, bytes, 0});
    void* seen = nullptr;
    check(cudaHostGetDevicePointer(&seen, host, 0), "sharing memory with the GPU");
    shared.shift = static_cast<std::byte*>(seen) - host;
    return static_cast<std::byte*>(seen);
  }
  void unshare(std::byte* host) noexcept override {
    cudaHostUnregister(host);
    std::erase_if(shared_, [host](const Shared& each) { return each.host == host; });
  }

  void to_device(unsigned stream, std::byte* device, const std::byte* host, std::size_t bytes) override {
    check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, streams_[stream].stream), "copying to the GPU");
  }
  void scatter(unsigned stream, std::span<const Piece> pieces) override {
    const auto* const begin = reinterpret_cast<const std::byte*>(pieces.data());
    const auto has = [begin](const Shared& each) { return begin >= each.host && begin < each.host + each.bytes; };
    const std::ptrdiff_t shift = std::ranges::find_if(shared_, has)->shift;
    check(launch_scatter(reinterpret_cast<const Piece*>(begin + shift), static_cast<std::uint32_t>(pieces.size()),
                         shift, streams_[stream].stream),
          "copying to the GPU");
  }
  void to_host(unsigned stream, std::byte* host, const std::byte* device, std::size_t bytes) override {
    check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, streams_[stream].stream),
          "copying from the GPU");
  }
  void on_device(unsigned stream, std::byte* to, const std::byte* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, streams_[stream].stream), "copying on the GPU");
  }
  void launch(unsigned stream, const Launch& launch) override {
    check(Variants<Kernel>::call_of(*launch.shader).launch(launch, streams_[stream].stream), "launching a shader");
  }
  void mark(unsigned stream) override {
    check(cudaEventRecord(streams_[stream].mark, streams_[stream].stream), "recording an event");
  }
  bool reached(unsigned stream) override {
    const cudaError_t found = cudaEventQuery(streams_[stream].mark);
    if (found == cudaErrorNotReady) return false;
    check(found, "running a shader");
    return true;
  }

 private:
  struct Stream {
    cudaStream_t stream = nullptr;
    cudaEvent_t mark = nullptr;
  };
  cudaDeviceProp properties_{};
  std::vector<Stream> streams_;
  struct Shared {
    std::byte* host = nullptr;
    std::size_t bytes = 0;
    std::ptrdiff_t shift = 0;  ///< to the device's address
  };
  std::vector<std::byte*> allocated_;
  std::vector<Shared> shared_;
};

Availability find_gpu() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (error == cudaErrorInsufficientDriver) {
    return {false, "no NVIDIA driver, or one too old for CUDA " + std::to_string(CUDART_VERSION / 1000) +
                       ": install the driver for the GPU, version 580 or newer"};
  }
  if (error != cudaSuccess && error != cudaErrorNoDevice) {
    return {false, std::string("the NVIDIA driver says: ") + cudaGetErrorString(error)};
  }
  if (count == 0) return {false, "the NVIDIA driver is there, but shows no GPU to this process"};
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return {false, "the GPU does not say what it is"};
  const std::string name = std::string(properties.name) + ", compute capability " + std::to_string(properties.major) +
                           "." + std::to_string(properties.minor);
  if (properties.major < kLeastMajor) return {false, name + "; 8.0 or newer is needed"};
  return {true, name};
}

/// Drivers and GPUs do not come and go while a process runs; but a process can lose one.
Availability probe() {
  static const Availability kFound = find_gpu();
  const std::lock_guard lock(lost_mutex);
  if (lost_for.empty()) return kFound;
  return {true, kFound.reason + "; lost: " + lost_for};
}

std::unique_ptr<Device> open(unsigned streams) {
  {
    const std::lock_guard lock(lost_mutex);
    if (!lost_for.empty()) throw DeviceError(lost_for, true);
  }
  auto device = std::make_unique<RuntimeDevice>();
  device->set_up(streams);
  return device;
}

[[maybe_unused]] const bool kRegistered =
    register_engine({.name = "cuda",
                     .summary = "an NVIDIA GPU, in batches that are gathered from all workers",
                     .priority = 5,
                     .settings = settings(),
                     .probe = probe,
                     .create = [](const EngineSettings& told) -> std::unique_ptr<Engine> {
                       return std::make_unique<CudaEngine>(
                           Backend{open, [](const std::string& name) { return kernels().find(name); }}, told);
                     }});

}  // namespace

Variants<Kernel>& kernels() {
  static Variants<Kernel> all;
  return all;
}

}  // namespace penumbra::cuda
