// SPDX-License-Identifier: Apache-2.0
#include "cuckoo.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "buckets.h"

namespace penumbra {
namespace {

constexpr unsigned kWordBits = 64, kMostDigestBits = 60, kMostValueBits = 32, kLeastBits = 10, kMostBits = 31;

/// Returns log2 of the number of buckets of an empty table. Throws std::invalid_argument if the shape is invalid.
unsigned first_bits(const CuckooTable::Shape& shape) {
  const unsigned needed = shape.digest_bits + 1 + shape.value_bits;
  const unsigned bits = std::max(kLeastBits, needed > kWordBits ? needed - kWordBits : 0);
  const bool valid = shape.digest_bits <= kMostDigestBits && shape.value_bits >= 1 &&
                     shape.value_bits <= kMostValueBits && bits < shape.digest_bits && bits <= kMostBits;
  if (!valid) {
    throw std::invalid_argument("a cuckoo table of " + std::to_string(shape.digest_bits) + " bits of digest and " +
                                std::to_string(shape.value_bits) + " bits of value cannot be");
  }
  return bits;
}

}  // namespace

CuckooTable::CuckooTable(std::string name, Shape shape, std::uint64_t seed, GracePeriods& grace_periods,
                         Publish publish)
    : shape_(shape),
      seed_(seed),
      grace_periods_(grace_periods),
      publish_(std::move(publish)),
      table_(std::move(name)),
      version_(std::make_unique<Version>(first_bits(shape), shape.value_bits, seed)) {
  version_->publish_to(table_, publish_);
}

CuckooTable::~CuckooTable() = default;

bool CuckooTable::insert(std::uint64_t digest, std::uint32_t value) {
  require_valid(digest);
  if (value == 0 || std::uint64_t{value} >> shape_.value_bits != 0) {
    throw std::invalid_argument("a value is 1 to 2^" + std::to_string(shape_.value_bits) + " - 1");
  }
  if (version_->replace(digest, value)) return false;
  if (size_ == shape_.most) {
    throw std::length_error("the table " + table_.name() + " is full: its limit is " + std::to_string(shape_.most) +
                            " keys");
  }
  while (!version_->add(digest, value)) {
    if (size_ < version_->slots() / 2) {
      throw std::length_error("the table " + table_.name() + " has no place for a key although it is less than half " +
                              "full: too many keys meet in its two buckets");
    }
    grow(version_->bits() + 1);
  }
  ++size_;
  return true;
}

bool CuckooTable::remove(std::uint64_t digest) {
  require_valid(digest);
  if (!version_->remove(digest)) return false;
  --size_;
  return true;
}

void CuckooTable::reserve(std::size_t digests) {
  unsigned bits = version_->bits();
  while (std::min(digests, shape_.most) * 20 > (std::size_t{CUCKOO_TABLE_SLOTS} << bits) * 19) ++bits;
  if (bits > version_->bits()) grow(bits);
}

/// Switches to 2^bits buckets. If a digest finds no slot in the bigger table, which is rare, doubles the number again.
void CuckooTable::grow(unsigned bits) {
  if (bits > kMostBits || bits >= shape_.digest_bits) {
    throw std::length_error("the table " + table_.name() + " cannot grow past " + std::to_string(version_->slots()) +
                            " slots");
  }
  auto next = std::make_unique<Version>(bits, shape_.value_bits, seed_);
  bool placed = true;
  version_->for_each([&](std::uint64_t digest, std::uint32_t value) { placed = placed && next->add(digest, value); });
  if (!placed) return grow(bits + 1);
  next->publish_to(table_, publish_);
  const std::unique_ptr<Version> old = std::exchange(version_, std::move(next));
  grace_periods_.elapsed(grace_periods_.start(), true);
}

std::uint32_t CuckooTable::find(std::uint64_t digest) const {
  require_valid(digest);
  return version_->find(digest);
}

void CuckooTable::for_each(const std::function<void(std::uint64_t digest, std::uint32_t value)>& visit) const {
  version_->for_each(visit);
}

std::size_t CuckooTable::slots() const {
  return version_->slots();
}

std::size_t CuckooTable::memory_bytes() const {
  return version_->memory_bytes();
}

void CuckooTable::require_valid(std::uint64_t digest) const {
  if (digest >> shape_.digest_bits != 0) {
    throw std::invalid_argument("a digest of the table " + table_.name() + " has " +
                                std::to_string(shape_.digest_bits) + " bits");
  }
}

}  // namespace penumbra
