// SPDX-License-Identifier: Apache-2.0
//
// What became of the private operations of a process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace penumbra::tls {

/// An operation that was taken is answered, abandoned or falls back, exactly once.
struct Counters {
  std::atomic<std::uint64_t> taken;      ///< Given to the engine by an asynchronous job.
  std::atomic<std::uint64_t> answered;   ///< The job received the result.
  std::atomic<std::uint64_t> abandoned;  ///< The connection ended before the job received the result.
  std::atomic<std::uint64_t>
      fell_back;  ///< OpenSSL's own code ran instead: the check failed, or the job could not pause.
  std::atomic<std::uint64_t> refused;      ///< Not taken, because the engine was full or absent.
  std::atomic<std::uint64_t> without_job;  ///< Not taken, because the application used no asynchronous job.
  std::atomic<std::uint64_t> batches;      ///< Calls of the IFMA form.
  std::atomic<std::uint64_t> batched;      ///< Operations in them.
  std::atomic<std::uint64_t> alone;        ///< Operations that the engine ran by OpenSSL's own code.
  std::atomic<std::uint64_t> in_flight;    ///< Operations that the engine has now.
};

/// Names of the counters, as parameters of the provider.
struct NamedCounter {
  const char* name;
  std::atomic<std::uint64_t> Counters::* counter;
};
inline constexpr std::array<NamedCounter, 10> kCounters{{{"taken", &Counters::taken},
                                                         {"answered", &Counters::answered},
                                                         {"abandoned", &Counters::abandoned},
                                                         {"fell-back", &Counters::fell_back},
                                                         {"refused", &Counters::refused},
                                                         {"without-job", &Counters::without_job},
                                                         {"batches", &Counters::batches},
                                                         {"batched", &Counters::batched},
                                                         {"alone", &Counters::alone},
                                                         {"in-flight", &Counters::in_flight}}};

inline void count(std::atomic<std::uint64_t>& counter, std::uint64_t more = 1) {
  counter.fetch_add(more, std::memory_order_relaxed);
}

}  // namespace penumbra::tls
