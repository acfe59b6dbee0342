// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/state/address_bits.h"

#include <algorithm>
#include <bit>

#include "functions/ids/state/hash_words.h"

namespace penumbra::ids {
namespace {

constexpr std::uint64_t kMicroseconds = 1000000;

}  // namespace

AddressBits::AddressBits(std::size_t entries, std::uint64_t seed)
    : entries_(std::bit_ceil(std::max(entries, kProbes))), seed_(seed) {}

AddressBits::Key AddressBits::key_of(const PreparedBits& command, std::uint32_t bit, const PacketEnds& ends) {
  using Scope = BitCommand::Scope;
  const bool is_pair = command.scope == Scope::pair;
  const bool is_host = BitCommand::is_of_host(command.scope);
  const bool is_destination = command.scope == Scope::destination || command.scope == Scope::host_destination;
  Key key{.first = is_destination ? ends.destination : ends.source,
          .second = {},
          .bit = std::uint64_t{bit} << 3 | (is_host ? 4U : 0U) | (is_pair ? 2U : 0U) | (ends.is_v6 ? 1U : 0U)};
  if (is_pair) {
    key.first = std::min(ends.source, ends.destination);
    key.second = std::max(ends.source, ends.destination);
  }
  return key;
}

std::size_t AddressBits::hash(const Key& key) const {
  return hash_words(seed_, {key.bit, key.first[0], key.first[1], key.second[0], key.second[1]});
}

/// Returns the entry of a bit that is set, or null.
const AddressBits::Entry* AddressBits::find(const Key& key, std::uint64_t second) const {
  const std::size_t first = hash(key);
  for (std::size_t i = 0; i < kProbes; ++i) {
    const Entry& entry = entries_[(first + i) & (entries_.size() - 1)];
    if (entry.end != 0 && entry.end >= second && entry.key == key) return &entry;
  }
  return nullptr;
}

void AddressBits::set(const Key& key, std::uint64_t second, std::uint64_t end) {
  const std::size_t first = hash(key);
  Entry* place = nullptr;
  for (std::size_t i = 0; i < kProbes; ++i) {
    Entry& entry = entries_[(first + i) & (entries_.size() - 1)];
    if (entry.end != 0 && entry.key == key) {
      entry.end = end;
      return;
    }
    if (place == nullptr || entry.end < place->end) place = &entry;
  }
  if (place->end != 0 && place->end >= second) ++evicted_;
  *place = {key, end};
}

bool AddressBits::test(const PreparedBits& command, const PacketEnds& ends, std::uint64_t now) const {
  const bool some = std::ranges::any_of(command.bits, [&](std::uint32_t bit) {
    return find(key_of(command, bit, ends), now / kMicroseconds) != nullptr;
  });
  return some == (command.kind == BitCommand::Kind::is_set);
}

void AddressBits::change(const PreparedBits& command, const PacketEnds& ends, std::uint64_t now) {
  const std::uint64_t second = now / kMicroseconds;
  for (const std::uint32_t bit : command.bits) {
    const Key key = key_of(command, bit, ends);
    const Entry* const present = find(key, second);
    if (command.kind == BitCommand::Kind::set || (command.kind == BitCommand::Kind::toggle && present == nullptr)) {
      set(key, second, second + command.expire_seconds);
    } else if (present != nullptr) {
      entries_[static_cast<std::size_t>(present - entries_.data())].end = 0;
    }
  }
}

}  // namespace penumbra::ids
