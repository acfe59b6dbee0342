// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/worker.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "functions/ipsec/ip_fields.h"
#include "functions/ipsec/sa_table.h"
#include "functions/ipsec/worker_work.h"
#include "packet/mbuf_gather.h"
#include "packet/mbuf_metadata.h"
#include "penumbra/bytes.h"

namespace penumbra::ipsec {
namespace {

/// Sealed packets wait for earlier ones of other workers up to 20 microseconds, about the time of a chunk.
constexpr std::uint64_t kPatiencePerSecond = 50'000;

Why why_not_opened(EspFault fault) {
  switch (fault) {
    case EspFault::bad_pad:
      return Why::bad_pad;
    case EspFault::dummy:
      return Why::dummy;
    case EspFault::bad_ecn:
      return Why::bad_ecn;
    default:
      return Why::bad_inner;
  }
}

}  // namespace

IpsecWorker::IpsecWorker(const Parts& parts, const WorkerContext& context)
    : parts_(parts),
      emitter_(context.emitter),
      pool_(context.pool),
      has_several_workers_(context.count > 1 && context.pool != nullptr),
      patience_(rte_get_tsc_hz() / kPatiencePerSecond) {}

void IpsecWorker::drop(Chunk& chunk, std::uint16_t index, Why why) noexcept {
  chunk.verdicts[index] = parts_.function->drop(static_cast<std::uint16_t>(why));
}

IpsecWorker::Note* IpsecWorker::note(const Chunk& chunk, std::uint16_t index) noexcept {
  return chunk.traced || chunk.is_dry_run ? &notes_[index] : nullptr;
}

void IpsecWorker::process(Chunk& chunk) noexcept {
  auto& works = *new (chunk.columns.take<Works>(1)) Works;
  chunk.stage_scratch = &works;
  works.snapshot = &parts_.table->current();
  works.work = chunk.columns.take<Work>(chunk.size);
  if (chunk.traced || chunk.is_dry_run) notes_.fill({});
  for (std::uint16_t i = 0; i < chunk.size; ++i) {
    if (chunk.verdicts[i].kind == Verdict::Kind::pass) classify(chunk, i, works);
  }
  if (works.count == 0) return;
  works.jobs = chunk.columns.take<cipher_job>(chunk.size);
  works.from = chunk.columns.take<std::uint64_t>(chunk.size);
  works.to = chunk.columns.take<std::uint64_t>(chunk.size);
  works.lengths = chunk.columns.take<std::uint32_t>(chunk.size);
  works.rooms = chunk.columns.take<std::uint32_t>(chunk.size);
  works.out_lengths = chunk.columns.take<std::uint32_t>(chunk.size);
  works.status = chunk.columns.take<std::uint8_t>(chunk.size);
  if (has_several_workers_) works.groups = chunk.columns.take<SealGroup>(chunk.size);
  start_jobs(chunk, works);
}

void IpsecWorker::take_numbers(Chunk& chunk, Works& works) noexcept {
  struct Group {
    DataSa* sa;
    std::uint32_t packets;
    std::uint64_t bytes, next, end;
  };
  std::array<Group, Chunk::kCapacity> groups;
  std::array<std::uint8_t, Chunk::kCapacity> group_of;
  std::uint32_t count = 0;
  for (std::uint32_t k = 0; k < works.count; ++k) {
    const Work& work = works.work[k];
    if (work.is_open) continue;
    std::uint32_t g = 0;
    while (g < count && groups[g].sa != work.sa) ++g;
    if (g == count) groups[count++] = {work.sa, 0, 0, 0, 0};
    ++groups[g].packets;
    groups[g].bytes += work.seal.payload_bytes;
    group_of[k] = static_cast<std::uint8_t>(g);
  }
  for (std::uint32_t g = 0; g < count; ++g) {
    DataSa& sa = *groups[g].sa;
    const SequenceNumbers::Taken taken = sa.numbers.take(groups[g].packets);
    groups[g].next = taken.first;
    groups[g].end = taken.first + taken.count;
    if (works.groups != nullptr && taken.count > 0) {
      works.groups[works.group_count++] = {&sa.numbers, taken.first, taken.first + taken.count};
    }
    sa.use->packets.fetch_add(taken.count, std::memory_order_relaxed);
    sa.use->bytes.fetch_add(groups[g].bytes, std::memory_order_relaxed);
    if (sa.numbers.left() <= sa.low_mark.load(std::memory_order_relaxed) && parts_.events != nullptr &&
        !sa.wants_numbers.exchange(true, std::memory_order_acq_rel) &&
        !parts_.events->push({.kind = Event::Kind::wants_numbers, .sa = sa.number, .policy = 0, .flow = {}})) {
      sa.wants_numbers.store(false, std::memory_order_release);
    }
  }
  std::uint32_t kept = 0;
  for (std::uint32_t k = 0; k < works.count; ++k) {
    Work& work = works.work[k];
    if (!work.is_open) {
      Group& group = groups[group_of[k]];
      if (group.next == group.end) {
        abandon(chunk, work, Why::seq_exhausted);
        continue;
      }
      work.number = group.next++;
    }
    if (kept != k) works.work[kept] = work;
    ++kept;
  }
  works.count = kept;
}

void IpsecWorker::await_turn(Works& works) noexcept {
  const std::size_t overtaken = await_turns({works.groups, works.group_count}, patience_);
  if (overtaken > 0) parts_.overtakings->fetch_add(overtaken, std::memory_order_relaxed);
  works.group_count = 0;
}

bool IpsecWorker::prepare(Chunk& chunk, Work& work) noexcept {
  rte_mbuf& packet = *chunk.packets[work.index];
  const std::uint32_t source_end = work.is_open
                                       ? work.open.esp_at + work.open.esp_bytes
                                       : work.seal.payload_at + work.seal.payload_bytes + work.seal.trailer_bytes;
  const std::uint32_t made_bytes =
      work.is_open ? work.open.head_bytes + work.open.esp_bytes : work.seal.head_bytes + work.seal.esp_bytes;
  const auto refuse = [&](Why why) {
    abandon(chunk, work, why);
    return false;
  };
  work.made = emitter_.allocate();
  if (work.made == nullptr) return refuse(Why::no_memory);
  if (rte_pktmbuf_tailroom(work.made) < made_bytes) return refuse(Why::too_long);
  // The trailer of a seal is written after the packet.
  const auto is_source = [&](const rte_mbuf& from) {
    return from.nb_segs == 1 && detail::is_own_segment(from) && from.data_off + source_end <= from.buf_len;
  };
  if (work.is_fragment) return is_source(*work.copy) || refuse(Why::too_long);
  if (!is_source(packet)) {
    const std::uint32_t bytes = std::min(source_end, packet.pkt_len);
    work.copy = emitter_.allocate();
    if (work.copy == nullptr) return refuse(Why::no_memory);
    if (rte_pktmbuf_tailroom(work.copy) < source_end) return refuse(Why::too_long);
    auto* const to = rte_pktmbuf_mtod(work.copy, std::uint8_t*);
    const void* const found = rte_pktmbuf_read(&packet, 0, bytes, to);
    if (found != to) std::memcpy(to, found, bytes);
  }
  return true;
}

void IpsecWorker::start_jobs(Chunk& chunk, Works& works) noexcept {
  take_numbers(chunk, works);
  std::uint32_t items = 0;
  for (std::uint32_t k = 0; k < works.count; ++k) {
    Work& work = works.work[k];
    if (!prepare(chunk, work)) continue;
    const SaFormat& format = work.sa->format;
    rte_mbuf* const source = work.copy != nullptr ? work.copy : chunk.packets[work.index];
    auto* const frame = rte_pktmbuf_mtod(source, std::uint8_t*);
    auto* const made = rte_pktmbuf_mtod(work.made, std::uint8_t*);
    if (work.is_open) {
      const OpenPlan& plan = work.open;
      write_open_job(format, work.sa->salt, work.number, frame + plan.esp_at, works.jobs[items]);
      works.from[items] = position_of(frame + plan.esp_at, chunk.batch.source);
      works.lengths[items] = plan.esp_bytes;
      works.to[items] = position_of(made + plan.head_bytes, chunk.batch.destination);
      works.rooms[items] = plan.esp_bytes - kEspHeaderBytes - format.iv_bytes - format.tag_bytes;
    } else {
      const SealPlan& plan = work.seal;
      const PacketHeaders& headers = headers_of(*chunk.packets[work.index]);
      std::array<std::uint8_t, RandomIv::kBytes> iv;
      if (format.iv == IvKind::random) random_.next(iv.data());
      if (plan.ages) decrement_inner(frame, headers);
      write_trailer(format, plan, frame + plan.payload_at + plan.payload_bytes);
      write_seal_job(format, work.sa->salt, work.number, iv.data(), works.jobs[items]);
      works.from[items] = position_of(frame + plan.payload_at, chunk.batch.source);
      works.lengths[items] = plan.payload_bytes + plan.trailer_bytes;
      works.to[items] = position_of(made + plan.head_bytes, chunk.batch.destination);
      works.rooms[items] = plan.esp_bytes;
    }
    chunk.packet_of_item[items] = work.index;
    if (items != k) works.work[items] = work;
    ++items;
  }
  works.count = items;
  chunk.batch.inputs = {works.jobs, works.from, works.lengths, works.to, works.rooms};
  chunk.batch.outputs = {works.out_lengths, works.status};
  chunk.batch.items = items;
}

bool IpsecWorker::resume(Chunk& chunk) noexcept {
  auto& works = *static_cast<Works*>(chunk.stage_scratch);
  const std::uint32_t count = works.count;
  // Packets that have to be sealed next take the places of those that are done.
  works.count = 0;
  for (std::uint32_t k = 0; k < count; ++k) {
    Work work = works.work[k];
    if (work.is_open) {
      finish_opening(chunk, work, works, works.status[k], works.out_lengths[k]);
    } else {
      finish_seal(chunk, work, works, works.status[k], works.out_lengths[k]);
    }
  }
  await_turn(works);
  if (works.count == 0) return false;
  start_jobs(chunk, works);
  if (works.count == 0) await_turn(works);
  return works.count > 0;
}

void IpsecWorker::finish_seal(Chunk& chunk, Work& work, Works& works, std::uint8_t status,
                              std::uint32_t length) noexcept {
  const std::uint16_t index = work.index;
  if (status != CIPHER_DONE || length != work.seal.esp_bytes) {
    put(chunk, work, 0);
    return abandon(chunk, work, status == CIPHER_NO_KEY ? Why::no_outbound_sa : Why::too_long);
  }
  const PacketHeaders headers = headers_of(*chunk.packets[index]);
  const rte_mbuf* const source = work.copy != nullptr ? work.copy : chunk.packets[index];
  write_seal_head(work.sa->format, work.seal, rte_pktmbuf_mtod(source, const std::uint8_t*), headers, ++identification_,
                  rte_pktmbuf_mtod(work.made, std::uint8_t*));
  const std::uint32_t bytes = work.seal.head_bytes + work.seal.esp_bytes;
  if (work.is_fragment) return emit_fragment(chunk, work, works, bytes);
  put(chunk, work, bytes);
  if (bytes - headers.network > parts_.mtu) fragment_sealed(chunk, index);
}

void IpsecWorker::finish_opening(Chunk& chunk, Work& work, Works& works, std::uint8_t status,
                                 std::uint32_t length) noexcept {
  const std::uint16_t index = work.index;
  DataSa& sa = *work.sa;
  const auto refuse = [&](Why why) {
    put(chunk, work, 0);
    drop(chunk, index, why);
  };
  if (status != CIPHER_DONE) {
    if (status == CIPHER_WRONG_TAG) sa.use->bad_icv.fetch_add(1, std::memory_order_relaxed);
    return refuse(status == CIPHER_WRONG_TAG ? Why::bad_icv : status == CIPHER_NO_KEY ? Why::no_sa : Why::cut);
  }
  if (const Replayed replayed = sa.window->record(work.number); replayed != Replayed::no) {
    const bool is_late = replayed == Replayed::late;
    (is_late ? sa.use->late : sa.use->replayed).fetch_add(1, std::memory_order_relaxed);
    return refuse(is_late ? Why::late : Why::replayed);
  }
  sa.use->packets.fetch_add(1, std::memory_order_relaxed);
  sa.use->bytes.fetch_add(length, std::memory_order_relaxed);
  const PacketHeaders headers = headers_of(*chunk.packets[index]);
  const rte_mbuf* const source = work.copy != nullptr ? work.copy : chunk.packets[index];
  const auto* const frame = rte_pktmbuf_mtod(source, const std::uint8_t*);
  if (sa.format.has_udp) report_mapping(work, flow_of(frame, headers));
  std::uint32_t bytes = 0;
  const EspFault fault =
      finish_open(sa.format, work.open, frame, headers, rte_pktmbuf_mtod(work.made, std::uint8_t*), length, bytes);
  if (fault != EspFault::none) return refuse(why_not_opened(fault));
  put(chunk, work, bytes);
  const PacketHeaders& inner = headers_of(*chunk.packets[index]);
  if (inner.is_unparsable() || !inner.is_ip()) return drop(chunk, index, Why::bad_inner);
  Flow flow = flow_of(rte_pktmbuf_mtod(chunk.packets[index], const std::uint8_t*), inner);
  flow.interface_id = sa.sa.settings.interface_id;
  apply_policies(chunk, index, works, &sa, flow);
}

void IpsecWorker::put(Chunk& chunk, Work& work, std::uint32_t bytes) noexcept {
  rte_mbuf* const packet = chunk.packets[work.index];
  if (chunk.batch.is_still_written) {
    keep_from_pool(work.made);
    keep_from_pool(work.copy);
    keep_from_pool(packet);
  }
  rte_mbuf* const copy = std::exchange(work.copy, nullptr);
  rte_mbuf* const made = std::exchange(work.made, nullptr);
  if (copy != nullptr) emitter_.discard(copy);
  if (bytes == 0) return emitter_.discard(made);
  rte_pktmbuf_append(made, static_cast<std::uint16_t>(bytes));
  emitter_.replace(chunk, work.index, made, 0);
  rte_pktmbuf_free(packet);
}

void IpsecWorker::abandon(Chunk& chunk, Work& work, Why why) noexcept {
  for (rte_mbuf* const each : {work.made, work.copy}) {
    if (each != nullptr) emitter_.discard(each);
  }
  while (work.fragments != nullptr) {
    rte_mbuf* const fragment = work.fragments;
    work.fragments = std::exchange(fragment->next, nullptr);
    emitter_.discard(fragment);
  }
  drop(chunk, work.index, why);
}

void IpsecWorker::report_mapping(const Work& work, const Flow& outer) noexcept {
  DataSa& sa = *work.sa;
  const control::xfrm::SaSettings& settings = sa.sa.settings;
  if (!settings.encapsulation) return;
  if (outer.source == settings.source && outer.source_port == settings.encapsulation->source_port) return;
  const std::uint64_t hash = AddressHash::of(outer.source, outer.source_port) | 1U;
  if (parts_.events == nullptr || sa.use->last_mapping.exchange(hash, std::memory_order_relaxed) == hash) return;
  if (!parts_.events->push({.kind = Event::Kind::mapping, .sa = sa.number, .policy = 0, .flow = outer})) {
    sa.use->last_mapping.store(0, std::memory_order_relaxed);
  }
}

std::string IpsecWorker::trace(const Chunk& /*chunk*/, std::uint16_t packet) const {
  const Note& noted = notes_[packet];
  std::string text;
  const auto add = [&](const char* word, const std::string& what) {
    if (what.empty()) return;
    if (!text.empty()) text += ", ";
    text += word + what;
  };
  add("opened by ", noted.opened);
  add("policy ", noted.policy);
  add("sealed by ", noted.sealed);
  return text.empty() ? "no policy" : text;
}

nlohmann::ordered_json IpsecWorker::explain(const Chunk& /*chunk*/, std::uint16_t packet) const {
  const Note& noted = notes_[packet];
  nlohmann::ordered_json explained = nlohmann::ordered_json::object();
  if (!noted.opened.empty()) explained["opened_by"] = noted.opened;
  if (!noted.policy.empty()) explained["policy"] = noted.policy;
  if (!noted.sealed.empty()) explained["sealed_by"] = noted.sealed;
  return explained;
}

}  // namespace penumbra::ipsec
