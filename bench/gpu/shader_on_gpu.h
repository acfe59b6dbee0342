// SPDX-License-Identifier: Apache-2.0
//
// A shader of the engine `cuda` on keys and a table that the GPU has already.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/kernels.h"
#include "gpu/cuda_call.h"
#include "gpu/lookup_work.h"

namespace penumbra::bench::gpu {

/// A copy on the GPU of a table's regions, and the view that points to them.
class GpuTable final : public TableMirror {
 public:
  void published(std::span<const std::byte> view, std::span<const TableRegion> regions) override;
  void changed(std::size_t /*region*/, std::size_t /*offset*/, std::size_t /*bytes*/) override {}
  void committed() override {}

  const void* view() const { return view_.data(); }
  /// The largest region, here and there.
  const TableRegion& largest() const { return largest_; }
  const std::uint16_t* largest_copy() const { return reinterpret_cast<const std::uint16_t*>(largest_copy_); }

 private:
  std::vector<std::byte> view_;
  std::vector<DeviceArray<std::byte>> copies_;
  TableRegion largest_;
  const std::byte* largest_copy_ = nullptr;
};

/// A work's keys, again and again until there are `items`, a multiple of the keys, on the GPU.
class ShaderOnGpu {
 public:
  ShaderOnGpu(LookupWork& work, std::uint32_t items);
  ~ShaderOnGpu() { work_.penumbra_table().detach(table_); }
  ShaderOnGpu(const ShaderOnGpu&) = delete;
  ShaderOnGpu& operator=(const ShaderOnGpu&) = delete;

  /// Throws WrongAnswer unless every answer is the right one.
  void check_lookups(const cuda::Kernel* kernel = nullptr) const;
  /// The same of the sum of random reads.
  void check_reads() const;
  /// All items, `times` times; by another kernel of the same columns, if one is given.
  void lookups(unsigned times, const cuda::Kernel* kernel = nullptr) const;
  /// So many reads, `times` times; returns the sum of all.
  unsigned long long reads(std::uint32_t count, unsigned times) const;
  /// Of the part of the table in which reads are drawn: as much of its largest region as is a power of two.
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
