// SPDX-License-Identifier: Apache-2.0
//
// Measures BGHT's tables of 32-bit keys on a GPU: bght. Keys are a permutation of 32-bit numbers. The order of searches
// differs from the order of insertions.
#include <algorithm>
#include <bght/bcht.hpp>
#include <bght/cht.hpp>
#include <bght/iht.hpp>
#include <bght/p2bht.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Number = std::uint32_t;
using Pair = bght::pair<Number, Number>;

constexpr Number kNoNumber = 0xFFFFFFFF, kMixed = 0x5bd1e995;  ///< A value is its key XOR kMixed.
constexpr Number kOdd = 0x9E3779B1;            ///< The products with the numbers below N are distinct keys.
constexpr std::uint64_t kStride = 2654435761;  ///< Defines the order of the searches.
constexpr unsigned kBlocks = 1024, kThreads = 256, kUnmeasured = 2, kMeasured = 7;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

__global__ void make(Pair* pairs, Number* searched, Number count) {
  const Number stride = static_cast<Number>(kStride % count) | 1;
  for (Number i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    pairs[i] = Pair{i * kOdd, i * kOdd ^ kMixed};
    searched[i] = static_cast<Number>(std::uint64_t{i} * stride % count) * kOdd;
  }
}

__global__ void count_wrong(const Number* searched, const Number* found, Number count, unsigned* wrong) {
  for (Number i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    if (found[i] != (searched[i] ^ kMixed)) atomicAdd(wrong, 1);
  }
}

/// Returns the milliseconds on the GPU.
template <class Work>
float time_of(Work work) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  check(cudaEventRecord(begin));
  work();
  check(cudaGetLastError());
  check(cudaEventRecord(end));
  check(cudaEventSynchronize(end));
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end));
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
  return milliseconds;
}

template <class Map>
void measure(const char* name, Number count, double load) {
  Pair* pairs;
  Number *searched, *found;
  unsigned* wrong;
  check(cudaMalloc(&pairs, sizeof *pairs * count));
  check(cudaMalloc(&searched, sizeof *searched * count));
  check(cudaMalloc(&found, sizeof *found * count));
  check(cudaMallocManaged(&wrong, sizeof *wrong));
  make<<<kBlocks, kThreads>>>(pairs, searched, count);
  check(cudaGetLastError());
  Map map(static_cast<std::size_t>(count / load), kNoNumber, kNoNumber);
  bool takes_all = false;
  const double inserted = count / time_of([&] { takes_all = map.insert(pairs, pairs + count); }) * 1e-6;
  std::vector<double> rates;
  check(cudaMemset(
      found, 0xFF,
      sizeof *found *
          count));  // Clears the values of the last table at the same address, which could be right by chance.
  for (unsigned i = 0; i < kUnmeasured + kMeasured; ++i) {
    const double rate = count / time_of([&] { map.find(searched, searched + count, found); }) * 1e-6;
    if (i >= kUnmeasured) rates.push_back(rate);
  }
  std::sort(rates.begin(), rates.end());
  *wrong = 0;
  count_wrong<<<kBlocks, kThreads>>>(searched, found, count, wrong);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  std::printf("%-6s %8u pairs, %.0f%% of %3.0f MiB: ", name, count, load * 100, count / load * sizeof(Pair) / 1048576);
  std::printf("%s at %.2f, finds %.2f (%.2f .. %.2f) G/s, %u wrong\n", takes_all ? "inserts all" : "DOES NOT TAKE ALL",
              inserted, rates[rates.size() / 2], rates.front(), rates.back(), *wrong);
  check(cudaFree(pairs));
  check(cudaFree(searched));
  check(cudaFree(found));
  check(cudaFree(wrong));
}

}  // namespace

int main() {
  for (const Number count : {3'300'000U, 13'000'000U, 50'000'000U}) {
    for (const double load : {0.8, 0.9}) {
      measure<bght::bcht<Number, Number>>("bcht", count, load);
      measure<bght::bcht8<Number, Number>>("bcht8", count, load);
      measure<bght::p2bht<Number, Number>>("p2bht", count, load);
      measure<bght::iht<Number, Number>>("iht", count, load);
      measure<bght::cht<Number, Number>>("cht", count, load);
    }
  }
}
