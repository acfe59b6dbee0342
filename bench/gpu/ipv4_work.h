// SPDX-License-Identifier: Apache-2.0
//
// IPv4 look-ups through an engine's public interface, with batches in flight.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench.h"
#include "inputs.h"
#include "penumbra/engine.h"
#include "penumbra/huge_memory.h"
#include "shaders/dir24_8/dir24_8.h"

namespace penumbra::bench::gpu {

/// A filled table, addresses that are uniform over all, and the oracle's answers.
struct Ipv4Work {
  static constexpr std::size_t kAddresses = std::size_t{1} << 22;

  explicit Ipv4Work(const Options& options, std::size_t count = kAddresses);

  /// Throws WrongAnswer unless these are the answers for the addresses from `first` on.
  void check(std::size_t first, std::span<const std::uint16_t> found) const;

  InputTable input;
  std::shared_ptr<const HugeMemory> memory;  ///< of the addresses
  std::span<const std::uint32_t> addresses;
  std::vector<std::uint16_t> right;
  NoReaders no_readers;
  Dir24_8 table{no_readers};
};

/// An engine with the work's table, or why it is not here.
struct OpenedEngine {
  std::unique_ptr<Engine> engine;
  std::string why_not;
};
OpenedEngine open_engine(const std::string& choice, Ipv4Work& work);

/// Tells what the engine says of itself. Throws std::runtime_error if it is that the GPU was lost on the way: others
/// then answered in its place.
void report_notes(const std::string& choice, const Engine& engine, Report& report);

/// A queue of an engine and batches of one thread, which are submitted in order, over the work's addresses again and
/// again. The engine shares the memory of all columns.
class LookupStream {
 public:
  /// Batches of `items`, at most `most_in_flight` of them. `place` says in which of 16 parts of the addresses it
  /// begins.
  LookupStream(Engine& engine, Ipv4Work& work, std::uint32_t items, std::uint32_t most_in_flight, std::size_t place);

  /// So many batches, with `in_flight` of them submitted at a time where the engine takes them; returns when all are
  /// back.
  void run(std::uint64_t batches, std::uint32_t in_flight) { go<false>(batches, in_flight, kNoEnd); }
  /// The same; throws WrongAnswer unless every answer is the oracle's.
  void check(std::uint64_t batches, std::uint32_t in_flight) { go<true>(batches, in_flight, kNoEnd); }
  /// Batches until `end` (now()); returns how many were back then, when all are.
  std::uint64_t run_until(double end, std::uint32_t in_flight) { return go<false>(kNoLimit, in_flight, end); }

 private:
  struct Flight : Batch {
    std::size_t first = 0;  ///< address
    bool is_back = false;
    std::span<std::uint16_t> found;
  };
  Flight& at(std::uint64_t number) { return flights_[number % flights_.size()]; }
  static constexpr double kNoEnd = 0;
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  template <bool kChecked>
  std::uint64_t go(std::uint64_t batches, std::uint32_t in_flight, double end);
  void prepare(Flight& flight);

  const Ipv4Work& work_;
  std::shared_ptr<const HugeMemory> found_;
  std::vector<Flight> flights_;
  std::unique_ptr<EngineQueue> queue_;  ///< ends before what it may still write
  std::size_t next_;
};

}  // namespace penumbra::bench::gpu
