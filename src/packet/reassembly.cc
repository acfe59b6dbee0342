// SPDX-License-Identifier: Apache-2.0
#include "packet/reassembly.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "packet/reassembly_completion.h"
#include "packet/reassembly_fragment.h"
#include "packet/reassembly_insertion.h"

namespace penumbra {
namespace {

using Kind = ReassemblyResult::Kind;

/// Memory for one part of a datagram. Few mbufs are smaller, so that mbufs seldom outnumber the parts.
constexpr std::size_t kBytesOfPart = 1024;
constexpr std::size_t kLeastForMbufs = std::size_t{256} << 10;

std::uint32_t parts_for(const ReassemblyLimits& limits) {
  // Insertion may take two parts more than a datagram may have.
  const std::size_t most = std::size_t{limits.datagrams} * limits.fragments;
  return static_cast<std::uint32_t>(std::min(limits.memory / kBytesOfPart, most)) + limits.fragments + 2U;
}

std::size_t bytes_of_tables(const ReassemblyLimits& limits) {
  const std::size_t bytes = DatagramTable::bytes(limits.datagrams) + parts_for(limits) * sizeof(DatagramPart);
  if (limits.datagrams == 0 || limits.fragments == 0 || bytes + kLeastForMbufs > limits.memory) {
    throw std::invalid_argument("reassembly of " + std::to_string(limits.datagrams) + " datagrams takes at least " +
                                std::to_string(bytes + kLeastForMbufs) + " bytes of memory");
  }
  return bytes;
}

/// Returns true if another packet uses a part of the packet's memory.
bool is_shared(const rte_mbuf& packet) {
  for (const rte_mbuf* segment = &packet; segment != nullptr; segment = segment->next) {
    if (rte_mbuf_refcnt_read(segment) != 1 || RTE_MBUF_CLONED(segment) ||
        (RTE_MBUF_HAS_EXTBUF(segment) && rte_mbuf_ext_refcnt_read(segment->shinfo) != 1)) {
      return true;
    }
  }
  return false;
}

bool concerns_datagram(ReassemblyReason reason) {
  return reason >= ReassemblyReason::overlap;
}

ReassemblyResult refused(ReassemblyReason reason) {
  return {.kind = Kind::refused, .reason = reason};
}

/// Returns true if the fragment agrees with the others on the end of the datagram.
bool agrees_on_end(const DatagramParts& parts, const FragmentFields& fields, const Datagram& datagram) {
  const std::uint32_t end = fields.range.end;
  if (datagram.size != Datagram::kUnknown) return fields.more ? end <= datagram.size : end == datagram.size;
  return fields.more || datagram.last == kNoIndex || parts[datagram.last].range.end <= end;
}

}  // namespace

Reassembly::Reassembly(const ReassemblyLimits& limits, const SipHashKey& key, rte_mempool& copies)
    : limits_(limits),
      copies_(copies),
      table_bytes_(bytes_of_tables(limits)),
      table_(limits.datagrams, key),
      parts_(parts_for(limits)) {}

void Reassembly::check(const ReassemblyLimits& limits) {
  bytes_of_tables(limits);
}

bool Reassembly::is_due(const Datagram& datagram, std::uint64_t now) const {
  // The clock of a capture may go back.
  const auto age = static_cast<std::int64_t>(now - datagram.began);
  return age >= 0 && static_cast<std::uint64_t>(age) >= limits_.timeout;
}

ReassemblyResult Reassembly::add(rte_mbuf& packet, const PacketHeaders& headers, std::uint64_t now,
                                 OverlapPolicy policy, HandBack hand_back) {
  FragmentFields fields;
  const ReassemblyReason fault = read_fragment(packet, headers, policy, fields);
  if (fault != ReassemblyReason::none) return refused(fault);
  if (is_shared(packet)) return refused(ReassemblyReason::shared);
  if (fields.is_whole()) {
    return {.kind = Kind::completed,
            .fragments = 1,
            .largest = fields.packet_size,
            .packet = remove_fragment_header(packet, fields)};
  }
  if (fields.more && fields.range.size() < limits_.least_payload) return refused(ReassemblyReason::tiny);
  if (!fields.is_ipv4) policy = OverlapPolicy::drop;

  Datagram* datagram = table_.find(fields.key);
  if (datagram != nullptr && is_due(*datagram, now)) {
    erase(*datagram, ReassemblyReason::timeout, hand_back);
    datagram = nullptr;
  }
  if (datagram != nullptr && datagram->dropped != ReassemblyReason::none) return refused(datagram->dropped);
  if (!make_room(memory_of(packet), 0, datagram, hand_back)) return refused(ReassemblyReason::no_memory);
  if (datagram == nullptr) datagram = &create(fields.key, now, hand_back);

  const ReassemblyReason reason = insert(*datagram, packet, fields, policy, hand_back);
  if (reason == ReassemblyReason::none && datagram->covered == datagram->size) return complete(*datagram);
  if (reason == ReassemblyReason::none) return {.kind = Kind::held};
  if (concerns_datagram(reason)) {
    release_parts(*datagram, reason, [&](rte_mbuf* held, ReassemblyReason why) {
      if (held != &packet) hand_back(held, why);
    });
    // A datagram that only lacked memory may be complete when its fragments are sent again.
    if (reason == ReassemblyReason::no_memory || reason == ReassemblyReason::no_mbuf) {
      table_.erase(*datagram);
    } else {
      table_.drop(*datagram, reason, now);
    }
  }
  return refused(reason);
}

/// Makes the fragment a part of the datagram. If the result is a reason that concerns the datagram, the fragment may be
/// held nevertheless.
ReassemblyReason Reassembly::insert(Datagram& datagram, rte_mbuf& packet, const FragmentFields& fields,
                                    OverlapPolicy policy, HandBack hand_back) {
  if (!agrees_on_end(parts_, fields, datagram)) return ReassemblyReason::end_conflict;
  FragmentInsertion insertion(parts_, copies_, datagram, packet, fields);
  if (!make_room(0, insertion.parts_needed(), &datagram, hand_back)) return ReassemblyReason::no_memory;
  const ReassemblyReason reason = insertion.insert(policy, hand_back);
  if (reason != ReassemblyReason::none) return reason;
  if (!fields.more) datagram.size = fields.range.end;
  datagram.ecns = static_cast<std::uint8_t>(datagram.ecns | 1U << fields.ecn);
  datagram.largest = std::max(datagram.largest, fields.packet_size);
  if (fields.dont_fragment) datagram.largest_df = std::max(datagram.largest_df, fields.packet_size);
  if (datagram.parts > limits_.fragments) return ReassemblyReason::too_many_fragments;
  // Copies take memory, too.
  if (!make_room(0, 0, &datagram, hand_back)) return ReassemblyReason::no_memory;
  return datagram.covered == datagram.size ? check_whole(parts_, datagram) : ReassemblyReason::none;
}

ReassemblyResult Reassembly::complete(Datagram& datagram) {
  const std::size_t held_before = parts_.fragments();
  ReassemblyResult result{.kind = Kind::completed,
                          .had_overlap = datagram.had_overlap,
                          .had_conflict = datagram.had_conflict,
                          .largest = datagram.largest};
  result.packet = join_parts(parts_, datagram);
  result.fragments = static_cast<std::uint16_t>(held_before - parts_.fragments());
  table_.erase(datagram);
  return result;
}

void Reassembly::expire(std::uint64_t now, HandBack hand_back) {
  Datagram* datagram = nullptr;
  while ((datagram = table_.oldest_live()) != nullptr && is_due(*datagram, now)) {
    erase(*datagram, ReassemblyReason::timeout, hand_back);
  }
  while ((datagram = table_.oldest_dropped()) != nullptr && is_due(*datagram, now)) table_.erase(*datagram);
}

void Reassembly::flush(HandBack hand_back) {
  while (Datagram* const datagram = table_.oldest_live()) erase(*datagram, ReassemblyReason::flushed, hand_back);
  while (Datagram* const datagram = table_.oldest_dropped()) table_.erase(*datagram);
}

bool Reassembly::make_room(std::size_t bytes, std::size_t parts, const Datagram* spared, HandBack hand_back) {
  while (memory() + bytes > limits_.memory || parts_.unused() < parts) {
    Datagram* oldest = table_.oldest_live();
    if (oldest != nullptr && oldest == spared) oldest = table_.newer(*oldest);
    if (oldest == nullptr) return false;
    erase(*oldest, ReassemblyReason::no_memory, hand_back);
  }
  return true;
}

Datagram& Reassembly::create(const DatagramKey& key, std::uint64_t now, HandBack hand_back) {
  if (Datagram* const other = table_.in_the_way(key)) erase(*other, ReassemblyReason::no_room, hand_back);
  return table_.create(key, now);
}

void Reassembly::release_parts(Datagram& datagram, ReassemblyReason reason, HandBack hand_back) {
  for (TableIndex i = datagram.first; i != kNoIndex;) {
    const TableIndex next = parts_[i].next;
    parts_.release(i, reason, hand_back);
    i = next;
  }
  datagram.first = datagram.last = kNoIndex;
}

void Reassembly::erase(Datagram& datagram, ReassemblyReason reason, HandBack hand_back) {
  release_parts(datagram, reason, hand_back);
  table_.erase(datagram);
}

}  // namespace penumbra
