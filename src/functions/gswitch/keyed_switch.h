// SPDX-License-Identifier: Apache-2.0
//
// Looks packets up for the switch, with keys of OpenFlow 1.0's fields (rules_key) or of all fields (SparseWords).
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "functions/gswitch/gswitch.h"
#include "functions/gswitch/packet_key.h"
#include "functions/rule_list/exact_cache.h"
#include "packet/mbuf_metadata.h"
#include "tables/rules/rules.shader.h"
#include "tables/rules_tuple/sparse_match.h"

namespace penumbra::gswitch {

static_assert(sizeof(SparseWords) == sizeof(rules_sparse_key));

template <class Key>
class KeyedSwitch final : public GSwitch {
 public:
  KeyedSwitch(Settings settings, const FunctionContext& context) : GSwitch(std::move(settings), context) {
    for (std::size_t i = 0; i < context.workers; ++i) {
      caches_.push_back(std::make_unique<Cache>(cache_entries_, std::random_device{}()));
    }
  }

  using GSwitch::prepare;  // Prepares a command.
  void prepare(std::uint16_t worker) noexcept override {
    list_.prepare(worker);
    caches_[worker]->touch();
  }
  void pre_shade(Chunk& chunk) noexcept override;
  void post_shade(Chunk& chunk) noexcept override;

 protected:
  std::optional<std::uint32_t> number_of(const Chunk& chunk, std::uint16_t packet) const override;

 private:
  struct Columns;
  using Cache = rule_list::ExactCache<Key>;
  /// An answer has the number of a rule in its lower 32 bits.
  using Answer = std::conditional_t<std::is_same_v<Key, SparseWords>, std::uint64_t, std::uint32_t>;

  static bool read(rte_mbuf& packet, std::uint16_t in_port, Key& key, PacketLayers& layers);
  void ask_cache(Chunk& chunk, Columns& columns) noexcept;
  void fill_cache(const Chunk& chunk, const Columns& columns) noexcept;

  std::vector<std::unique_ptr<Cache>> caches_;  ///< by worker
};

/// Holds the columns of a chunk. Those of the batch come first.
template <class Key>
struct KeyedSwitch<Key>::Columns {
  std::array<Key, Chunk::kCapacity> keys;
  std::array<Answer, Chunk::kCapacity> numbers;        ///< first those of the items, then those of the cache
  std::array<PacketLayers, Chunk::kCapacity> layers;   ///< by packet
  std::array<std::uint32_t, Chunk::kCapacity> hashes;  ///< by item
  std::array<std::uint8_t, Chunk::kCapacity> found;    ///< packets of the numbers after those of the items
  std::uint16_t found_count;
  std::uint32_t state;  ///< of the table before the search
};

/// Reads the first segment. Later segments count as missing, so the parser's description serves only if all headers are
/// in the first segment.
template <class Key>
bool KeyedSwitch<Key>::read(rte_mbuf& packet, std::uint16_t in_port, Key& key, PacketLayers& layers) {
  const auto* const frame = rte_pktmbuf_mtod(&packet, const std::uint8_t*);
  const PacketHeaders& headers = headers_of(packet);
  if (headers.has(PacketHeaders::kScattered)) [[unlikely]]
    return read_packet(frame, packet.data_len, packet.pkt_len, in_port, key, layers);
  return read_packet(headers, frame, packet.data_len, packet.pkt_len, in_port, key, layers);
}

template <class Key>
void KeyedSwitch<Key>::pre_shade(Chunk& chunk) noexcept {
  auto& columns = *chunk.columns.take<Columns>(1);
  std::uint32_t items = 0;
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
    if (!read(*chunk.packets[i], static_cast<std::uint16_t>(chunk.rx_port + 1), columns.keys[items],
              columns.layers[i])) {
      chunk.verdicts[i] = drop(kRunt);
      continue;
    }
    chunk.packet_of_item[items++] = static_cast<std::uint8_t>(i);
  }
  chunk.batch.items = items;
  columns.found_count = 0;
  if (!chunk.is_dry_run) ask_cache(chunk, columns);
  chunk.batch.inputs[0] = columns.keys.data();
  chunk.batch.outputs[0] = columns.numbers.data();
  chunk.stage_scratch = &columns;
}

/// Leaves the keys that the cache does not have as items.
template <class Key>
void KeyedSwitch<Key>::ask_cache(Chunk& chunk, Columns& columns) noexcept {
  Cache& cache = *caches_[chunk.worker];
  const std::uint32_t count = chunk.batch.items;
  columns.state = state_.load(std::memory_order_acquire);
  cache.begin(columns.state, steady_ms());
  for (std::uint32_t i = 0; i < count; ++i) columns.hashes[i] = cache.hash(columns.keys[i]);
  if (is_changing(columns.state) || !cache.is_on()) return;
  for (std::uint32_t i = 0; i < count; ++i) cache.prefetch(columns.hashes[i]);
  std::uint32_t items = 0;
  std::array<Answer, Chunk::kCapacity> numbers;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint8_t packet = chunk.packet_of_item[i];
    if (const auto number = cache.find(columns.hashes[i], columns.keys[i])) {
      columns.found[columns.found_count] = packet;
      numbers[columns.found_count++] = *number;
      continue;
    }
    if (items != i) {
      columns.keys[items] = columns.keys[i];
      columns.hashes[items] = columns.hashes[i];
    }
    chunk.packet_of_item[items++] = packet;
  }
  std::copy_n(numbers.begin(), columns.found_count, columns.numbers.begin() + items);
  chunk.batch.items = items;
}

/// Stores the answers, unless the table has changed during the search.
template <class Key>
void KeyedSwitch<Key>::fill_cache(const Chunk& chunk, const Columns& columns) noexcept {
  counters_.add(chunk.worker, kFoundInCache, columns.found_count);
  counters_.add(chunk.worker, kFoundInTable, chunk.batch.items);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (is_changing(columns.state) || state_.load(std::memory_order_relaxed) != columns.state) return;
  Cache& cache = *caches_[chunk.worker];
  for (std::uint32_t item = 0; item < chunk.batch.items; ++item) {
    cache.put(columns.hashes[item], columns.keys[item], static_cast<std::uint32_t>(columns.numbers[item]),
              columns.state);
  }
}

template <class Key>
void KeyedSwitch<Key>::post_shade(Chunk& chunk) noexcept {
  const auto& columns = *static_cast<const Columns*>(chunk.stage_scratch);
  const std::uint64_t now = steady_ms();
  if (!chunk.is_dry_run) fill_cache(chunk, columns);
  const std::uint32_t items = chunk.batch.items;
  for (std::uint32_t i = 0; i < items + columns.found_count; ++i) {
    const auto number = static_cast<std::uint32_t>(columns.numbers[i]);
    const std::uint8_t packet = i < items ? chunk.packet_of_item[i] : columns.found[i - items];
    if (!chunk.is_dry_run) list_.count(chunk.worker, number, chunk.packets[packet]->pkt_len, now);
    const std::uint16_t outcome = carry_out(actions_of(number), columns.layers[packet], chunk, packet);
    if (outcome != kDone) chunk.verdicts[packet] = drop_or_punt(outcome);
  }
}

template <class Key>
std::optional<std::uint32_t> KeyedSwitch<Key>::number_of(const Chunk& chunk, std::uint16_t packet) const {
  const auto& columns = *static_cast<const Columns*>(chunk.stage_scratch);
  if (const auto item = item_of(chunk, packet)) return static_cast<std::uint32_t>(columns.numbers[*item]);
  const std::span found(columns.found.data(), columns.found_count);
  const auto at = std::ranges::find(found, packet);
  if (at == found.end()) return std::nullopt;
  const std::size_t place = chunk.batch.items + static_cast<std::size_t>(at - found.begin());
  return static_cast<std::uint32_t>(columns.numbers[place]);
}

}  // namespace penumbra::gswitch
