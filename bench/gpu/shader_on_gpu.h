// SPDX-License-Identifier: Apache-2.0
//
// A shader of the engine `cuda` on keys and a table that the GPU already has.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/kernels.h"
#include "gpu/cuda_call.h"
#include "gpu/lookup_work.h"

namespace penumbra::bench::gpu {

/// A copy of a table's regions on the GPU, and the view with its pointers.
class GpuTable final : public TableMirror {
 public:
  void published(std::span<const std::byte> view, std::span<const TableRegion> regions) override;
  void changed(std::size_t /*region*/, std::size_t /*offset*/, std::size_t /*bytes*/) override {}
  void committed() override {}

  const void* view() const { return view_.data(); }
  /// Return the largest region on the host (`largest`) and on the GPU (`largest_copy`).
  const TableRegion& largest() const { return largest_; }
  const std::uint16_t* largest_copy() const { return reinterpret_cast<const std::uint16_t*>(largest_copy_); }

 private:
  std::vector<std::byte> view_;
  std::vector<DeviceArray<std::byte>> copies_;
  TableRegion largest_;
  const std::byte* largest_copy_ = nullptr;
};

/// A work's keys on the GPU, repeated until there are `items` keys, which must be a multiple of the work's keys.
class ShaderOnGpu {
 public:
  ShaderOnGpu(LookupWork& work, std::uint32_t items);
  ~ShaderOnGpu() { work_.penumbra_table().detach(table_); }
  ShaderOnGpu(const ShaderOnGpu&) = delete;
  ShaderOnGpu& operator=(const ShaderOnGpu&) = delete;

  /// Throws WrongAnswer unless every answer is right.
  void check_lookups(const cuda::Kernel* kernel = nullptr) const;
  /// Throws WrongAnswer unless the sum of the random reads is right.
  void check_reads() const;
  /// Looks up all items `times` times, by another kernel with the same columns if `kernel` is given.
  void lookups(unsigned times, const cuda::Kernel* kernel = nullptr) const;
  /// Makes `count` reads `times` times. Returns the sum of all reads.
  unsigned long long reads(std::uint32_t count, unsigned times) const;
  /// Returns the bytes of the table in which reads are drawn: the largest power of two within its largest region.
  std::size_t read_bytes() const;

 private:
  std::uint32_t mask() const { return static_cast<std::uint32_t>(read_bytes() / sizeof(std::uint16_t) - 1); }

  LookupWork& work_;
  const std::uint32_t items_;
  const Shader* const shader_;
  GpuTable table_;
  DeviceArray<std::byte> keys_, answers_;
  DeviceArray<unsigned long long> sum_{1};
  Stream stream_;
};

}  // namespace penumbra::bench::gpu
