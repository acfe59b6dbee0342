// SPDX-License-Identifier: Apache-2.0
#include "gpu/shader_on_gpu.h"

#include <bit>
#include <cstring>
#include <stdexcept>

#include "gpu/kernels.h"

namespace penumbra::bench::gpu {

void GpuTable::published(std::span<const std::byte> view, std::span<const TableRegion> regions) {
  view_.assign(view.begin(), view.end());
  copies_.clear();
  for (const TableRegion& region : regions) {
    const auto& copy = copies_.emplace_back(region.bytes);
    check(cudaMemcpy(copy.data(), region.data, region.bytes, cudaMemcpyHostToDevice), "copying a table");
    const std::byte* const begin = copy.data();
    std::memcpy(view_.data() + region.pointer_offset, static_cast<const void*>(&begin), sizeof begin);
    if (region.bytes <= largest_.bytes) continue;
    largest_ = region;
    largest_copy_ = begin;
  }
}

ShaderOnGpu::ShaderOnGpu(LookupWork& work, std::uint32_t items)
    : work_(work),
      items_(items),
      shader_(cuda::kernels().find(work.penumbra_table().name())),
      keys_(items * work.key_bytes()),
      answers_(items * work.answer_bytes()) {
  if (shader_ == nullptr) throw std::logic_error("no kernel of " + work.penumbra_table().name());
  const std::size_t bytes = work.size() * work.key_bytes();
  for (std::size_t at = 0; at < keys_.bytes(); at += bytes) {
    copy_now(keys_.data() + at, std::span<const std::byte>(work.key(0), bytes));
  }
  work_.penumbra_table().attach(table_);
}

void ShaderOnGpu::check_lookups(const cuda::Kernel* kernel) const {
  check(cudaMemsetAsync(answers_.data(), 0xA5, answers_.bytes(), stream_.get()), "wiping out");
  lookups(1, kernel);
  std::vector<std::byte> found(work_.all_right().size());
  for (std::size_t at = 0; at < answers_.bytes(); at += found.size()) {
    copy_now(found.data(), answers_.span().subspan(at, found.size()));
    work_.check(0, found);
  }
}

void ShaderOnGpu::check_reads() const {
  constexpr std::uint32_t kFew = 1U << 22;
  const auto* const there = reinterpret_cast<const std::uint16_t*>(table_.largest().data);
  unsigned long long right = 0;
  for (std::uint32_t i = 0; i < kFew; ++i) right += there[random_place(i, mask())];
  if (reads(kFew, 1) != right) throw WrongAnswer("random reads on the GPU: their sum is not the host's");
}

void ShaderOnGpu::lookups(unsigned times, const cuda::Kernel* kernel) const {
  const cuda::Kernel& used = kernel == nullptr ? Variants<cuda::Kernel>::call_of(*shader_) : *kernel;
  cuda::Segment segment;
  segment.inputs[0] = keys_.data();
  segment.outputs[0] = answers_.data();
  segment.items = items_;
  const cuda::Launch launch{.shader = shader_, .view = table_.view(), .segments = {&segment, 1}};
  for (unsigned i = 0; i < times; ++i) {
    check(used.launch(launch, {}, {.stream = stream_.get()}), "launching");
  }
  stream_.wait();
}

unsigned long long ShaderOnGpu::reads(std::uint32_t count, unsigned times) const {
  check(cudaMemsetAsync(sum_.data(), 0, sum_.bytes(), stream_.get()), "wiping out");
  for (unsigned i = 0; i < times; ++i) {
    check(launch_random_reads(table_.largest_copy(), mask(), count, sum_.data(), stream_.get()), "launching");
  }
  stream_.wait();
  unsigned long long sum = 0;
  copy_now(&sum, sum_.span());
  return sum;
}

std::size_t ShaderOnGpu::read_bytes() const {
  return std::bit_floor(table_.largest().bytes);
}

}  // namespace penumbra::bench::gpu
