// SPDX-License-Identifier: Apache-2.0
#include "cli/ids_reassembly.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "io/eal.h"
#include "io/packet_pool.h"
#include "packet/mbuf.h"

namespace penumbra::cli {
namespace {

constexpr io::PoolSize kPool{.packets = 16383, .data_room = RTE_MBUF_DEFAULT_BUF_SIZE};

OverlapPolicy overlap_policy_of(ids::StreamPolicy policy) {
  switch (policy) {
    case ids::StreamPolicy::first:
      return OverlapPolicy::first;
    case ids::StreamPolicy::last:
      return OverlapPolicy::last;
    case ids::StreamPolicy::bsd:
      return OverlapPolicy::bsd;
    case ids::StreamPolicy::linux_2_4:
    case ids::StreamPolicy::linux_old:
      return OverlapPolicy::linux_old;
    case ids::StreamPolicy::windows:
      return OverlapPolicy::windows;
    case ids::StreamPolicy::solaris:
      return OverlapPolicy::solaris;
  }
  return OverlapPolicy::bsd;
}

/// Returns a copy of the frame, in as many buffers as it needs, or null if the pool has no more.
rte_mbuf* copy_of(std::span<const std::uint8_t> frame, rte_mempool& pool) {
  rte_mbuf* const head = rte_pktmbuf_alloc(&pool);
  rte_mbuf* last = head;
  for (std::size_t at = 0; at < frame.size() && last != nullptr;) {
    const auto bytes = static_cast<std::uint16_t>(std::min<std::size_t>(frame.size() - at, rte_pktmbuf_tailroom(last)));
    if (bytes == 0) {
      last = last->next = rte_pktmbuf_alloc(&pool);
      ++head->nb_segs;
      continue;
    }
    std::memcpy(rte_pktmbuf_mtod_offset(last, std::uint8_t*, last->data_len), frame.data() + at, bytes);
    last->data_len = static_cast<std::uint16_t>(last->data_len + bytes);
    head->pkt_len += bytes;
    at += bytes;
  }
  if (last != nullptr) return head;
  if (head != nullptr) {
    --head->nb_segs;
    rte_pktmbuf_free(head);
  }
  return nullptr;
}

}  // namespace

struct CaptureReassembly::Memory {
  Memory(const ReassemblyLimits& limits, std::uint64_t& unused)
      : pool((io::start_eal({}, 1), io::create_small_pool(kPool))), drop{unused}, reassembly(limits, {}, *pool) {}
  ~Memory() { reassembly.flush(hand_back); }

  struct Drop {
    std::uint64_t& unused;
    void operator()(rte_mbuf* fragment, ReassemblyReason) const {
      ++unused;
      rte_pktmbuf_free(fragment);
    }
  };
  io::PacketPool pool;
  Drop drop;
  HandBack hand_back{drop};
  Reassembly reassembly;
};

CaptureReassembly::CaptureReassembly(const ReassemblyLimits& limits, const ids::StreamPolicies& policies)
    : policies_(policies), memory_(std::make_unique<Memory>(limits, unused_)) {}

CaptureReassembly::~CaptureReassembly() = default;

OverlapPolicy CaptureReassembly::policy_of(const PacketHeaders& headers, std::span<const std::uint8_t> frame) const {
  constexpr std::size_t kDestinationAt = 16;
  OverlapPolicy policy = OverlapPolicy::bsd;
  if (!headers.has(PacketHeaders::kIpv4)) return policy;
  const Ipv4Address destination{load_be32(frame.data() + headers.network + kDestinationAt)};
  for (const auto& [addresses, wanted] : policies_) {
    if (addresses->contains(destination)) policy = overlap_policy_of(wanted);
  }
  return policy;
}

CaptureReassembly::Added CaptureReassembly::add(const PacketHeaders& headers, std::span<const std::uint8_t> frame,
                                                std::uint64_t now) {
  constexpr std::uint64_t kNanoseconds = 1000;
  const bool has_right_sum =
      !headers.has(PacketHeaders::kIpv4) || headers.transport <= headers.network ||
      is_right_sum(ones_sum(frame.data() + headers.network, std::size_t{headers.transport} - headers.network));
  rte_mbuf* const fragment = has_right_sum ? copy_of(frame, *memory_->pool) : nullptr;
  if (fragment == nullptr) {
    ++unused_;
    return {.datagram = {}, .lacks_memory = has_right_sum};
  }
  memory_->reassembly.expire(now * kNanoseconds, memory_->hand_back);
  const ReassemblyResult result = memory_->reassembly.add(*fragment, parse_headers(*fragment), now * kNanoseconds,
                                                          policy_of(headers, frame), memory_->hand_back);
  if (result.kind == ReassemblyResult::Kind::refused) {
    ++unused_;
    rte_pktmbuf_free(fragment);
  }
  if (result.kind != ReassemblyResult::Kind::completed) {
    return {.datagram = {}, .lacks_memory = result.reason == ReassemblyReason::no_memory};
  }
  ++datagrams_;
  std::vector<std::uint8_t> datagram(result.packet->pkt_len);
  std::uint8_t* to = datagram.data();
  for (const rte_mbuf* part = result.packet; part != nullptr; part = part->next) {
    to = std::copy_n(rte_pktmbuf_mtod(part, const std::uint8_t*), part->data_len, to);
  }
  rte_pktmbuf_free(result.packet);
  return {.datagram = std::move(datagram)};
}

void CaptureReassembly::flush() {
  memory_->reassembly.flush(memory_->hand_back);
}

}  // namespace penumbra::cli
