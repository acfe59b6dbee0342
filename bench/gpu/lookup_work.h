// SPDX-License-Identifier: Apache-2.0
//
// Look-ups by a shader of one input and one output column, through an engine's public interface, with batches in
// batch.
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

/// What is looked up in a table, again and again, and the right answers. The shader has the table's name.
class LookupWork {
 public:
  LookupWork(const LookupWork&) = delete;
  LookupWork& operator=(const LookupWork&) = delete;
  virtual ~LookupWork() = default;

  virtual Table& penumbra_table() = 0;

  std::size_t size() const { return size_; }  ///< keys
  std::size_t key_bytes() const { return key_bytes_; }
  std::size_t answer_bytes() const { return answer_bytes_; }
  const std::byte* key(std::size_t index) const { return memory_->data() + index * key_bytes_; }
  const std::shared_ptr<const HugeMemory>& memory() const { return memory_; }  ///< of the keys
  std::span<const std::byte> all_right() const { return {right_, size_ * answer_bytes_}; }

  /// Throws WrongAnswer unless these are the answers for the keys from `first` on.
  void check(std::size_t first, std::span<const std::byte> found) const;
  /// Makes `found`, of the answers from `first` on, wrong.
  void spoil(std::size_t first, std::span<std::byte> found) const;

 protected:
  LookupWork(std::size_t size, std::size_t key_bytes, std::size_t answer_bytes)
      : size_(size),
        key_bytes_(key_bytes),
        answer_bytes_(answer_bytes),
        memory_(std::make_shared<HugeMemory>(size * key_bytes)) {}
  std::byte* own_keys() const { return memory_->data(); }
  /// The right answers, which stay there.
  void set_right(const void* right) { right_ = static_cast<const std::byte*>(right); }

 private:
  const std::size_t size_, key_bytes_, answer_bytes_;
  const std::shared_ptr<const HugeMemory> memory_;
  const std::byte* right_ = nullptr;
};

/// The same with types.
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

/// An engine with the work's table, or why it is not here.
struct OpenedEngine {
  std::unique_ptr<Engine> engine;
  std::string why_not;
};
OpenedEngine open_engine(const std::string& choice, LookupWork& work);

/// Tells what the engine says of itself. Throws std::runtime_error if it is that the GPU was lost on the way: others
/// then answered in its place.
void report_notes(const std::string& choice, const Engine& engine, Report& report);

/// A queue of an engine and batches of one thread, which are submitted in order, over the work's keys again and again.
/// The engine shares the memory of all columns.
class LookupStream {
 public:
  /// Batches of `items`, at most `most_in_flight` of them. `place` says in which of 16 parts of the keys it begins, and
  /// on which core it will run, as a member of run_team(): an engine's own threads stay off that.
  LookupStream(Engine& engine, LookupWork& work, std::uint32_t items, std::uint32_t most_in_flight, std::size_t place);

  /// So many batches, with `in_flight` of them submitted at a time where the engine takes them; returns when all are
  /// back.
  void run(std::uint64_t batches, std::uint32_t in_flight) { go<false>(batches, in_flight, kNoEnd); }
  /// The same; throws WrongAnswer unless every answer is the right one.
  void check(std::uint64_t batches, std::uint32_t in_flight) { go<true>(batches, in_flight, kNoEnd); }
  struct Counted {
    std::uint64_t batches = 0;
    double seconds = 0;
  };
  /// Batches that are back within so many seconds, or the first if that takes longer. Returns when all are back.
  Counted count_over(double seconds, std::uint32_t in_flight) {
    const double begin = now();
    const Back counted = go<false>(kNoLimit, in_flight, begin + seconds);
    return {counted.batches, counted.by - begin};
  }

 private:
  struct InFlightBatch : Batch {
    std::size_t first = 0;  ///< key
    bool is_back = false;
    std::span<std::byte> found;
  };
  /// The batches are taken in turn, without a division for each.
  InFlightBatch* behind(InFlightBatch* batch) { return batch == &batches_.back() ? batches_.data() : batch + 1; }
  /// What was back when there was enough.
  struct Back {
    std::uint64_t batches = 0;
    double by = 0;  ///< now()
  };
  static constexpr double kNoEnd = 0;
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  template <bool kChecked>
  Back go(std::uint64_t batches, std::uint32_t in_flight, double end);
  void prepare(InFlightBatch& batch);

  const LookupWork& work_;
  std::shared_ptr<const HugeMemory> found_;
  std::vector<InFlightBatch> batches_;
  std::unique_ptr<EngineQueue> queue_;  ///< ends before what it may still write
  std::size_t next_;
};

}  // namespace penumbra::bench::gpu
