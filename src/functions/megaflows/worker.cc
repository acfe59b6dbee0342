// SPDX-License-Identifier: Apache-2.0
#include "functions/megaflows/worker.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <random>

#include "base/steady_time.h"
#include "functions/megaflows/reasons.h"
#include "functions/megaflows/rewrite.h"
#include "packet/mbuf_metadata.h"

namespace penumbra::megaflows {

using packet_fields::match_text;
using packet_fields::Reading;

/// Holds the lookups of a chunk. The columns of the batch come first.
struct Worker::Lookups {
  std::array<SparseWords, Chunk::kCapacity> keys;  ///< by item
  std::array<std::uint64_t, Chunk::kCapacity> answers;
  std::array<std::uint32_t, Chunk::kCapacity> hashes;    ///< by item
  std::array<std::uint8_t, Chunk::kCapacity> lookup_of;  ///< by item
  std::array<std::uint8_t, Chunk::kCapacity> packets;    ///< by lookup
  std::array<std::uint32_t, Chunk::kCapacity> rules;     ///< by lookup
  std::array<PacketLayers, Chunk::kCapacity> layers;     ///< by lookup
  std::uint16_t count = 0;
  std::uint16_t items = 0;
};

static_assert(sizeof(SparseWords) == sizeof(rules_sparse_key));

Worker::Worker(Megaflows& function, const WorkerContext& context)
    : function_(function),
      cache_(context.index < context.count ? function.settings_.cache : 0, std::random_device{}()) {
  if (context.index == context.count) return;
  cache_.touch();
  function.table_.prepare(context.index);
}

void Worker::process(Chunk& chunk) noexcept {
  auto& lookups = *chunk.columns.take<Lookups>(1);
  lookups.count = 0;
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
    const rte_mbuf* const packet = chunk.packets[i];
    const Reading reading = read_packet(rte_pktmbuf_mtod(packet, const std::uint8_t*), packet->data_len,
                                        packet->pkt_len, static_cast<std::uint16_t>(chunk.rx_port + 1),
                                        lookups.keys[lookups.count], lookups.layers[lookups.count]);
    if (reading != Reading::usual) {
      if (!chunk.is_dry_run) function_.counters_.add(chunk.worker, Megaflows::kUnusual);
      chunk.verdicts[i] = function_.punt(kUnusualPunted);
      continue;
    }
    lookups.lookup_of[lookups.count] = static_cast<std::uint8_t>(lookups.count);
    lookups.packets[lookups.count++] = static_cast<std::uint8_t>(i);
  }
  lookups.items = lookups.count;
  if (!chunk.is_dry_run) ask_cache(chunk, lookups);
  chunk.batch.items = lookups.items;
  chunk.batch.inputs[0] = lookups.keys.data();
  chunk.batch.outputs[0] = lookups.answers.data();
  chunk.stage_scratch = &lookups;
}

/// Leaves the keys that the cache does not have as items.
void Worker::ask_cache(const Chunk& chunk, Lookups& lookups) noexcept {
  cache_.begin(function_.table_.state(), steady_ms());
  for (std::uint16_t i = 0; i < lookups.count; ++i) lookups.hashes[i] = cache_.hash(lookups.keys[i]);
  if (!cache_.is_on()) return;
  for (std::uint16_t i = 0; i < lookups.count; ++i) cache_.prefetch(lookups.hashes[i]);
  lookups.items = 0;
  std::uint64_t missed = 0;
  for (std::uint16_t i = 0; i < lookups.count; ++i) {
    if (const auto rule = cache_.find(lookups.hashes[i], lookups.keys[i])) {
      lookups.rules[i] = *rule;
      missed += *rule == RULES_NONE ? 1 : 0;
      continue;
    }
    if (lookups.items != i) {
      lookups.keys[lookups.items] = lookups.keys[i];
      lookups.hashes[lookups.items] = lookups.hashes[i];
    }
    lookups.lookup_of[lookups.items++] = static_cast<std::uint8_t>(i);
  }
  function_.counters_.add(chunk.worker, Megaflows::kMissed, missed);
  function_.counters_.add(chunk.worker, Megaflows::kFoundInCache, lookups.count - lookups.items - missed);
}

bool Worker::resume(Chunk& chunk) noexcept {
  auto& lookups = *static_cast<Lookups*>(chunk.stage_scratch);
  std::uint64_t missed = 0;
  for (std::uint16_t item = 0; item < lookups.items; ++item) {
    const auto rule = static_cast<std::uint32_t>(lookups.answers[item]);
    const auto state = static_cast<std::uint32_t>(lookups.answers[item] >> 32);
    lookups.rules[lookups.lookup_of[item]] = rule;
    missed += rule == RULES_NONE ? 1 : 0;
    if (!chunk.is_dry_run) cache_.put(lookups.hashes[item], lookups.keys[item], rule, state);
  }
  if (!chunk.is_dry_run) {
    function_.counters_.add(chunk.worker, Megaflows::kMissed, missed);
    function_.counters_.add(chunk.worker, Megaflows::kFoundInTable, lookups.items - missed);
  }
  const std::uint64_t now_ms = steady_ms();
  for (std::uint16_t lookup = 0; lookup < lookups.count; ++lookup) carry_out(chunk, lookups, lookup, now_ms);
  return false;
}

void Worker::carry_out(Chunk& chunk, const Lookups& lookups, std::uint16_t lookup, std::uint64_t now_ms) noexcept {
  const std::uint8_t packet = lookups.packets[lookup];
  const std::uint32_t rule = lookups.rules[lookup];
  if (rule == RULES_NONE) {
    const bool punts = function_.punts_misses_.load(std::memory_order_relaxed);
    chunk.verdicts[packet] = punts ? function_.punt(kMissPunted) : function_.drop(kMiss);
    return;
  }
  if (!chunk.is_dry_run) {
    function_.table_.count(chunk.worker, rule, chunk.packets[packet]->pkt_len, now_ms);
  }
  const CompiledActions& actions = function_.table_.actions(rule);
  if (!actions.meters.empty() && !chunk.is_dry_run && !admit(actions, chunk.packets[packet]->pkt_len)) {
    chunk.verdicts[packet] = function_.drop(kMetered);
    return;
  }
  chunk.verdicts[packet] = output(actions, lookups.layers[lookup], chunk, packet);
}

/// A packet that a meter drops does not reach the meters after it.
bool Worker::admit(const CompiledActions& actions, std::uint32_t bytes) noexcept {
  const std::uint64_t now_ns = steady_ns();
  return std::ranges::all_of(actions.meters, [&](const auto& meter) { return meter->admit(bytes, now_ns); });
}

Verdict Worker::output(const CompiledActions& actions, PacketLayers layers, Chunk& chunk,
                       std::uint8_t packet) noexcept {
  const auto& variants = actions.variants;
  if (variants[0].ports.empty()) return function_.drop(actions.down == 0 ? kDroppedByMegaflow : kPortDown);
  rte_mbuf& mbuf = *chunk.packets[packet];
  const std::size_t header_bytes = kEthernetHeaderBytes + (layers.is_tagged ? kTagBytes : 0);
  const auto payload_bytes = static_cast<std::uint32_t>(mbuf.pkt_len - header_bytes);
  const auto first = actions.outputs(0, payload_bytes, function_.ports_);
  const auto second = actions.outputs(1, payload_bytes, function_.ports_);
  const auto too_short = static_cast<std::uint16_t>(first.too_short + second.too_short);
  const auto dropped = static_cast<std::uint16_t>(too_short + actions.down);
  if (first.ports.empty() && second.ports.empty()) return function_.drop(kTooLong);
  if (!rewrite(mbuf, layers, variants[0].sets)) return function_.drop(kNoBuffer);
  Replication& replication = chunk.replications[packet];
  replication = {.ports = first.ports.empty() ? second.ports : first.ports,
                 .dropped = dropped,
                 .reason = function_.drop(actions.down != 0 && too_short == 0 ? kPortDown : kTooLong).value};
  if (!first.ports.empty() && !second.ports.empty()) {
    rte_mbuf* const other = copy_packet(mbuf, *mbuf.pool);
    if (other == nullptr) return function_.drop(kNoBuffer);
    if (!rewrite(*other, layers, variants[1].sets)) {
      rte_pktmbuf_free(other);
      return function_.drop(kNoBuffer);
    }
    replication.other = other;
    replication.other_ports = second.ports;
  } else if (!second.ports.empty() && !rewrite(mbuf, layers, variants[1].sets)) {
    return function_.drop(kNoBuffer);
  }
  const std::size_t copies = first.ports.size() + second.ports.size() + dropped;
  return copies == 1 ? Verdict::send(replication.ports.front()) : Verdict::replicate();
}

std::optional<std::uint32_t> Worker::rule_of(const Chunk& chunk, std::uint16_t packet) {
  const auto& lookups = *static_cast<const Lookups*>(chunk.stage_scratch);
  for (std::uint16_t lookup = 0; lookup < lookups.count; ++lookup) {
    if (lookups.packets[lookup] == packet) return lookups.rules[lookup];
  }
  return std::nullopt;
}

std::string Worker::trace(const Chunk& chunk, std::uint16_t packet) const {
  const auto rule = rule_of(chunk, packet);
  if (!rule) return "no megaflow was looked for";
  if (*rule == RULES_NONE) return "no megaflow matches";
  return fmt::format("megaflow {}: {}", *rule, actions_text(function_.table_.actions(*rule).actions));
}

nlohmann::ordered_json Worker::explain(const Chunk& chunk, std::uint16_t packet) const {
  auto explained = nlohmann::ordered_json::object();
  const auto rule = rule_of(chunk, packet);
  const auto flow = rule ? function_.table_.find(*rule) : std::nullopt;
  if (!flow) return explained;
  explained["megaflow"] = match_text(flow->match);
  explained["actions"] = actions_text(flow->actions);
  return explained;
}

}  // namespace penumbra::megaflows
