// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/flow_tracker.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "functions/ids/detect/stream_session.h"

namespace penumbra::ids {
namespace {

constexpr std::uint8_t kFin = 0x01, kSyn = 0x02, kReset = 0x04, kAck = 0x10;
constexpr std::uint64_t kSecond = 1'000'000;  // microseconds

void follow_tcp(TrackedFlow& flow, std::uint8_t flags, bool to_server) {
  if ((flags & kReset) != 0) {
    flow.reset = true;
    return;
  }
  if ((flags & kFin) != 0) (to_server ? flow.fin_to_server : flow.fin_to_client) = true;
  if ((flags & (kSyn | kAck)) == kSyn && to_server) flow.syn = true;
  if ((flags & (kSyn | kAck)) == (kSyn | kAck) && !to_server && flow.syn) flow.syn_ack = true;
  if ((flags & (kSyn | kAck)) == kAck && to_server && flow.syn_ack) flow.established = true;
}

}  // namespace

std::uint64_t timeout_of(const TrackedFlow& flow, std::uint8_t protocol) {
  if (protocol == ip_protocol::kTcp) return (flow.is_closed() || !flow.established ? 60 : 600) * kSecond;
  return (flow.established ? 300 : 30) * kSecond;
}

FlowTracker::FlowTracker(const FlowLimits& limits)
    : limits_(limits), entries_(std::max<std::size_t>(limits.flows, 1)), buckets_(std::bit_ceil(entries_.size() * 2)) {
  clear();
}

void FlowTracker::clear() {
  std::ranges::fill(buckets_, kNone);
  newest_.fill(kNone);
  oldest_.fill(kNone);
  size_ = 0;
  for (std::uint32_t i = 0; i < entries_.size(); ++i)
    entries_[i].next_in_bucket = i + 1 < entries_.size() ? i + 1 : kNone;
  free_ = 0;
}

std::uint32_t& FlowTracker::bucket_of(const Key& key) {
  const std::uint64_t hash =
      siphash<1, 3>(limits_.key, std::array{key.low_address[0], key.low_address[1], key.high_address[0],
                                            key.high_address[1], std::uint64_t{key.ports} << 16 | key.protocol});
  return buckets_[hash & (buckets_.size() - 1)];
}

std::uint32_t FlowTracker::find(const Key& key) {
  std::uint32_t index = bucket_of(key);
  while (index != kNone && entries_[index].key != key) index = entries_[index].next_in_bucket;
  return index;
}

bool FlowTracker::is_over(const Entry& entry, std::uint64_t now) {
  return now > entry.last + timeout_of(entry.flow, static_cast<std::uint8_t>(entry.key.protocol));
}

void FlowTracker::add_to_list(std::uint32_t index, List list) {
  Entry& entry = entries_[index];
  entry.list = list;
  entry.newer = kNone;
  entry.older = newest_[list];
  (newest_[list] == kNone ? oldest_[list] : entries_[newest_[list]].newer) = index;
  newest_[list] = index;
}

void FlowTracker::take_from_list(std::uint32_t index) {
  const Entry& entry = entries_[index];
  (entry.newer == kNone ? newest_[entry.list] : entries_[entry.newer].older) = entry.older;
  (entry.older == kNone ? oldest_[entry.list] : entries_[entry.older].newer) = entry.newer;
}

void FlowTracker::remove(std::uint32_t index) {
  if (StreamSession* const session = entries_[index].flow.session; session != nullptr) session->keep_flow();
  take_from_list(index);
  std::uint32_t* link = &bucket_of(entries_[index].key);
  while (*link != index) link = &entries_[*link].next_in_bucket;
  *link = entries_[index].next_in_bucket;
  entries_[index].next_in_bucket = free_;
  free_ = index;
  --size_;
}

/// Takes an entry from the free ones, or from another flow. Returns kNone if no flow may make room.
std::uint32_t FlowTracker::take_entry(std::uint64_t now) {
  if (free_ == kNone) {
    const std::uint32_t established = oldest_[kEstablished], unanswered = oldest_[kNew];
    if (established != kNone && is_over(entries_[established], now)) {
      remove(established);
    } else if (unanswered != kNone) {
      if (!is_over(entries_[unanswered], now)) ++evicted_;
      remove(unanswered);
    } else {
      return kNone;
    }
  }
  return std::exchange(free_, entries_[free_].next_in_bucket);
}

FlowTracker::Found FlowTracker::track(const PacketView& packet, std::uint64_t now) {
  const PacketHeaders& headers = packet.headers();
  const bool is_v6 = packet.is_ipv6();
  auto first = std::tuple(packet.source().words(is_v6), headers.source_port);
  auto second = std::tuple(packet.destination().words(is_v6), headers.destination_port);
  const bool source_is_first = first <= second;
  if (!source_is_first) std::swap(first, second);
  const Key key{std::get<0>(first), std::get<0>(second), std::uint32_t{std::get<1>(first)} << 16 | std::get<1>(second),
                static_cast<std::uint16_t>(headers.protocol | (is_v6 ? 0x100 : 0))};
  const std::uint8_t flags = packet.is_tcp() ? headers.tcp_flags : std::uint8_t{0};
  std::uint32_t index = find(key);
  if (index != kNone) {
    const Entry& known = entries_[index];
    // A connection that begins again with the same ports is another flow. A dropped flow has no second chance.
    const bool begins =
        (flags & (kSyn | kAck)) == kSyn && known.flow.is_closed() && known.flow.fate != TrackedFlow::Fate::drop;
    if (begins || is_over(known, now)) {
      remove(index);
      index = kNone;
    }
  }
  if (index == kNone) {
    index = take_entry(now);
    if (index == kNone) return {};
    Entry& entry = entries_[index];
    entry.key = key;
    entry.flow = {};
    entry.flow.id = limits_.first_number + ++opened_;
    // The sender of a SYN and ACK is the server, whose client's packets are missing.
    entry.flow.client_is_first = source_is_first != ((flags & (kSyn | kAck)) == (kSyn | kAck));
    std::uint32_t& bucket = bucket_of(key);
    entry.next_in_bucket = std::exchange(bucket, index);
    add_to_list(index, kNew);
    ++size_;
  }
  Entry& entry = entries_[index];
  TrackedFlow& flow = entry.flow;
  entry.last = std::max(entry.last, now);
  ++flow.packets;
  const bool to_server = source_is_first == flow.client_is_first;
  (to_server ? flow.seen_to_server : flow.seen_to_client) = true;
  if (packet.is_tcp()) {
    follow_tcp(flow, flags, to_server);
  } else if (flow.seen_to_server && flow.seen_to_client) {
    flow.established = true;
  }
  take_from_list(index);
  const bool is_kept = flow.established || flow.fate == TrackedFlow::Fate::drop;
  add_to_list(index, is_kept ? kEstablished : kNew);
  return {&flow, to_server};
}

}  // namespace penumbra::ids
