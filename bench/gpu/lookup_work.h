// SPDX-License-Identifier: Apache-2.0
//
// Look-ups by a shader of one input and one output column, through an engine's public interface, with several batches
// in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench.h"
#include "penumbra/engine.h"
#include "penumbra/huge_memory.h"

namespace penumbra::bench::gpu {

/// Keys to look up repeatedly in a table, and the right answers. The shader has the table's name.
class LookupWork {
 public:
  LookupWork(const LookupWork&) = delete;
  LookupWork& operator=(const LookupWork&) = delete;
  virtual ~LookupWork() = default;

  virtual Table& penumbra_table() = 0;

  std::size_t size() const { return size_; }  ///< Number of keys.
  std::size_t key_bytes() const { return key_bytes_; }
  std::size_t answer_bytes() const { return answer_bytes_; }
  const std::byte* key(std::size_t index) const { return memory_->data() + index * key_bytes_; }
  const std::shared_ptr<const HugeMemory>& memory() const { return memory_; }  ///< Memory of the keys.
  std::span<const std::byte> all_right() const { return {right_, size_ * answer_bytes_}; }

  /// Throws WrongAnswer unless `found` has the answers for the keys from `first` on.
  void check(std::size_t first, std::span<const std::byte> found) const;
  /// Makes the answers `found`, for the keys from `first` on, wrong.
  void spoil(std::size_t first, std::span<std::byte> found) const;

 protected:
  LookupWork(std::size_t size, std::size_t key_bytes, std::size_t answer_bytes)
      : size_(size),
        key_bytes_(key_bytes),
        answer_bytes_(answer_bytes),
        memory_(std::make_shared<HugeMemory>(size * key_bytes)) {}
  std::byte* own_keys() const { return memory_->data(); }
  /// Sets the right answers, which must stay at this address.
  void set_right(const void* right) { right_ = static_cast<const std::byte*>(right); }

 private:
  const std::size_t size_, key_bytes_, answer_bytes_;
  const std::shared_ptr<const HugeMemory> memory_;
  const std::byte* right_ = nullptr;
};

/// A LookupWork with types.
template <class Key, class Answer>
class LookupWorkOf : public LookupWork {
 public:
  std::span<const Key> keys() const { return {reinterpret_cast<const Key*>(key(0)), size()}; }
  std::vector<Answer> right;

 protected:
  explicit LookupWorkOf(std::size_t size) : LookupWork(size, sizeof(Key), sizeof(Answer)), right(size) {
    set_right(right.data());
  }
  std::span<Key> own_keys() const { return {reinterpret_cast<Key*>(LookupWork::own_keys()), size()}; }
};

/// An engine with the work's table, or the reason why it is not available.
struct OpenedEngine {
  std::unique_ptr<Engine> engine;
  std::string why_not;
};
OpenedEngine open_engine(const std::string& choice, LookupWork& work);

/// Reports the engine's notes. Throws std::runtime_error after a device failure, because the CPU then answered in the
/// GPU's place.
void report_notes(const std::string& choice, const Engine& engine, Report& report);

/// A queue of an engine and batches of one thread. The batches are submitted in order, and go over the work's keys
/// repeatedly. The engine shares the memory of all columns.
class LookupStream {
 public:
  /// Makes batches of `items` items, at most `most_in_flight` of them. `place` selects one of 16 parts of the keys to
  /// start with. The stream will run on core number `place`, as a member of run_team(); an engine's own threads stay
  /// off this core.
  LookupStream(Engine& engine, LookupWork& work, std::uint32_t items, std::uint32_t most_in_flight, std::size_t place);

  /// Runs `batches` batches, up to `in_flight` at a time if the engine takes them. Returns when all are back.
  void run(std::uint64_t batches, std::uint32_t in_flight) { go<false>(batches, in_flight, kNoEnd); }
  /// Does the same, and throws WrongAnswer unless every answer is right.
  void check(std::uint64_t batches, std::uint32_t in_flight) { go<true>(batches, in_flight, kNoEnd); }
  struct Counted {
    std::uint64_t batches = 0;
    double seconds = 0;
  };
  /// Returns the batches that are back within `seconds` seconds, but at least the first. Waits until all are back.
  Counted count_over(double seconds, std::uint32_t in_flight) {
    const double begin = now();
    const Back counted = go<false>(kNoLimit, in_flight, begin + seconds);
    return {counted.batches, counted.by - begin};
  }

 private:
  struct InFlightBatch : Batch {
    std::size_t first = 0;  ///< Index of the first key.
    bool is_back = false;
    std::span<std::byte> found;
  };
  /// Returns the batch after `batch` in turn, without a division.
  InFlightBatch* next_of(InFlightBatch* batch) { return batch == &batches_.back() ? batches_.data() : batch + 1; }
  /// Batches that were back at the end of the measurement.
  struct Back {
    std::uint64_t batches = 0;
    double by = 0;  ///< Time, as now().
  };
  static constexpr double kNoEnd = 0;
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  template <bool kChecked>
  Back go(std::uint64_t batches, std::uint32_t in_flight, double end);
  void prepare(InFlightBatch& batch);

  const LookupWork& work_;
  std::shared_ptr<const HugeMemory> found_;
  std::vector<InFlightBatch> batches_;
  std::unique_ptr<EngineQueue> queue_;  ///< Must end before the memory that it may still write.
  std::size_t next_;
};

}  // namespace penumbra::bench::gpu
