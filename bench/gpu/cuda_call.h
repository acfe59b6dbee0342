// SPDX-License-Identifier: Apache-2.0
//
// CUDA runtime calls with errors as exceptions, and owners of its resources.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace penumbra::bench::gpu {

/// Throws std::runtime_error unless the call has succeeded.
inline void check(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(doing) + ": " + cudaGetErrorString(error));
}

/// An array of `count` uninitialized elements. The array is in GPU memory, or in host memory that the GPU accesses at
/// the same address.
template <class Element, cudaError_t (*Take)(void**, std::size_t), cudaError_t (*GiveBack)(void*)>
class CudaArray {
 public:
  explicit CudaArray(std::size_t count) : size_(count) {
    void* memory = nullptr;
    check(Take(&memory, count * sizeof(Element)), "taking memory");
    data_ = static_cast<Element*>(memory);
  }
  ~CudaArray() { GiveBack(data_); }
  CudaArray(CudaArray&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  CudaArray& operator=(CudaArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  Element* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(Element); }
  std::span<Element> span() const { return {data_, size_}; }
  Element& operator[](std::size_t index) const { return data_[index]; }

 private:
  Element* data_ = nullptr;
  std::size_t size_;
};

inline cudaError_t take_shared(void** memory, std::size_t bytes) {
  return cudaHostAlloc(memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
}
inline cudaError_t take_own(void** memory, std::size_t bytes) {
  return cudaMalloc(memory, bytes);
}

template <class Element>
using DeviceArray = CudaArray<Element, &take_own, &cudaFree>;
template <class Element>
using SharedArray = CudaArray<Element, &take_shared, &cudaFreeHost>;

/// Copies all of `from` to the GPU or back, and waits for the end.
template <class Element>
void copy_now(std::remove_const_t<Element>* to, std::span<Element> from) {
  check(cudaMemcpy(to, from.data(), from.size_bytes(), cudaMemcpyDefault), "copying");
}

/// A stream that does not synchronize with others.
class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream"); }
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) = delete;

  cudaStream_t get() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "waiting for the GPU"); }
  void copy(void* to, const void* from, std::size_t bytes) const {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copying");
  }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Work of a stream, recorded once and launched any number of times.
class Graph {
 public:
  /// `give` gives work to the stream, which records it instead of running it.
  template <class Give>
  Graph(const Stream& stream, Give give) {
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "recording a graph");
    give();
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream.get(), &graph), "recording a graph");
    const cudaError_t error = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check(error, "making a graph");
  }
  ~Graph() { cudaGraphExecDestroy(graph_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(const Stream& stream) const { check(cudaGraphLaunch(graph_, stream.get()), "launching a graph"); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace penumbra::bench::gpu
