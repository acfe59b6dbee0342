// SPDX-License-Identifier: Apache-2.0
//
// The bars of `penumbra-bench run gpu`.
#pragma once

#include <string>

#include "report.h"

namespace penumbra::bench::gpu {

struct Bar {
  const char* what;
  double wanted;
  bool at_least;

  void tell(Report& report, double value) const { report.bar(what, value, wanted, at_least); }
};

inline constexpr Bar kCudaRate{"IPv4 look-ups by cuda / the bus: 4 B in and 2 B out", 0.85, true};
inline constexpr Bar kResidentRate{"IPv4 look-ups by cuda-resident / the bus: 4 B in and 2 B out", 0.6, true};
inline constexpr Bar kShaderRate{"IPv4 shader on data already there / random reads of the table", 0.6, true};
inline constexpr Bar kTrieRate{"IPv6 look-ups (trie) by cuda / the bus: 16 B in and 2 B out", 0.85, true};
inline constexpr Bar kLengthsRate{"IPv6 look-ups (lengths) by cuda / the bus: 16 B in and 2 B out", 0.85, true};
inline constexpr Bar kFlowsRate{"flow look-ups by cuda / the bus: 40 B in and 4 B out", 0.85, true};
inline constexpr Bar kTrieShader{"IPv6 trie on data already there / random reads over lines", 0.6, true};
inline constexpr Bar kLengthsShader{"IPv6 lengths on data already there / random reads over lines", 0.6, true};
inline constexpr Bar kFlowsShader{"flows on data already there / random reads over lines", 0.6, true};
inline constexpr Bar kResidentMedian{"cuda-resident, 32 look-ups from submit to result, median us", 3.5, false};
inline constexpr Bar kResidentP99{"cuda-resident, 32 look-ups from submit to result, p99 us", 5.5, false};
inline constexpr Bar kResidentBatch{"cuda-resident, a batch of 32 with 144 in flight, one thread, us", 0.06, false};
inline constexpr Bar kBloomRate{"bloom by cuda, 128 K rules of 12 fields in 512 classes, M headers/s", 150, true};
inline constexpr Bar kBloomOverPublished{"bloom by cuda / the published design, copies included", 2, true};
inline constexpr Bar kFewRulesRate{"5-tuples of ClassBench's sets of 1 K rules by cuda, geometric mean, M headers/s",
                                   1000, true};
inline constexpr Bar kRsaRate{"RSA-2048 on a GPU, M private operations/s", 1.5, true};
inline constexpr Bar kRsaLatency{"RSA-2048 on a GPU, 64 private operations, ms", 1.7, false};
inline constexpr Bar kRsaCopies{"RSA-2048 on a GPU, with copies / without", 0.95, true};
inline constexpr Bar kRsa3072{"RSA-3072 on a GPU / RSA-2048", 0.3, true};
inline constexpr Bar kRsa4096{"RSA-4096 on a GPU / RSA-2048", 0.13, true};
inline constexpr Bar kGroupSignal{"results of 64 B made visible once a group / each word by an atomic", 5, true};

}  // namespace penumbra::bench::gpu
