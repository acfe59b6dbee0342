// SPDX-License-Identifier: Apache-2.0
//
// Runs the kernels of RSA by the CUDA runtime.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "crypto/rsa/cuda.h"
#include "crypto/rsa/cuda_forms.h"
#include "crypto/rsa/cuda_pairs.h"
#include "crypto/rsa/cuda_tasks.h"
#include "crypto/rsa/key.h"
#include "crypto/secret_memory.h"
#include "cuda/kernel_pause.h"
#include "cuda/runtime.h"

namespace penumbra::rsa {
namespace {

using cuda::check;

/// Memory of the GPU for secrets.
template <class Element>
class OnGpu {
 public:
  explicit OnGpu(std::size_t count) : bytes_(count * sizeof(Element)) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes_), "taking memory for RSA");
    data_ = static_cast<Element*>(memory);
  }
  ~OnGpu() {
    cudaMemset(data_, 0, bytes_);
    cudaFree(data_);
  }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  Element* data() const { return data_; }

 private:
  Element* data_ = nullptr;
  std::size_t bytes_;
};

/// Page-locked memory of the host for secrets.
template <class Element>
class OnHost {
 public:
  explicit OnHost(std::size_t count) : count_(count) {
    void* memory = nullptr;
    check(cudaMallocHost(&memory, count * sizeof(Element)), "taking memory for RSA");
    data_ = static_cast<Element*>(memory);
    erase_bytes(data_, count * sizeof(Element));
  }
  ~OnHost() {
    erase_bytes(data_, count_ * sizeof(Element));
    cudaFreeHost(data_);
  }
  OnHost(const OnHost&) = delete;
  OnHost& operator=(const OnHost&) = delete;
  std::span<Element> span() const { return {data_, count_}; }

 private:
  Element* data_ = nullptr;
  std::size_t count_;
};

/// An array of the host and its copy on the GPU.
template <class Element>
struct Column {
  explicit Column(std::size_t count) : host(count), gpu(count) {}
  void copy_in(std::size_t count, cudaStream_t stream) const {
    check(cudaMemcpyAsync(gpu.data(), host.span().data(), count * sizeof(Element), cudaMemcpyHostToDevice, stream),
          "copying inputs of RSA");
  }
  void copy_out(std::size_t count, cudaStream_t stream) const {
    check(cudaMemcpyAsync(host.span().data(), gpu.data(), count * sizeof(Element), cudaMemcpyDeviceToHost, stream),
          "copying results of RSA");
  }
  OnHost<Element> host;
  OnGpu<Element> gpu;
};

/// The GPU, chosen before memory is taken.
struct Device {
  Device() : number(find()) {
    choose();
    check(cudaGetDeviceProperties(&properties, number), "asking what GPU it is");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  }
  ~Device() { cudaStreamDestroy(stream); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Chooses the GPU for the calling thread.
  void choose() const { check(cudaSetDevice(number), "taking the GPU"); }

  static int find() {
    const Availability gpu = cuda::probe_gpu();
    if (!gpu.available) throw cuda::DeviceError(gpu.reason, true);
    return cuda::number_of_gpu(0);
  }

  const int number;
  cudaDeviceProp properties{};
  cudaStream_t stream = nullptr;
};

}  // namespace

struct CudaBatch::State {
  State(unsigned bits_of, std::uint32_t most_keys, std::uint32_t most_operations)
      : bytes(bits_of / 8),
        forms(bits_of == 2048   ? gpu::forms_2048()
              : bits_of == 3072 ? gpu::forms_3072()
                                : gpu::forms_4096()),
        pairs(most_operations),
        keys(most_keys),
        gpu_pairs(most_operations),
        inputs(std::size_t{most_operations} * bytes),
        outputs(std::size_t{most_operations} * bytes),
        key(most_operations),
        pair(most_operations),
        statuses(most_operations),
        random(std::size_t{most_operations} * bytes),
        made_key(most_operations),
        made_pair(most_operations),
        free_keys(most_keys) {
    std::iota(free_keys.rbegin(), free_keys.rend(), 0U);
    for (const gpu::Form& form : forms) {
      lanes.push_back(form.lanes);
      check(cudaFuncSetAttribute(form.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(device.properties.sharedMemPerBlockOptin)),
            "loading a kernel of RSA");
    }
  }

  /// Returns the form for a batch: many lanes have results soonest, few lanes have most results per second.
  const gpu::Form& form_for(std::uint32_t count) const {
    const auto threads = [count](const gpu::Form& form) { return std::uint64_t{2} * count * form.lanes; };
    const std::uint64_t room =
        std::uint64_t{kThreadsOfMultiprocessor} * static_cast<unsigned>(device.properties.multiProcessorCount);
    for (std::size_t i = forms.size(); i-- > 1;) {
      if (chosen_lanes == 0 ? threads(forms[i]) <= room : forms[i].lanes == chosen_lanes) return forms[i];
    }
    return forms.front();
  }
  void launch(const gpu::Tasks& tasks) const {
    const gpu::Form& form = form_for(tasks.count);
    const auto multiprocessors = static_cast<std::uint64_t>(device.properties.multiProcessorCount);
    const auto shared = static_cast<unsigned>(device.properties.sharedMemPerBlockOptin);
    const unsigned most_threads = std::min(form.most_threads, shared / form.half_bytes * form.lanes / kWarp * kWarp);
    // Blocks of one size, as many as the multiprocessors or a multiple.
    const std::uint64_t needed = std::uint64_t{2} * tasks.count * form.lanes;
    const std::uint64_t waves = (needed + multiprocessors * most_threads - 1) / (multiprocessors * most_threads);
    const std::uint64_t threads = (needed + waves * multiprocessors - 1) / (waves * multiprocessors);
    const auto block = static_cast<unsigned>((threads + kWarp - 1) / kWarp * kWarp);
    gpu::Tasks argument = tasks;
    void* arguments[] = {&argument};
    check(cudaLaunchKernel(form.kernel, dim3(static_cast<unsigned>((needed + block - 1) / block)), dim3(block),
                           arguments, std::size_t{block} / form.lanes * form.half_bytes, device.stream),
          "starting RSA");
  }
  gpu::Tasks tasks(std::uint32_t count) const {
    return {keys.data(),
            key.gpu.data(),
            gpu_pairs.data(),
            pair.gpu.data(),
            inputs.gpu.data(),
            outputs.gpu.data(),
            statuses.gpu.data(),
            count,
            false};
  }
  /// Gives every operation a pair.
  void assign_pairs(std::uint32_t count) {
    const auto made = pairs.assign(key.host.span().first(count), pair.host.span().first(count));
    pair.copy_in(count, device.stream);
    if (made.empty()) return;
    const auto numbers = random.host.span().first(made.size() * bytes);
    fill_random(numbers);
    for (std::size_t i = 0; i < made.size(); ++i) {
      numbers[i * bytes] &= 0x7F;  // less than the modulus
      made_key.host.span()[i] = key.host.span()[made[i]];
      made_pair.host.span()[i] = pair.host.span()[made[i]];
    }
    random.copy_in(numbers.size(), device.stream);
    made_key.copy_in(made.size(), device.stream);
    made_pair.copy_in(made.size(), device.stream);
    gpu::Tasks making = tasks(static_cast<std::uint32_t>(made.size()));
    making.key = made_key.gpu.data();
    making.pair = made_pair.gpu.data();
    making.inputs = random.gpu.data();
    making.makes_pairs = true;
    launch(making);
  }
  void wait() const { check(cudaStreamSynchronize(device.stream), "waiting for RSA"); }

  static constexpr unsigned kWarp = 32;
  static constexpr unsigned kThreadsOfMultiprocessor = 512;  ///< With more, fewer lanes for each prime are faster.

  Device device;
  std::size_t bytes;
  std::span<const gpu::Form> forms;
  std::vector<unsigned> lanes;
  BlindingPairs pairs;
  OnGpu<rsa_key> keys;
  OnGpu<rsa_pair> gpu_pairs;
  Column<std::uint8_t> inputs, outputs;
  Column<std::uint32_t> key, pair, statuses;
  Column<std::uint8_t> random;
  Column<std::uint32_t> made_key, made_pair;
  std::vector<std::uint32_t> free_keys;  ///< Indices without a key, the least last.
  unsigned chosen_lanes = 0;
};

CudaBatch::CudaBatch(unsigned bits, std::uint32_t most_keys, std::uint32_t most_operations)
    : state_([&] {
        const cuda::KernelPause pause;
        return std::make_unique<State>(bits, most_keys, most_operations);
      }()) {}
CudaBatch::~CudaBatch() {
  const cuda::KernelPause pause;
  state_.reset();
}

std::uint32_t CudaBatch::add_key(const rsa_key& key) {
  if (state_->free_keys.empty()) throw std::length_error("the GPU has no room for another key of RSA");
  const std::uint32_t index = state_->free_keys.back();
  state_->device.choose();
  check(cudaMemcpyAsync(state_->keys.data() + index, &key, sizeof key, cudaMemcpyHostToDevice, state_->device.stream),
        "copying a key of RSA");
  state_->wait();
  state_->free_keys.pop_back();
  return index;
}

void CudaBatch::remove_key(std::uint32_t key) noexcept {
  cudaSetDevice(state_->device.number);
  cudaMemsetAsync(state_->keys.data() + key, 0, sizeof(rsa_key), state_->device.stream);
  cudaStreamSynchronize(state_->device.stream);
  state_->pairs.forget(key);
  state_->free_keys.push_back(key);
}

std::uint32_t CudaBatch::bytes() const {
  return static_cast<std::uint32_t>(state_->bytes);
}
std::span<std::uint8_t> CudaBatch::inputs() {
  return state_->inputs.host.span();
}
std::span<std::uint32_t> CudaBatch::keys() {
  return state_->key.host.span();
}
std::span<const std::uint8_t> CudaBatch::outputs() {
  return state_->outputs.host.span();
}
std::span<const std::uint32_t> CudaBatch::statuses() {
  return state_->statuses.host.span();
}
std::span<const unsigned> CudaBatch::lanes() const {
  return state_->lanes;
}
void CudaBatch::set_lanes(unsigned lanes) {
  state_->chosen_lanes = lanes;
}

void CudaBatch::run(std::uint32_t count) {
  if (count == 0) return;
  const cudaStream_t stream = state_->device.stream;
  state_->device.choose();
  state_->inputs.copy_in(count * state_->bytes, stream);
  state_->key.copy_in(count, stream);
  run_in_place(count);
  state_->outputs.copy_out(count * state_->bytes, stream);
  state_->statuses.copy_out(count, stream);
  state_->wait();
}

void CudaBatch::run_in_place(std::uint32_t count) {
  state_->device.choose();
  state_->assign_pairs(count);
  state_->launch(state_->tasks(count));
  state_->wait();
}

}  // namespace penumbra::rsa
