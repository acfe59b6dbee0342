// SPDX-License-Identifier: Apache-2.0
#include "crypto/jobs/cipher_jobs.library.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <system_error>

#include "crypto/ipsec_mb/worker.h"

namespace penumbra {
namespace {

/// Jobs of one direction that are handed to the library at once.
struct Burst {
  static constexpr std::uint32_t kMost = 64;

  std::array<cipher_packet, kMost> packets;
  std::array<std::uint32_t, kMost> items;
  std::array<std::uint8_t, kMost> results;
  std::uint32_t count = 0;
};

std::unique_ptr<ipsec_mb::Worker> make_worker() noexcept {
  try {
    return std::make_unique<ipsec_mb::Worker>();
  } catch (const std::system_error&) {
    return nullptr;
  }
}

/// Runs the burst, and sets status and length of its items.
void run(ipsec_mb::Worker& worker, const cipher_jobs_view& view, const cipher_job* job, cipher_direction direction,
         Burst& burst, penumbra_destination destination, std::uint8_t* status) {
  const std::span keys(static_cast<const ipsec_mb::Key*>(view.library_key), view.keys);
  const std::span packets(burst.packets.data(), burst.count);
  if (direction == CIPHER_OPEN) {
    worker.open(keys, packets, burst.results.data());
  } else {
    worker.seal(keys, packets, burst.results.data());
  }
  for (std::uint32_t k = 0; k < burst.count; ++k) {
    const std::uint32_t i = burst.items[k];
    // The packets fit their keys, so that the library refuses only those that are too long for it.
    const bool is_too_long = burst.packets[k].bytes > ipsec_mb::kMostBytes - CIPHER_MOST_PREFIX - CIPHER_MOST_AAD;
    const cipher_status refusal = is_too_long ? CIPHER_WRONG_LENGTH : CIPHER_WRONG_TAG;
    status[i] = static_cast<std::uint8_t>(burst.results[k] != 0 ? CIPHER_DONE : refusal);
    destination.length[i] = cipher_job_length(view.key + job[i].key, job + i, &burst.packets[k], status[i]);
  }
  burst.count = 0;
}

}  // namespace

void cipher_jobs_by_library(cipher_jobs_view view, const cipher_job* job, penumbra_source source,
                            penumbra_destination destination, std::uint8_t* status, std::uint32_t n) {
  thread_local const std::unique_ptr<ipsec_mb::Worker> kWorker = make_worker();
  if (kWorker == nullptr) return cipher_jobs(view, job, source, destination, status, n);
  Burst seals, opens;
  for (std::uint32_t i = 0; i < n; ++i) {
    const bool is_open = job[i].direction == CIPHER_OPEN;
    Burst& burst = is_open ? opens : seals;
    const std::uint8_t* const from = source.bytes + source.position[i];
    std::uint8_t* const to = destination.bytes + destination.position[i];
    status[i] = static_cast<std::uint8_t>(cipher_job_packet(&view, job + i, from, source.length[i], to,
                                                            destination.room[i], &burst.packets[burst.count]));
    destination.length[i] = 0;
    if (status[i] != CIPHER_DONE) continue;
    if (!is_open) std::copy_n(job[i].prefix, job[i].prefix_bytes, to);
    burst.items[burst.count++] = i;
    if (burst.count == Burst::kMost) {
      run(*kWorker, view, job, is_open ? CIPHER_OPEN : CIPHER_SEAL, burst, destination, status);
    }
  }
  if (seals.count > 0) run(*kWorker, view, job, CIPHER_SEAL, seals, destination, status);
  if (opens.count > 0) run(*kWorker, view, job, CIPHER_OPEN, opens, destination, status);
}

}  // namespace penumbra
