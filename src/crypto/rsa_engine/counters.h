// SPDX-License-Identifier: Apache-2.0
//
// Counts how the requests of all clients end.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/counter.h"

namespace penumbra::rsa_engine {

/// A request that was taken is answered, failed or abandoned, exactly once.
struct Counters {
  std::atomic<std::uint64_t> taken;            ///< Copied from a ring.
  std::atomic<std::uint64_t> answered;         ///< The client received the result.
  std::atomic<std::uint64_t> failed;           ///< The result was wrong, or its key or form was lost.
  std::atomic<std::uint64_t> abandoned;        ///< The client went away first.
  std::atomic<std::uint64_t> in_flight;        ///< Requests that the engine has now.
  std::atomic<std::uint64_t> batches;          ///< Calls of a form.
  std::atomic<std::uint64_t> batched;          ///< Requests in them.
  std::atomic<std::uint64_t> batched_on_gpu;   ///< Those that a GPU computed.
  std::atomic<std::uint64_t> clients;          ///< Clients with a region now.
  std::atomic<std::uint64_t> keys;             ///< Keys that clients have brought, now.
  std::atomic<std::uint64_t> references;       ///< References of all clients to keys of the engine, now.
  std::atomic<std::uint64_t> own_keys;         ///< Keys of the engine itself.
  std::atomic<std::uint64_t> refused_keys;     ///< Keys that no form takes or has room for, and references to no key.
  std::atomic<std::uint64_t> refused_clients;  ///< Connections beyond the limit.
  std::atomic<std::uint64_t> broken_clients;   ///< Clients that broke the protocol, and were disconnected.
};

inline constexpr std::array<NamedCounter<Counters>, 15> kCounters{{{"taken", &Counters::taken},
                                                                   {"answered", &Counters::answered},
                                                                   {"failed", &Counters::failed},
                                                                   {"abandoned", &Counters::abandoned},
                                                                   {"in-flight", &Counters::in_flight},
                                                                   {"batches", &Counters::batches},
                                                                   {"batched", &Counters::batched},
                                                                   {"batched-on-gpu", &Counters::batched_on_gpu},
                                                                   {"clients", &Counters::clients},
                                                                   {"keys", &Counters::keys},
                                                                   {"references", &Counters::references},
                                                                   {"own-keys", &Counters::own_keys},
                                                                   {"refused-keys", &Counters::refused_keys},
                                                                   {"refused-clients", &Counters::refused_clients},
                                                                   {"broken-clients", &Counters::broken_clients}}};

}  // namespace penumbra::rsa_engine
