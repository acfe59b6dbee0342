// SPDX-License-Identifier: Apache-2.0
#include "packet/reassembly_insertion.h"

#include <algorithm>

#include "packet/fragment_chain.h"
#include "packet/mbuf_metadata.h"

namespace penumbra {

FragmentInsertion::FragmentInsertion(DatagramParts& parts, rte_mempool& copies, Datagram& datagram, rte_mbuf& packet,
                                     const FragmentFields& fields)
    : parts_(parts), copies_(copies), datagram_(datagram), packet_(packet), fields_(fields) {
  // Most fragments arrive in order.
  if (datagram_.last != kNoIndex && parts_[datagram_.last].range.end <= fields_.range.begin) {
    before_ = datagram_.last;
    return;
  }
  TableIndex i = datagram_.first;
  for (; i != kNoIndex && parts_[i].range.end <= fields_.range.begin; i = parts_[i].next) before_ = i;
  for (; i != kNoIndex && parts_[i].range.begin < fields_.range.end; i = parts_[i].next) ++overlaps_;
}

ReassemblyReason FragmentInsertion::insert(OverlapPolicy policy, HandBack hand_back) {
  if (overlaps_ == 0) {
    add_own_part(fields_.range);
  } else if (const ReassemblyReason reason = resolve_overlaps(policy, hand_back); reason != ReassemblyReason::none) {
    return reason;
  }
  parts_.hold(own_, packet_, false);
  return ReassemblyReason::none;
}

ReassemblyReason FragmentInsertion::resolve_overlaps(OverlapPolicy policy, HandBack hand_back) {
  const FragmentRange range = fields_.range;
  datagram_.had_overlap = true;
  const bool is_same_range = parts_[following()].range == range;
  const bool is_equal = is_same_range && is_equal_in(parts_[following()]);
  datagram_.had_conflict |= is_same_range && !is_equal;
  // Hosts that drop overlaps ignore a second fragment of the same range without a look at its bytes (RFC 8200, 4.5).
  if (is_equal || (is_same_range && policy == OverlapPolicy::drop)) return ReassemblyReason::duplicate;
  std::uint32_t begin = range.begin;  // The first byte that is not decided yet.
  TableIndex at = following();
  for (; at != kNoIndex && parts_[at].range.begin < range.end; at = following()) {
    const DatagramPart& held = parts_[at];
    datagram_.had_conflict = datagram_.had_conflict || !is_equal_in(held);
    if (policy == OverlapPolicy::drop) return ReassemblyReason::overlap;
    if (new_fragment_wins(policy, held.range, range)) {
      if (!make_way(hand_back)) return ReassemblyReason::no_mbuf;
    } else {
      if (begin < held.range.begin && !add_own_part({begin, held.range.begin})) return ReassemblyReason::no_mbuf;
      begin = held.range.end;
      before_ = at;
    }
  }
  if (begin < range.end && !add_own_part({begin, range.end})) return ReassemblyReason::no_mbuf;
  return own_ == kNoIndex ? ReassemblyReason::overlapped : ReassemblyReason::none;
}

/// Returns true if the fragment and the part have the same bytes where they overlap.
bool FragmentInsertion::is_equal_in(const DatagramPart& held) const {
  const FragmentRange both{std::max(held.range.begin, fields_.range.begin),
                           std::min(held.range.end, fields_.range.end)};
  return equal_in_chains(*held.packet, held.data_at + both.begin - held.range.begin, packet_,
                         fields_.data_at + both.begin - fields_.range.begin, both.size());
}

/// Takes the fragment's range from the following part. Returns false if there is no mbuf for a copy.
bool FragmentInsertion::make_way(HandBack hand_back) {
  const TableIndex index = following();
  DatagramPart& held = parts_[index];
  const FragmentRange range = fields_.range, old = held.range;
  if (old.begin < range.begin) {
    datagram_.covered -= old.end - range.begin;
    held.range.end = range.begin;
    before_ = index;
    if (old.end <= range.end) return true;
    const TableIndex rest = insert_part({range.end, old.end});
    before_ = index;
    return hold_copy(rest, *held.packet, held.data_at + range.end - old.begin);
  }
  if (old.end > range.end) {
    const std::uint32_t lost = range.end - old.begin;
    datagram_.covered -= lost;
    held.range.begin = range.end;
    held.data_at = static_cast<std::uint16_t>(held.data_at + lost);
    return true;
  }
  datagram_.covered -= old.size();
  --datagram_.parts;
  (before_ == kNoIndex ? datagram_.first : parts_[before_].next) = held.next;
  if (datagram_.last == index) datagram_.last = before_;
  parts_.release(index, ReassemblyReason::overlapped, hand_back);
  return true;
}

/// Adds a part of the fragment. The first one gets the packet itself, later ones get copies.
bool FragmentInsertion::add_own_part(FragmentRange range) {
  const TableIndex index = insert_part(range);
  const std::uint32_t at = fields_.data_at + range.begin - fields_.range.begin;
  if (own_ != kNoIndex) return hold_copy(index, packet_, at);
  own_ = index;
  parts_[index].data_at = static_cast<std::uint16_t>(at);
  parts_[index].network = fields_.network;
  return true;
}

bool FragmentInsertion::hold_copy(TableIndex part, const rte_mbuf& packet, std::uint32_t at) {
  rte_mbuf* const copied = copy_packet(packet, copies_, at, parts_[part].range.size());
  if (copied == nullptr) return false;
  parts_.hold(part, *copied, true);
  return true;
}

TableIndex FragmentInsertion::insert_part(FragmentRange range) {
  const TableIndex next = following(), index = parts_.take();
  DatagramPart& part = parts_[index];
  part.range = range;
  part.next = next;
  (before_ == kNoIndex ? datagram_.first : parts_[before_].next) = index;
  if (next == kNoIndex) datagram_.last = index;
  before_ = index;
  datagram_.covered += range.size();
  ++datagram_.parts;
  return index;
}

}  // namespace penumbra
