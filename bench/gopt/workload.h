// SPDX-License-Identifier: Apache-2.0
//
// What `penumbra bench gopt` measures: lookups in a table, done in several ways that give the same answers.
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

/// How the items can be done. `run` does `n` of them from `first` on and leaves their answers in Workload::found, with
/// `size` (one of `sizes`) of them taking turns.
struct Way {
  std::string name;
  std::vector<std::uint32_t> sizes;
  std::function<void(std::uint32_t first, std::uint32_t n, std::uint32_t size)> run;
};

/// Items of a call: enough for the widest window to be full nearly all the time, and about what the engine `gopt`
/// takes a sample of the width's trial from.
constexpr std::uint32_t kBatch = 1024;

/// A filled table, items to look up in it, and the ways to do that.
struct Workload {
  /// The items are rounded up to whole batches.
  Workload(std::string workload, std::uint32_t least_items, std::uint32_t batch_items = kBatch)
      : name(std::move(workload)),
        items((least_items + batch_items - 1) / batch_items * batch_items),
        batch(batch_items) {}
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  std::string name;
  std::string input;    ///< what is in the table, and what is looked up
  std::uint32_t items;  ///< all of them; a multiple of `batch`
  std::uint32_t batch;  ///< items of one call
  double accesses = 0;  ///< of an item, on average, each to another place of the table
  std::span<const std::byte> table;
  std::vector<Way> ways;         ///< the first is the plain loop, the second what gopt makes of it
  std::vector<std::byte> found;  ///< the answers, as the kernel writes them
  std::vector<std::byte> right;  ///< the oracle's

 protected:
  /// Writes the oracle's answers, and makes place for all others'.
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

/// The widths tried of gopt's functions; 1 is the plain loop.
inline const std::vector<std::uint32_t> kGoptWidths{1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};

/// Calls `body` with the size as a constant, as hand-written code has it, if it is one of `Sizes`.
template <std::uint32_t... Sizes, class Body>
void with_size(std::uint32_t size, Body body) {
  (void)((size == Sizes && (body.template operator()<Sizes>(), true)) || ...);
}

/// Each makes a table of about so many bytes and `items` lookups (rounded up to whole batches). All is generated from
/// the seed.

/// Chains of `steps` accesses through lines of a table.
std::unique_ptr<Workload> make_chase(std::size_t bytes, std::uint32_t steps, std::uint32_t items, std::uint64_t seed);
/// Chains with `work` multiplications that wait for each other after each access.
std::unique_ptr<Workload> make_chase_and_work(std::size_t bytes, std::uint32_t steps, std::uint32_t work,
                                              std::uint32_t items, std::uint64_t seed);
/// 2-choice 8-slot cuckoo hashing; a table of a power of two of bytes.
std::unique_ptr<Workload> make_cuckoo(std::size_t bytes, std::uint32_t items, std::uint64_t seed);
/// IPv6 prefixes of 48 to 64 bits in a trie.
std::unique_ptr<Workload> make_trie6(std::size_t bytes, std::uint32_t items, std::uint64_t seed);
/// Names of four components, longest prefix by hashing; a table of a power of two of bytes.
std::unique_ptr<Workload> make_names(std::size_t bytes, std::uint32_t items, std::uint64_t seed);
/// The hash table of memcached, a get of many keys at a time.
std::unique_ptr<Workload> make_memcached(std::size_t bytes, std::uint32_t items, std::uint64_t seed);
/// Payloads that are searched for patterns by an automaton of so many bytes.
std::unique_ptr<Workload> make_aho_corasick(std::size_t bytes, std::uint32_t items, std::uint64_t seed);
/// One batch of payloads of a packet's size, most of them innocent, each searched by one of `automata`, which have so
/// many bytes together; beside gopt what can be done by hand: the loops interchanged, the batch sorted.
std::unique_ptr<Workload> make_inspection(std::size_t bytes, std::uint32_t automata, std::uint32_t items,
                                          std::uint64_t seed);
/// The table and addresses of `penumbra bench lookup`. Its first level has 32 MiB, whatever the routes.
std::unique_ptr<Workload> make_ipv4(const InputTable& routes, const InputAddresses& addresses);

}  // namespace penumbra::bench
