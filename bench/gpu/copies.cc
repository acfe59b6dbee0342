// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "gpu/cuda_call.h"
#include "gpu/measurements.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::size_t kLargestCopy = 64 * kMiB;
constexpr std::size_t kBytesOfASample = 256 * kMiB;

struct Buffers {
  SharedArray<std::byte> pinned{kLargestCopy}, pinned_back{kLargestCopy};
  DeviceArray<std::byte> device{kLargestCopy}, device_out{kLargestCopy};
  std::vector<std::byte> pageable = std::vector<std::byte>(kLargestCopy);
  Stream there, back;
};

void fill_with_noise(std::span<std::byte> bytes, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(&bytes[i], &word, sizeof word);
  }
}

/// Checks every kind of copy once in both directions.
void check_copies(Buffers& buffers, std::uint64_t seed) {
  fill_with_noise(buffers.pinned.span(), seed);
  buffers.there.copy(buffers.device.data(), buffers.pinned.data(), kLargestCopy);
  buffers.there.wait();
  buffers.back.copy(buffers.pinned_back.data(), buffers.device.data(), kLargestCopy);
  buffers.back.wait();
  copy_now(buffers.pageable.data(), buffers.device.span());
  copy_now(buffers.device_out.data(), std::span(buffers.pageable));
  if (std::memcmp(buffers.pinned.data(), buffers.pinned_back.data(), kLargestCopy) != 0 ||
      std::memcmp(buffers.pinned.data(), buffers.pageable.data(), kLargestCopy) != 0) {
    throw WrongAnswer("copies: what came back is not what went");
  }
  copy_now(buffers.pinned_back.data(), buffers.device_out.span());
  if (std::memcmp(buffers.pinned.data(), buffers.pinned_back.data(), kLargestCopy) != 0) {
    throw WrongAnswer("copies: what came back is not what went from pageable memory");
  }
}

/// Returns the gigabytes per second that consecutive calls of `copy` move.
template <class Copy>
double gigabytes_a_second(Buffers& buffers, std::size_t bytes, std::size_t bytes_of_a_call, Copy copy) {
  const std::size_t calls = std::clamp<std::size_t>(kBytesOfASample / bytes, 4, 2000);
  const double begin = now();
  for (std::size_t i = 0; i < calls; ++i) copy();
  buffers.there.wait();
  buffers.back.wait();
  return static_cast<double>(calls * bytes_of_a_call) / (now() - begin) * 1e-9;
}

}  // namespace

void measure_copies(const Options& options, Report& report) {
  Buffers buffers;
  report.input("copied",
               fmt::format("noise, seed {}, between {} of the host's memory, pinned and pageable, and as much of "
                           "the GPU's",
                           options.seed, size_name(kLargestCopy)));
  check_copies(buffers, options.seed);
  report.checked("copies of noise come back as they went");
  for (const std::size_t bytes :
       {256 * kKiB / 1024, kKiB, 4 * kKiB, 16 * kKiB, 64 * kKiB, 256 * kKiB, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB}) {
    const auto to = [&] { buffers.there.copy(buffers.device.data(), buffers.pinned.data(), bytes); };
    const auto from = [&] { buffers.back.copy(buffers.pinned_back.data(), buffers.device_out.data(), bytes); };
    const auto both = [&] {
      to();
      from();
    };
    const std::span pageable(buffers.pageable.data(), bytes);
    const auto series = interleave(
        {{"to the GPU", [&] { return gigabytes_a_second(buffers, bytes, bytes, to); }},
         {"from the GPU", [&] { return gigabytes_a_second(buffers, bytes, bytes, from); }},
         {"both at once, together", [&] { return gigabytes_a_second(buffers, bytes, 2 * bytes, both); }},
         {"to the GPU, pageable memory",
          [&] {
            return gigabytes_a_second(buffers, bytes, bytes, [&] { copy_now(buffers.device.data(), pageable); });
          }},
         {"from the GPU, pageable memory",
          [&] {
            return gigabytes_a_second(buffers, bytes, bytes, [&] {
              copy_now(buffers.pageable.data(), std::span(buffers.device_out.data(), bytes));
            });
          }}},
        options.rounds);
    report.compare(fmt::format("copies of {}", size_name(bytes)), "GB/s", series, "",
                   Place{{"E1", "copies, one after the other", "copy", "B"}, static_cast<double>(bytes)});
  }
}

}  // namespace penumbra::bench::gpu
