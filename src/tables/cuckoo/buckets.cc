// SPDX-License-Identifier: Apache-2.0
#include "buckets.h"

#include <atomic>
#include <utility>

namespace penumbra {
namespace {

/// Maximum number of buckets that a search for an empty slot visits, about 0.1 ms of cache misses.
constexpr std::size_t kMostSteps = 2048;

}  // namespace

CuckooTable::Version::Version(unsigned bits, unsigned value_bits, std::uint64_t seed)
    : buckets_(std::size_t{1} << bits), view_{buckets_.data(), moves_.data(), seed, bits, value_bits} {
  steps_.reserve(kMostSteps);
}

void CuckooTable::Version::publish_to(Table& table, const Publish& publish) {
  table_ = &table;
  // A mirror never changes during a read, so its copy of `moves` need not change.
  std::vector<TableRegion> regions{
      {offsetof(cuckoo_table_view, bucket), reinterpret_cast<const std::byte*>(buckets_.data()), buckets_.bytes()},
      {offsetof(cuckoo_table_view, moves), reinterpret_cast<const std::byte*>(moves_.data()), sizeof moves_}};
  if (publish) {
    publish(table, view_, std::move(regions));
  } else {
    table.publish(view_, std::move(regions));
  }
}

bool CuckooTable::Version::replace(std::uint64_t digest, std::uint32_t value) {
  const auto place = locate(digest);
  if (!place) return false;
  store(at(*place), (at(*place) & ~(second_bit() - 1)) | value);
  announce();
  return true;
}

bool CuckooTable::Version::add(std::uint64_t digest, std::uint32_t value) {
  const std::optional<Place> place = make_room(digest);
  if (!place) return false;
  const bool second = place->bucket != first(digest);
  put(*place, word_of(digest) | (second ? second_bit() : 0) | value);
  announce();
  return true;
}

bool CuckooTable::Version::remove(std::uint64_t digest) {
  const auto place = locate(digest);
  if (!place) return false;
  clear(*place);
  announce();
  return true;
}

std::uint32_t CuckooTable::Version::find(std::uint64_t digest) const {
  const auto place = locate(digest);
  return place ? value_of(at(*place)) : std::uint32_t{CUCKOO_TABLE_NOT_FOUND};
}

void CuckooTable::Version::for_each(const std::function<void(std::uint64_t digest, std::uint32_t value)>& visit) const {
  for (std::uint32_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    for (const std::uint64_t word : buckets_[bucket].slot) {
      if (word == 0) continue;
      const std::uint32_t first = (word & second_bit()) != 0 ? other(bucket, word) : bucket;
      visit(tag_of(word) << view_.bits | first, value_of(word));
    }
  }
}

std::uint32_t CuckooTable::Version::other(std::uint32_t bucket, std::uint64_t word) const {
  return bucket ^ cuckoo_table_jump(tag_of(word), view_.bits);
}

std::uint32_t CuckooTable::Version::first(std::uint64_t digest) const {
  return static_cast<std::uint32_t>(digest & (buckets_.size() - 1));
}

std::optional<CuckooTable::Version::Place> CuckooTable::Version::locate(std::uint64_t digest) const {
  Place place{first(digest), 0};
  std::uint64_t wanted = word_of(digest);
  for (int turn = 0; turn < 2; ++turn) {
    for (place.slot = 0; place.slot < CUCKOO_TABLE_SLOTS; ++place.slot) {
      const std::uint64_t word = at(place);
      if (word != 0 && (word ^ wanted) >> view_.value_bits == 0) return place;
    }
    place.bucket = other(place.bucket, wanted);
    wanted ^= second_bit();
  }
  return std::nullopt;
}

std::optional<std::uint32_t> CuckooTable::Version::empty_slot(std::uint32_t bucket) const {
  for (std::uint32_t slot = 0; slot < CUCKOO_TABLE_SLOTS; ++slot) {
    if (at({bucket, slot}) == 0) return slot;
  }
  return std::nullopt;
}

/// Returns an empty slot in a bucket of the digest. Prefers a free slot of the first bucket, where lookups begin.
std::optional<CuckooTable::Version::Place> CuckooTable::Version::make_room(std::uint64_t digest) {
  const std::uint32_t first_bucket = first(digest);
  steps_.clear();
  steps_.push_back({first_bucket, 0, 0});
  steps_.push_back({other(first_bucket, word_of(digest)), 0, 1});
  for (std::uint32_t step = 0; step < steps_.size(); ++step) {
    const std::uint32_t bucket = steps_[step].bucket;
    if (const auto slot = empty_slot(bucket)) return move_along(step, {bucket, *slot});
    for (std::uint32_t slot = 0; slot < CUCKOO_TABLE_SLOTS && steps_.size() < kMostSteps; ++slot) {
      steps_.push_back({other(bucket, at({bucket, slot})), slot, step});
    }
  }
  return std::nullopt;
}

/// Moves the entries on the path to the empty slot, from the end of the path. Returns the slot at the beginning, which
/// is then empty. The search is breadth first, so no path visits a bucket twice: a path without the loop would be
/// shorter.
CuckooTable::Version::Place CuckooTable::Version::move_along(std::uint32_t last_step, Place empty) {
  while (steps_[last_step].before != last_step) {
    const std::uint32_t before = steps_[last_step].before;
    const Place from{steps_[before].bucket, steps_[last_step].slot};
    put(empty, at(from) ^ second_bit());
    std::atomic_ref(moves_[0]).store(moves_[0] + 1, std::memory_order_release);
    clear(from);
    empty = from;
    last_step = before;
  }
  return empty;
}

/// Fills an empty slot. Readers rely on the order of stores here and in clear() (cuckoo.shader.h).
void CuckooTable::Version::put(Place place, std::uint64_t word) {
  store(at(place), word);
  set_mark(place, cuckoo_table_mark(tag_of(word)));
  if ((word & second_bit()) != 0) count_elsewhere(other(place.bucket, word), true);
}

void CuckooTable::Version::clear(Place place) {
  const std::uint64_t word = at(place);
  if ((word & second_bit()) != 0) count_elsewhere(other(place.bucket, word), false);
  set_mark(place, 0);
  store(at(place), 0);
}

void CuckooTable::Version::set_mark(Place place, std::uint64_t mark) {
  std::uint64_t& marks = buckets_[place.bucket].marks;
  store(marks, (marks & ~(std::uint64_t{0xFF} << 8 * place.slot)) | mark << 8 * place.slot);
}

/// Adds 1 to, or subtracts 1 from, the count of digests that have this first bucket and lie in their second.
void CuckooTable::Version::count_elsewhere(std::uint32_t first_bucket, bool more) {
  constexpr std::uint64_t kOne = std::uint64_t{1} << CUCKOO_TABLE_ELSEWHERE_AT;
  std::uint64_t& marks = buckets_[first_bucket].marks;
  if (marks >> CUCKOO_TABLE_ELSEWHERE_AT == CUCKOO_TABLE_MANY_ELSEWHERE) return;
  store(marks, more ? marks + kOne : marks - kOne);
}

/// Writes a word that readers may load at the same time.
void CuckooTable::Version::store(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
  if (table_ != nullptr) changes_.add(*table_, static_cast<std::size_t>(&word - &buckets_[0].marks));
}

void CuckooTable::Version::announce() {
  if (table_ != nullptr) changes_.flush(*table_);
}

}  // namespace penumbra
