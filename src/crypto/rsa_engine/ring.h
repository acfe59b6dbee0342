// SPDX-License-Identifier: Apache-2.0
//
// The memory that a client shares with the process of the engine, and both ends of its two rings.
//
// Each side may write anything into the memory at any time. So each side keeps its own position, checks the number of
// entries that the memory states, and copies an entry before it looks at it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace penumbra::rsa_engine {

inline constexpr std::uint32_t kSlots = 256;      ///< Of a ring. A client has at most so many requests in flight.
inline constexpr std::size_t kMostBytes = 512;    ///< Of a modulus.
inline constexpr std::uint32_t kMostKeys = 1024;  ///< Of a client.
inline constexpr std::uint32_t kProtocolVersion = 1;

/// The end of a request.
enum class Verdict : std::uint32_t {
  done,   ///< The content is the result.
  failed  ///< The engine has no result. The client computes it.
};

/// A request: `key` and `bytes` of content; `verdict` is not used. Or an answer: `verdict` and `bytes` of content.
struct Entry {
  std::uint32_t tag = 0;  ///< Chosen by the client. The answer has that of its request.
  std::uint32_t key = 0;
  std::uint32_t bytes = 0;
  Verdict verdict = Verdict::done;
  std::array<std::uint8_t, kMostBytes> content{};
};

/// An entry in shared memory. Both sides may access it at the same time, so it consists of atomic words.
class SharedEntry {
 public:
  void store(const Entry& entry) {
    const auto words = std::bit_cast<Words>(entry);
    for (std::size_t i = 0; i < words.size(); ++i) words_[i].store(words[i], std::memory_order_relaxed);
  }
  void load(Entry& entry) const {
    Words words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = words_[i].load(std::memory_order_relaxed);
    entry = std::bit_cast<Entry>(words);
  }

 private:
  using Words = std::array<std::uint64_t, sizeof(Entry) / sizeof(std::uint64_t)>;
  std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>> words_;
};

/// One direction.
struct Ring {
  alignas(64) std::atomic<std::uint32_t> written;        ///< Number of entries since the start, modulo 2^32.
  alignas(64) std::atomic<std::uint32_t> reader_sleeps;  ///< Not 0: the writer must wake the reader.
  alignas(64) std::array<SharedEntry, kSlots> entries;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::has_single_bit(kSlots));

/// The shared memory. It starts as zero bytes.
struct Region {
  Ring requests, answers;
};

/// The end that writes. The caller never writes more than kSlots entries that are not read.
class RingWriter {
 public:
  explicit RingWriter(Ring& ring) : ring_(ring) {}

  /// Returns true if the reader must be woken.
  bool write(const Entry& entry) {
    ring_.entries[position_ % kSlots].store(entry);
    // Reader and writer each store one variable and then load the other. All four accesses have one order, so a
    // sleeping reader is seen here, or the entry is seen by the reader.
    ring_.written.store(++position_, std::memory_order_seq_cst);
    return ring_.reader_sleeps.load(std::memory_order_seq_cst) != 0 &&
           ring_.reader_sleeps.exchange(0, std::memory_order_seq_cst) != 0;
  }

 private:
  Ring& ring_;
  std::uint32_t position_ = 0;
};

enum class Reading { empty, entry, broken /* the writer states an impossible number */ };

/// The end that reads.
class RingReader {
 public:
  explicit RingReader(Ring& ring) : ring_(ring) {}

  /// Copies the next entry.
  Reading read(Entry& entry) {
    const std::uint32_t waiting = ring_.written.load(std::memory_order_acquire) - position_;
    if (waiting == 0) return Reading::empty;
    if (waiting > kSlots) return Reading::broken;
    ring_.entries[position_ % kSlots].load(entry);
    ++position_;
    return Reading::entry;
  }
  /// Asks the writer for a message with the next entry. Returns false if there is one already.
  bool begin_sleep() {
    ring_.reader_sleeps.store(1, std::memory_order_seq_cst);
    return ring_.written.load(std::memory_order_seq_cst) == position_;
  }
  void end_sleep() { ring_.reader_sleeps.store(0, std::memory_order_relaxed); }

 private:
  Ring& ring_;
  std::uint32_t position_ = 0;
};

}  // namespace penumbra::rsa_engine
