// SPDX-License-Identifier: Apache-2.0
#include "packet/reassembly_table.h"

#include <algorithm>
#include <bit>

namespace penumbra {

DatagramParts::DatagramParts(std::uint32_t size) : parts_(std::make_unique<DatagramPart[]>(size)), unused_(size) {
  for (TableIndex i = size; i-- > 0;) {
    parts_[i].next = free_;
    free_ = i;
  }
}

TableIndex DatagramParts::take() {
  const TableIndex index = free_;
  free_ = parts_[index].next;
  parts_[index] = {};
  --unused_;
  return index;
}

void DatagramParts::hold(TableIndex index, rte_mbuf& packet, bool is_copy) {
  DatagramPart& part = parts_[index];
  part.packet = &packet;
  part.memory = memory_of(packet);
  part.is_copy = is_copy;
  memory_ += part.memory;
  if (!is_copy) ++fragments_;
}

rte_mbuf* DatagramParts::withdraw(TableIndex index) {
  DatagramPart& part = parts_[index];
  rte_mbuf* const packet = part.packet;
  memory_ -= part.memory;
  if (packet != nullptr && !part.is_copy) --fragments_;
  part.next = free_;
  free_ = index;
  ++unused_;
  return packet;
}

void DatagramParts::release(TableIndex index, ReassemblyReason reason, HandBack hand_back) {
  const bool is_copy = parts_[index].is_copy;
  rte_mbuf* const packet = withdraw(index);
  if (is_copy) {
    rte_pktmbuf_free(packet);
  } else if (packet != nullptr) {
    hand_back(packet, reason);
  }
}

std::uint32_t memory_of(const rte_mbuf& packet) {
  std::uint32_t bytes = 0;
  for (const rte_mbuf* segment = &packet; segment != nullptr; segment = segment->next) {
    bytes += static_cast<std::uint32_t>(sizeof(rte_mbuf)) + segment->buf_len;
  }
  return bytes;
}

DatagramTable::DatagramTable(std::uint32_t most, const SipHashKey& key)
    : key_(key),
      bucket_mask_(buckets_for(most) - 1),
      buckets_(std::make_unique<TableIndex[]>(buckets_for(most))),
      datagrams_(std::make_unique<Datagram[]>(most)) {
  std::fill_n(buckets_.get(), bucket_mask_ + 1, kNoIndex);
  for (TableIndex i = most; i-- > 0;) {
    datagrams_[i].next_in_bucket = free_;
    free_ = i;
  }
}

std::size_t DatagramTable::buckets_for(std::uint32_t most) {
  return std::bit_ceil(std::size_t{most});
}

std::size_t DatagramTable::bytes(std::uint32_t most) {
  return most * sizeof(Datagram) + buckets_for(most) * sizeof(TableIndex);
}

TableIndex& DatagramTable::bucket_of(const DatagramKey& key) {
  return buckets_[siphash<1, 3>(key_, key) & bucket_mask_];
}

Datagram* DatagramTable::find(const DatagramKey& key) {
  for (TableIndex i = bucket_of(key); i != kNoIndex; i = datagrams_[i].next_in_bucket) {
    if (datagrams_[i].key == key) return &datagrams_[i];
  }
  return nullptr;
}

Datagram* DatagramTable::in_the_way(const DatagramKey& key) {
  // The last datagram of a bucket is its oldest.
  TableIndex last = kNoIndex;
  unsigned count = 0;
  for (TableIndex i = bucket_of(key); i != kNoIndex; i = datagrams_[i].next_in_bucket, ++count) last = i;
  if (count >= kMostInBucket) return at(last);
  if (free_ != kNoIndex) return nullptr;
  Datagram* const live = oldest_live();
  Datagram* const dropped = oldest_dropped();
  if (live == nullptr || dropped == nullptr) return live == nullptr ? dropped : live;
  return static_cast<std::int64_t>(live->began - dropped->began) < 0 ? live : dropped;
}

Datagram& DatagramTable::create(const DatagramKey& key, std::uint64_t now) {
  Datagram& datagram = datagrams_[free_];
  const TableIndex index = free_;
  free_ = datagram.next_in_bucket;
  datagram = {.key = key, .began = now};
  TableIndex& bucket = bucket_of(key);
  datagram.next_in_bucket = bucket;
  bucket = index;
  append(datagram);
  ++size_;
  return datagram;
}

void DatagramTable::drop(Datagram& datagram, ReassemblyReason reason, std::uint64_t now) {
  unlink(datagram);
  datagram.dropped = reason;
  datagram.began = now;
  append(datagram);
}

void DatagramTable::erase(Datagram& datagram) {
  unlink(datagram);
  const TableIndex index = index_of(datagram);
  TableIndex* link = &bucket_of(datagram.key);
  while (*link != index) link = &datagrams_[*link].next_in_bucket;
  *link = datagram.next_in_bucket;
  datagram.next_in_bucket = free_;
  free_ = index;
  --size_;
}

void DatagramTable::append(Datagram& datagram) {
  Ages& ages = ages_of(datagram);
  const TableIndex index = index_of(datagram);
  datagram.older = ages.newest;
  datagram.newer = kNoIndex;
  (ages.newest == kNoIndex ? ages.oldest : datagrams_[ages.newest].newer) = index;
  ages.newest = index;
}

void DatagramTable::unlink(const Datagram& datagram) {
  Ages& ages = ages_of(datagram);
  (datagram.older == kNoIndex ? ages.oldest : datagrams_[datagram.older].newer) = datagram.newer;
  (datagram.newer == kNoIndex ? ages.newest : datagrams_[datagram.newer].older) = datagram.older;
}

}  // namespace penumbra
