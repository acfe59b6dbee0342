// SPDX-License-Identifier: Apache-2.0
#include "packet/fragment_chain.h"

#include <algorithm>
#include <cstring>

namespace penumbra {

ChainReader::ChainReader(const rte_mbuf& packet, std::uint32_t at) : segment_(&packet), at_(at) {
  while (segment_ != nullptr && at_ >= segment_->data_len) {
    at_ -= segment_->data_len;
    segment_ = segment_->next;
  }
}

std::span<const std::uint8_t> ChainReader::next(std::uint32_t most) {
  if (segment_ == nullptr) return {};
  const auto* const from = rte_pktmbuf_mtod_offset(segment_, const std::uint8_t*, at_);
  const std::uint32_t size = std::min(most, segment_->data_len - at_);
  at_ += size;
  while (segment_ != nullptr && at_ >= segment_->data_len) {
    at_ -= segment_->data_len;
    segment_ = segment_->next;
  }
  return {from, size};
}

bool ChainReader::read(std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const std::span<const std::uint8_t> part = next(static_cast<std::uint32_t>(bytes.size()));
    if (part.empty()) return false;
    std::memcpy(bytes.data(), part.data(), part.size());
    bytes = bytes.subspan(part.size());
  }
  return true;
}

bool read_chain(const rte_mbuf& packet, std::uint32_t at, std::span<std::uint8_t> bytes) {
  return ChainReader(packet, at).read(bytes);
}

void write_chain(rte_mbuf& packet, std::uint32_t at, std::span<const std::uint8_t> bytes) {
  for (rte_mbuf* segment = &packet; !bytes.empty() && segment != nullptr; segment = segment->next) {
    if (at >= segment->data_len) {
      at -= segment->data_len;
      continue;
    }
    const std::size_t size = std::min<std::size_t>(bytes.size(), segment->data_len - at);
    std::memcpy(rte_pktmbuf_mtod_offset(segment, std::uint8_t*, at), bytes.data(), size);
    bytes = bytes.subspan(size);
    at = 0;
  }
}

bool equal_in_chains(const rte_mbuf& left, std::uint32_t left_at, const rte_mbuf& right, std::uint32_t right_at,
                     std::uint32_t size) {
  ChainReader in_left(left, left_at);
  std::span<const std::uint8_t> rest;
  for (ChainReader in_right(right, right_at); size > 0;) {
    if (rest.empty()) rest = in_left.next(size);
    const auto part = in_right.next(static_cast<std::uint32_t>(rest.size()));
    if (part.empty() || std::memcmp(rest.data(), part.data(), part.size()) != 0) return false;
    rest = rest.subspan(part.size());
    size -= static_cast<std::uint32_t>(part.size());
  }
  return true;
}

rte_mbuf* cut_chain(rte_mbuf* packet, std::uint32_t at, std::uint32_t size) {
  while (at > 0 && at >= packet->data_len) {
    at -= packet->data_len;
    rte_mbuf* const next = packet->next;
    rte_pktmbuf_free_seg(packet);
    packet = next;
  }
  packet->data_off = static_cast<std::uint16_t>(packet->data_off + at);
  packet->data_len = static_cast<std::uint16_t>(packet->data_len - at);
  packet->pkt_len = size;
  packet->nb_segs = 1;
  rte_mbuf* last = packet;
  while (size > last->data_len) {
    size -= last->data_len;
    last = last->next;
    ++packet->nb_segs;
  }
  last->data_len = static_cast<std::uint16_t>(size);
  rte_pktmbuf_free(last->next);
  last->next = nullptr;
  return packet;
}

}  // namespace penumbra
