// SPDX-License-Identifier: Apache-2.0
//
// Builds fragments in mbufs for tests of fragmentation and reassembly.
#pragma once

#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "io/eal.h"
#include "io/packet_pool.h"
#include "packet/fragment_chain.h"
#include "packet/mbuf.h"
#include "packet/mbuf_metadata.h"
#include "packet/reassembly.h"
#include "packet/testing.h"

namespace penumbra::packet_testing {

/// A pool of mbufs that counts those in use.
class TestPool {
 public:
  explicit TestPool(std::uint32_t mbufs = 2048, std::uint16_t room = 2048) {
    io::start_eal({}, 1);
    pool_ = io::create_small_pool({mbufs, room});
  }

  rte_mempool& operator*() const { return *pool_; }
  unsigned in_use() const { return rte_mempool_in_use_count(pool_.get()); }
  /// Returns a packet with the bytes, in segments of at most `most` bytes.
  rte_mbuf& packet(const Bytes& bytes, std::size_t most = SIZE_MAX) const {
    rte_mbuf* const head = rte_pktmbuf_alloc(pool_.get());
    rte_mbuf* last = head;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = std::min({most, bytes.size() - at, std::size_t{rte_pktmbuf_tailroom(last)}});
      if (at > 0) {
        last->next = rte_pktmbuf_alloc(pool_.get());
        last = last->next;
        ++head->nb_segs;
      }
      std::memcpy(rte_pktmbuf_mtod(last, void*), bytes.data() + at, size);
      last->data_len = static_cast<std::uint16_t>(size);
      head->pkt_len += static_cast<std::uint32_t>(size);
      at += size;
    }
    return *head;
  }

 private:
  io::PacketPool pool_;
};

inline Bytes bytes_of(const rte_mbuf& packet) {
  Bytes bytes(packet.pkt_len);
  EXPECT_TRUE(read_chain(packet, 0, bytes));
  EXPECT_EQ(rte_mbuf_check(&packet, 1, nullptr), 0);
  return bytes;
}

/// Returns `size` bytes that tell their offset and `seed`.
inline Bytes pattern(std::size_t size, unsigned seed = 0) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::uint8_t>(i / 8 + i % 8 * 32 + std::size_t{seed} * 37);
  return bytes;
}

inline Bytes slice(const Bytes& bytes, std::size_t begin, std::size_t end) {
  return {bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.begin() + static_cast<std::ptrdiff_t>(end)};
}

inline constexpr std::size_t kMore = 0x2000, kDontFragment = 0x4000;

/// Returns a frame with a fragment of IPv4 whose payload begins at byte `offset` of its datagram.
inline Bytes ipv4_fragment(const Bytes& payload, std::size_t offset, std::size_t flags, std::size_t identification = 1,
                           std::uint8_t protocol = 17) {
  Bytes frame = ethernet(0x0800, ipv4(protocol, payload, flags | offset / 8));
  put_word(frame, 14 + 4, identification);
  return frame;
}

/// Returns a frame with a fragment of IPv6.
inline Bytes ipv6_fragment(const Bytes& payload, std::size_t offset, bool more, std::size_t identification = 9,
                           std::uint8_t next_header = 59) {
  Bytes frame = ethernet(0x86DD, ipv6(44, fragment_header(next_header, offset, more) + payload));
  put_word(frame, 14 + 40 + 6, identification);
  return frame;
}

/// Adds frames to a Reassembly, and checks that every fragment is in one place only.
class ReassemblyTester {
 public:
  struct HandedBack {
    Bytes frame;
    ReassemblyReason reason = ReassemblyReason::none;
    bool operator==(const HandedBack&) const = default;
  };
  /// The result of a frame: that of add(), with the bytes of a completed datagram.
  struct Result {
    ReassemblyResult result;
    Bytes packet;
    bool is_held() const { return result.kind == ReassemblyResult::Kind::held; }
    bool is_completed() const { return result.kind == ReassemblyResult::Kind::completed; }
    ReassemblyReason reason() const { return result.reason; }
  };

  explicit ReassemblyTester(const ReassemblyLimits& limits = {}, std::uint32_t mbufs = 2048, std::uint16_t room = 2048)
      : pool_(mbufs, room), reassembly_(limits, {1, 2}, *pool_) {}
  ~ReassemblyTester() {
    reassembly_.flush(hand_back());
    check();
    EXPECT_EQ(reassembly_.held(), 0U);
    EXPECT_EQ(reassembly_.datagrams(), 0U);
    EXPECT_EQ(pool_.in_use(), 0U);
  }
  ReassemblyTester(const ReassemblyTester&) = delete;
  ReassemblyTester& operator=(const ReassemblyTester&) = delete;

  Result add(const Bytes& frame, std::size_t segment = SIZE_MAX) { return add(pool_.packet(frame, segment)); }
  Result add(rte_mbuf& packet) {
    const Bytes frame = bytes_of(packet);
    Result added{reassembly_.add(packet, parse_headers(packet), now, policy, hand_back()), {}};
    ++added_;
    if (added.result.kind == ReassemblyResult::Kind::refused) {
      ++refused_;
      EXPECT_EQ(bytes_of(packet), frame);
      rte_pktmbuf_free(&packet);
    } else if (added.is_completed()) {
      absorbed_ += added.result.fragments;
      added.packet = bytes_of(*added.result.packet);
      rte_pktmbuf_free(added.result.packet);
    }
    check();
    return added;
  }
  void expire() {
    reassembly_.expire(now, hand_back());
    check();
  }
  void flush() {
    reassembly_.flush(hand_back());
    check();
  }

  Reassembly& operator*() { return reassembly_; }
  Reassembly* operator->() { return &reassembly_; }
  TestPool& pool() { return pool_; }
  /// Returns the fragments handed back since the last call.
  std::vector<HandedBack> take_handed_back() { return std::exchange(handed_back_, {}); }
  /// Returns the reasons of the fragments handed back since the last call.
  std::vector<ReassemblyReason> take_reasons() {
    std::vector<ReassemblyReason> reasons;
    for (const HandedBack& fragment : take_handed_back()) reasons.push_back(fragment.reason);
    return reasons;
  }

  std::uint64_t now = 0;
  OverlapPolicy policy = OverlapPolicy::first;

 private:
  struct Receiver {
    ReassemblyTester& tester;
    void operator()(rte_mbuf* packet, ReassemblyReason reason) const {
      tester.handed_back_.push_back({bytes_of(*packet), reason});
      ++tester.handed_back_count_;
      rte_pktmbuf_free(packet);
    }
  };
  const Receiver& hand_back() const { return receiver_; }
  void check() const {
    EXPECT_EQ(added_, refused_ + handed_back_count_ + absorbed_ + reassembly_.held());
    EXPECT_TRUE(reassembly_.held() > 0 || pool_.in_use() == 0);
  }

  TestPool pool_;
  Reassembly reassembly_;
  Receiver receiver_{*this};
  std::vector<HandedBack> handed_back_;
  std::size_t added_ = 0, refused_ = 0, handed_back_count_ = 0, absorbed_ = 0;
};

}  // namespace penumbra::packet_testing
