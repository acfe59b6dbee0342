// SPDX-License-Identifier: Apache-2.0
//
// A GPU through the CUDA runtime, and the registration of the engine.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/device_failure.h"
#include "cuda/engine.h"
#include "cuda/kernel_pause.h"
#include "cuda/kernels.h"
#include "cuda/locality.h"
#include "cuda/runtime.h"
#include "cuda/shared_once.h"

namespace penumbra::cuda {
namespace {

constexpr std::size_t kLineBytes = 16;
constexpr int kLeastMajor = 8;  ///< Least compute capability for which kernels are compiled.

/// Failures of the GPUs that were opened, kept until the process ends. One GPU's failure does not affect the others.
class Losses {
 public:
  DeviceFailure& of(int gpu) {
    const std::lock_guard lock(mutex_);
    return of_gpus_[gpu];
  }
  /// Returns the text of all failures.
  std::string text() {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& [gpu, loss] : of_gpus_) {
      if (loss.is_told()) text += "; lost: " + loss.reason();
    }
    return text;
  }

 private:
  std::mutex mutex_;
  std::map<int, DeviceFailure> of_gpus_;
};

Losses& losses() {
  static Losses all;
  return all;
}

/// True if the error breaks the process' CUDA context, or means that there is none. NVIDIA's manual then requires a
/// restart of the process.
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
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorExternalDevice:
    case cudaErrorContextIsDestroyed:
    case cudaErrorDevicesUnavailable:
    case cudaErrorCudartUnloading:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

}  // namespace

void check(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // Clears the error, so that a later call does not report it again.
  const std::string what = std::string(doing) + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")";
  throw breaks_the_context(error) ? final_failure(what) : DeviceError(what, false);
}

namespace {

SharedOnce& shared_once() {
  static SharedOnce all(
      [](std::byte* host, std::size_t bytes) {
        check(cudaHostRegister(host, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable),
              "sharing memory with the GPU");
      },
      [](std::byte* host) { cudaHostUnregister(host); });
  return all;
}

class RuntimeDevice final : public Device {
 public:
  /// Call once. set_up() is separate from the constructor, so that after a failure the destructor frees what was made.
  void set_up(int gpu, unsigned streams) {
    failure_ = &losses().of(gpu);
    failure_->throw_if_told();
    const KernelPause pause;
    failure_->throw_if_told();  // The owner of a kernel may have failed to end it for the pause.
    check(cudaSetDevice(gpu), "taking the GPU");
    check(cudaGetDeviceProperties(&properties_, gpu), "asking what GPU it is");
    // Loads all kernels now; otherwise the runtime would load them during traffic.
    const auto load = [](const void* kernel) {
      cudaFuncAttributes attributes;
      check(cudaFuncGetAttributes(&attributes, kernel), "loading a shader");
    };
    kernels().for_each([&load](const Shader&, const Kernel& kernel) {
      std::ranges::for_each(kernel.functions, load);
      for (const void* function : kernel.functions) {
        check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(kernel.shared_bytes)),
              "loading a shader");
      }
    });
    load(scatter_kernel());
    for (unsigned i = 0; i < streams; ++i) {
      Stream stream;
      check(cudaStreamCreateWithFlags(&stream.stream, cudaStreamNonBlocking), "making a stream");
      streams_.push_back(stream);
      check(cudaEventCreateWithFlags(&streams_.back().mark, cudaEventDisableTiming), "making an event");
    }
    make_signals();
    make_graphs();
  }
  ~RuntimeDevice() override {
    const KernelPause pause;
    if (failure_ != nullptr && failure_->is_told()) {  // These calls might never return.
      if (sees_all_memory()) return;
      for (const Shared& each : shared_) shared_once().forget(each.host);
      return;
    }
    for (const Stream& each : streams_) {
      cudaStreamSynchronize(each.stream);
      if (each.mark != nullptr) cudaEventDestroy(each.mark);
      if (each.graph != nullptr) cudaGraphExecDestroy(each.graph);
      if (each.plan != nullptr) cudaGraphDestroy(each.plan);
      cudaStreamDestroy(each.stream);
    }
    for (std::byte* memory : allocated_) cudaFree(memory);
    if (flags_ != nullptr) cudaFreeHost(flags_);
    if (sees_all_memory()) return;
    for (const Shared& each : shared_) shared_once().remove(each.host);
  }
  void abandon(const std::string& reason) noexcept override { failure_->tell(reason); }
  void throw_if_lost() const override { failure_->throw_if_told(); }

  std::string name() const override { return properties_.name; }
  bool sees_all_memory() const override {
    // Without the host's page tables, the driver would move pages to the GPU and back.
    return properties_.pageableMemoryAccess != 0 && properties_.pageableMemoryAccessUsesHostPageTables != 0;
  }

  std::byte* do_allocate(std::size_t bytes) override {
    const KernelPause pause;
    throw_if_lost();
    void* memory = nullptr;
    check(cudaMalloc(&memory, (bytes + kLineBytes - 1) / kLineBytes * kLineBytes), "taking memory of the GPU");
    return allocated_.emplace_back(static_cast<std::byte*>(memory));
  }
  void do_release(std::byte* memory) noexcept override {
    const KernelPause pause;
    if (failure_->is_told()) return;
    cudaFree(memory);
    std::erase(allocated_, memory);
  }
  std::byte* do_share(std::byte* host, std::size_t bytes) override {
    const KernelPause pause;
    throw_if_lost();
    if (!sees_all_memory()) shared_once().add(host, bytes);
    Shared& shared = shared_.emplace_back(Shared{host, bytes, 0});
    if (sees_all_memory()) return host;
    void* seen = nullptr;
    check(cudaHostGetDevicePointer(&seen, host, 0), "sharing memory with the GPU");
    shared.shift = static_cast<std::byte*>(seen) - host;
    return static_cast<std::byte*>(seen);
  }
  void do_unshare(std::byte* host) noexcept override {
    const KernelPause pause;
    if (failure_->is_told()) return;
    if (!sees_all_memory()) shared_once().remove(host);
    std::erase_if(shared_, [host](const Shared& each) { return each.host == host; });
  }

  void to_device(unsigned stream, std::byte* device, const std::byte* host, std::size_t bytes) override {
    check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, copying(stream)), "copying to the GPU");
  }
  void scatter(unsigned stream, std::span<const CopyRange> ranges) override {
    const auto* const begin = reinterpret_cast<const std::byte*>(ranges.data());
    const auto has = [begin](const Shared& each) { return begin >= each.host && begin < each.host + each.bytes; };
    const std::ptrdiff_t shift = std::ranges::find_if(shared_, has)->shift;
    check(launch_scatter(reinterpret_cast<const CopyRange*>(begin + shift), static_cast<std::uint32_t>(ranges.size()),
                         shift, copying(stream)),
          "copying to the GPU");
  }
  void to_host(unsigned stream, std::byte* host, const std::byte* device, std::size_t bytes) override {
    check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, copying(stream)), "copying from the GPU");
  }
  void erase(unsigned stream, std::byte* device, std::size_t bytes) override {
    check(cudaMemsetAsync(device, 0, bytes, copying(stream)), "erasing memory of the GPU");
  }
  void on_device(unsigned stream, std::byte* to, const std::byte* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, copying(stream)), "copying on the GPU");
  }
  void launch(unsigned stream, const Launch& launch) override {
    Stream& its = streams_[stream];
    its.is_signalled = is_short(launch);
    Signal signal = its.signal;
    signal.value = ++its.signal.value;
    if (!its.is_signalled) signal.flag = nullptr;
    const Way way{.stream = its.stream, .graph = its.is_signalled ? its.graph : nullptr, .node = its.node};
    check(Variants<Kernel>::call_of(*launch.shader).launch(launch, signal, way), "launching a shader");
  }
  void mark(unsigned stream) override {
    check(cudaEventRecord(streams_[stream].mark, streams_[stream].stream), "recording an event");
  }
  bool reached(unsigned stream) override {
    if (Stream& its = streams_[stream]; its.is_signalled) {
      if (std::atomic_ref(flags_[stream].value).load(std::memory_order_acquire) == its.signal.value) return true;
      if (++its.questions % kQuestions != 0)
        return false;  // Queries the event from time to time, because a failure sets no flag.
    }
    const cudaError_t found = cudaEventQuery(streams_[stream].mark);
    if (found == cudaErrorNotReady) return false;
    check(found, "running a shader");
    return true;
  }

 private:
  struct Stream {
    cudaStream_t stream = nullptr;
    cudaEvent_t mark = nullptr;
    cudaGraph_t plan = nullptr;  ///< Has one kernel node, `node`.
    cudaGraphNode_t node = nullptr;
    cudaGraphExec_t graph = nullptr;  ///< Instantiated graph.
    Signal signal;                    ///< Signal of the last launch.
    bool is_signalled = false;        ///< True if the stream's last operation signals its end.
    unsigned questions = 0;
  };
  struct alignas(64) Flag {
    std::uint32_t value = 0;
  };
  static constexpr unsigned kQuestions = 256;

  void make_signals() {
    check(cudaHostAlloc(reinterpret_cast<void**>(&flags_), streams_.size() * sizeof(Flag), cudaHostAllocMapped),
          "taking memory for the GPU");
    std::uninitialized_default_construct_n(flags_, streams_.size());
    void* seen = nullptr;
    check(cudaHostGetDevicePointer(&seen, flags_, 0), "sharing memory with the GPU");
    const std::size_t bytes = streams_.size() * sizeof(std::uint32_t);
    auto* const blocks = reinterpret_cast<std::uint32_t*>(allocate(bytes));
    check(cudaMemsetAsync(blocks, 0, bytes, streams_[0].stream), "clearing memory of the GPU");
    check(cudaStreamSynchronize(streams_[0].stream), "clearing memory of the GPU");
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      streams_[i].signal = {.blocks = blocks + i, .flag = &static_cast<Flag*>(seen)[i].value};
    }
  }
  /// Makes the graphs. Each is set to every kernel once before there is traffic. A driver that must make room for
  /// longer arguments might wait for a resident kernel, and then does so here.
  void make_graphs() {
    alignas(std::max_align_t) std::array<std::byte, kMostArgumentBytes> nothing{};
    std::array<void*, 3> arguments{nothing.data(), nothing.data(), nothing.data()};
    for (Stream& each : streams_) {
      check(cudaGraphCreate(&each.plan, 0), "making a graph");
      check(add_scatter(each.plan, each.node), "making a graph");
      check(cudaGraphInstantiate(&each.graph, each.plan, 0), "making a graph");
      const auto set = [&](const void* function) {
        const Way way{.stream = each.stream, .graph = each.graph, .node = each.node};
        check(way.set(function, 1, 1, 0, arguments.data()), "making a graph");
        check(cudaGraphUpload(each.graph, each.stream), "making a graph");
      };
      kernels().for_each([&set](const Shader&, const Kernel& kernel) { std::ranges::for_each(kernel.functions, set); });
      check(cudaStreamSynchronize(each.stream), "making a graph");
    }
  }
  /// True if the launch has few enough items that counting its blocks costs little in comparison.
  static bool is_short(const Launch& launch) {
    constexpr std::uint64_t kMostItems = 65'536;
    std::uint64_t items = 0;
    for (const Segment& segment : launch.segments) items += segment.items;
    return items <= kMostItems;
  }
  /// Returns the stream for an operation that does not signal its end.
  cudaStream_t copying(unsigned stream) {
    streams_[stream].is_signalled = false;
    return streams_[stream].stream;
  }

  DeviceFailure* failure_ = nullptr;  ///< Failure of this GPU.
  cudaDeviceProp properties_{};
  std::vector<Stream> streams_;
  struct Shared {
    std::byte* host = nullptr;
    std::size_t bytes = 0;
    std::ptrdiff_t shift = 0;  ///< From host address to device address.
  };
  Flag* flags_ = nullptr;  ///< One per stream.
  std::vector<std::byte*> allocated_;
  std::vector<Shared> shared_;
};

/// The GPUs of this machine that the engine can use.
struct Found {
  std::vector<int> gpus;
  std::vector<int> nodes;  ///< NUMA node near each GPU.
  std::string words;       ///< The GPUs found, or why there is none.
};

/// Adds the GPU if it serves.
void look_at(int gpu, Found& found) {
  cudaDeviceProp properties{};
  const bool answers = cudaGetDeviceProperties(&properties, gpu) == cudaSuccess;
  found.words += found.words.empty() ? "" : "; ";
  found.words += answers ? description_of(properties) : "a GPU that does not say what it is";
  if (!answers || !serves(properties)) return;
  std::array<char, 32> address{};
  std::snprintf(address.data(), address.size(), "%04x:%02x:%02x.0", static_cast<unsigned>(properties.pciDomainID),
                static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID));
  found.gpus.push_back(gpu);
  found.nodes.push_back(node_of_pci(address.data()));
}

Found look_for_gpus() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  Found found;
  found.words = why_there_is_none(error, count);
  for (int gpu = 0; gpu < count; ++gpu) look_at(gpu, found);
  return found;
}

/// Looks once: drivers and GPUs do not change while a process runs.
const Found& found_gpus() {
  static const Found kFound = look_for_gpus();
  return kFound;
}

}  // namespace

cudaError_t Way::set(const void* function, dim3 grid, dim3 block, std::uint32_t shared_bytes, void** arguments) const {
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<void*>(function);
  kernel.gridDim = grid;
  kernel.blockDim = block;
  kernel.sharedMemBytes = shared_bytes;
  kernel.kernelParams = arguments;
  return cudaGraphExecKernelNodeSetParams(graph, node, &kernel);
}

cudaError_t Way::give(const void* function, dim3 grid, dim3 block, std::uint32_t shared_bytes, void** arguments) const {
  if (graph == nullptr) return cudaLaunchKernel(function, grid, block, arguments, shared_bytes, stream);
  const cudaError_t error = set(function, grid, block, shared_bytes, arguments);
  return error == cudaSuccess ? cudaGraphLaunch(graph, stream) : error;
}

std::string why_there_is_none(cudaError_t error, int count) {
  if (error == cudaErrorInsufficientDriver) {
    return "no NVIDIA driver, or one too old for CUDA " + std::to_string(CUDART_VERSION / 1000) +
           ": install the driver for the GPU, version 580 or newer";
  }
  if (error != cudaSuccess && error != cudaErrorNoDevice) {
    return std::string("the NVIDIA driver says: ") + cudaGetErrorString(error);
  }
  return count == 0 ? "the NVIDIA driver is there, but shows no GPU to this process" : "";
}

bool serves(const cudaDeviceProp& gpu) {
  return gpu.major >= kLeastMajor;
}

std::string description_of(const cudaDeviceProp& gpu) {
  return std::string(gpu.name) + ", compute capability " + std::to_string(gpu.major) + "." + std::to_string(gpu.minor) +
         (serves(gpu) ? "" : "; 8.0 or newer is needed");
}

/// Includes the failures, which may happen after found_gpus().
Availability probe_gpu() {
  return {!found_gpus().gpus.empty(), found_gpus().words + losses().text()};
}

const std::vector<int>& nodes_of_gpus() {
  return found_gpus().nodes;
}

int number_of_gpu(unsigned index) {
  return found_gpus().gpus[index];
}

std::unique_ptr<Device> open_gpu(unsigned index, unsigned streams) {
  auto device = std::make_unique<RuntimeDevice>();
  device->set_up(number_of_gpu(index), streams);
  return device;
}

namespace {

[[maybe_unused]] const bool kRegistered =
    register_engine({.name = "cuda",
                     .summary = "an NVIDIA GPU, in batches that are gathered from all workers",
                     .priority = 5,
                     .settings = settings(),
                     .probe = probe_gpu,
                     .create = [](const EngineSettings& told) -> std::unique_ptr<Engine> {
                       return std::make_unique<CudaEngine>(
                           Backend{.open = open_gpu,
                                   .find_shader = [](const std::string& name) { return kernels().find(name); },
                                   .nodes = nodes_of_gpus()},
                           told);
                     }});

}  // namespace

Variants<Kernel>& kernels() {
  static Variants<Kernel> all;
  return all;
}

}  // namespace penumbra::cuda
