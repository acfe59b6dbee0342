// SPDX-License-Identifier: Apache-2.0
//
// Counts how the private operations of a process end.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/counter.h"

namespace penumbra::tls {

/// An operation that was taken is answered, abandoned, falls back or fails, exactly once. An operation that was sent is
/// answered or lost. Every operation of a key reference is taken.
struct Counters {
  std::atomic<std::uint64_t> taken;      ///< Given to the engine by an asynchronous job.
  std::atomic<std::uint64_t> answered;   ///< The job received the result.
  std::atomic<std::uint64_t> abandoned;  ///< The connection ended before the job received the result.
  std::atomic<std::uint64_t>
      fell_back;                      ///< OpenSSL's own code ran instead: the check failed, or the job could not pause.
  std::atomic<std::uint64_t> failed;  ///< The engine gave no result for a key reference.
  std::atomic<std::uint64_t> refused;  ///< Not taken, because the engine was full or absent.
  std::atomic<std::uint64_t>
      without_job;  ///< The application used no asynchronous job. Only operations of key references are taken.
  std::atomic<std::uint64_t> batches;            ///< Calls of the IFMA form.
  std::atomic<std::uint64_t> batched;            ///< Operations in them.
  std::atomic<std::uint64_t> alone;              ///< Operations that the engine ran by OpenSSL's own code.
  std::atomic<std::uint64_t> sent;               ///< Operations passed to `penumbra tls-engine`.
  std::atomic<std::uint64_t> sent_answered;      ///< It gave the right result.
  std::atomic<std::uint64_t> sent_lost;          ///< It gave no result or a wrong one.
  std::atomic<std::uint64_t> untrusted_engines;  ///< Connections that ended because a user without trust listens.
  std::atomic<std::uint64_t> in_flight;          ///< Operations that the engine has now.
};

/// Names of the counters, as parameters of the provider.
inline constexpr std::array<NamedCounter<Counters>, 15> kCounters{{{"taken", &Counters::taken},
                                                                   {"answered", &Counters::answered},
                                                                   {"abandoned", &Counters::abandoned},
                                                                   {"fell-back", &Counters::fell_back},
                                                                   {"failed", &Counters::failed},
                                                                   {"refused", &Counters::refused},
                                                                   {"without-job", &Counters::without_job},
                                                                   {"batches", &Counters::batches},
                                                                   {"batched", &Counters::batched},
                                                                   {"alone", &Counters::alone},
                                                                   {"sent", &Counters::sent},
                                                                   {"sent-answered", &Counters::sent_answered},
                                                                   {"sent-lost", &Counters::sent_lost},
                                                                   {"untrusted-engines", &Counters::untrusted_engines},
                                                                   {"in-flight", &Counters::in_flight}}};

}  // namespace penumbra::tls
