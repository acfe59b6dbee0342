// SPDX-License-Identifier: Apache-2.0
//
// Workloads of `penumbra-bench run gopt`: look-ups in a table, done in several ways that give the same answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "inputs.h"

namespace penumbra::bench {

/// A way to process the items. `run` processes `n` items from `first` on, with `size` (one of `sizes`) items in turn,
/// and writes the answers to Workload::found.
struct Way {
  std::string name;
  std::vector<std::uint32_t> sizes;
  std::function<void(std::uint32_t first, std::uint32_t n, std::uint32_t size)> run;
};

/// Items of a call, enough to keep the widest window full nearly all the time. A sample of a width trial in the engine
/// `gopt` has about as many.
constexpr std::uint32_t kBatch = 1024;

/// A filled table, items to look up in it, and the ways to do so.
struct Workload {
  /// Rounds the items up to whole batches.
  Workload(std::string workload, std::uint32_t least_items, std::uint32_t batch_items = kBatch)
      : name(std::move(workload)),
        items((least_items + batch_items - 1) / batch_items * batch_items),
        batch(batch_items) {}
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  std::string name;
  std::string input;    ///< Describes the table and the look-ups.
  std::uint32_t items;  ///< Number of items, a multiple of `batch`.
  std::uint32_t batch;  ///< Items of one call.
  double accesses = 0;  ///< Average accesses of an item, each to another place of the table.
  std::span<const std::byte> table;
  std::vector<Way> ways;         ///< First the plain loop, second gopt's code.
  std::vector<std::byte> found;  ///< Answers as the kernel writes them.
  std::vector<std::byte> right;  ///< Answers of the oracle.

 protected:
  /// Stores the oracle's answers, and makes room for the ways' answers.
  template <class Answer>
  void set_right(const std::vector<Answer>& answers) {
    right.resize(answers.size() * sizeof(Answer));
    std::memcpy(right.data(), static_cast<const void*>(answers.data()), right.size());
    found.resize(right.size());
  }
  template <class Answer>
  Answer* found_from(std::uint32_t first) {
    return reinterpret_cast<Answer*>(found.data()) + first;
  }
};

/// Widths of gopt's functions that are tried; 1 is the plain loop.
inline const std::vector<std::uint32_t> kGoptWidths{1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};

/// Calls `body` with the size as a constant, as in hand-written code, if it is one of `Sizes`.
template <std::uint32_t... Sizes, class Body>
void with_size(std::uint32_t size, Body body) {
  (void)((size == Sizes && (body.template operator()<Sizes>(), true)) || ...);
}

/// Each function makes a table of about `bytes` bytes and `items` look-ups (rounded up to whole batches). Everything is
/// generated from the seed.

/// Makes chains of `steps` accesses through lines of a table.
std::unique_ptr<Workload> make_chase(std::size_t bytes, std::uint32_t steps, std::uint32_t items, std::uint64_t seed);
/// Makes chains with `work` dependent multiplications after each access.
std::unique_ptr<Workload> make_chase_and_work(std::size_t bytes, std::uint32_t steps, std::uint32_t work,
                                              std::uint32_t items, std::uint64_t seed);
/// Makes 2-choice 8-slot cuckoo hashing; the table's size is a power of two.
std::unique_ptr<Workload> make_cuckoo(std::size_t bytes, std::uint32_t items, std::uint64_t seed);
/// Makes IPv6 prefixes of 48 to 64 bits in a trie.
std::unique_ptr<Workload> make_trie6(std::size_t bytes, std::uint32_t items, std::uint64_t seed);
/// Makes names of four components, with longest prefix match by hashing; the table's size is a power of two.
std::unique_ptr<Workload> make_names(std::size_t bytes, std::uint32_t items, std::uint64_t seed);
/// Makes the hash table of memcached, with multi-key gets.
std::unique_ptr<Workload> make_memcached(std::size_t bytes, std::uint32_t items, std::uint64_t seed);
/// Makes payloads that an automaton of `bytes` bytes searches for patterns.
std::unique_ptr<Workload> make_aho_corasick(std::size_t bytes, std::uint32_t items, std::uint64_t seed);
/// Makes one batch of payloads of a packet's size, most of them without matches. Each is searched by one of `automata`
/// automata, which have `bytes` bytes together. The ways include manual optimizations: interchanged loops, a sorted
/// batch.
std::unique_ptr<Workload> make_inspection(std::size_t bytes, std::uint32_t automata, std::uint32_t items,
                                          std::uint64_t seed);
/// Uses the table and addresses of `penumbra-bench run lookup`. The table's first level has 32 MiB for any routes.
std::unique_ptr<Workload> make_ipv4(const InputTable& routes, const InputAddresses& addresses);

}  // namespace penumbra::bench
