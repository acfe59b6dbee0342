// SPDX-License-Identifier: Apache-2.0
//
// Measures fragmentation and reassembly of IPv4 on one core, with DPDK's rte_ip_frag for comparison.
#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "packet/fragment.h"
#include "packet/mbuf.h"
#include "packet/reassembly.h"
#include "penumbra/bytes.h"
#include "pin.h"
#include "rivals/huge_heap.h"
#include "rivals/rte_ip_frag.h"

namespace penumbra::bench {
namespace {

constexpr std::uint32_t kDatagrams = 4096;  // In a batch.
constexpr std::uint32_t kLink = 14, kIp = 20, kFragmentPayload = 1480;
constexpr std::uint32_t kMostFragments = 6;
constexpr unsigned kFragmentBatches = 8;
constexpr char kOurWay[] = "penumbra";

using Pool = std::unique_ptr<rte_mempool, decltype(&rte_mempool_free)>;

Pool make_pool(HugeHeap& heap, std::uint32_t mbufs, std::uint16_t room) {
  Pool pool(rte_pktmbuf_pool_create(fmt::format("fragments{}", room).c_str(), mbufs, std::min(256U, mbufs / 2), 0, room,
                                    heap.socket()),
            &rte_mempool_free);
  if (pool == nullptr) throw std::runtime_error(fmt::format("no memory for packets: {}", rte_strerror(rte_errno)));
  return pool;
}

/// Returns a packet with headers of Ethernet and IPv4, and a payload that nobody wrote.
rte_mbuf& make_packet(rte_mempool& pool, std::uint32_t datagram, std::uint32_t offset, std::uint32_t payload,
                      bool more) {
  rte_mbuf* const packet = rte_pktmbuf_alloc(&pool);
  if (packet == nullptr) throw std::runtime_error("the pool of packets is empty");
  auto* const bytes =
      reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(packet, static_cast<std::uint16_t>(kLink + kIp + payload)));
  std::memset(bytes, 0, kLink + kIp);
  const auto put = [&](std::uint32_t at, std::uint32_t value) {
    store(bytes + at, __builtin_bswap16(static_cast<std::uint16_t>(value)));
  };
  put(12, 0x0800);
  put(kLink, 0x4500);
  put(kLink + 2, kIp + payload);
  put(kLink + 4, datagram);
  put(kLink + 6, offset / 8 | (more ? 0x2000U : 0U));
  put(kLink + 8, 0x4011);
  store(bytes + kLink + 12, __builtin_bswap32(0x0A000000U + datagram % 64));
  store(bytes + kLink + 16, __builtin_bswap32(0x0B000001U));
  return *packet;
}

/// Fragments of kDatagrams datagrams, each with `each` fragments.
class FragmentBatch {
 public:
  /// With `interleaved` all first fragments arrive before all second ones, and so on.
  FragmentBatch(rte_mempool& pool, std::uint32_t each, bool interleaved) : pool_(pool) {
    for (std::uint32_t i = 0; i < kDatagrams * each; ++i) {
      const std::uint32_t datagram = interleaved ? i % kDatagrams : i / each;
      order_.emplace_back(datagram, interleaved ? i / kDatagrams : i % each);
    }
    each_ = each;
    packets_.resize(order_.size());
    headers_.resize(order_.size());
    whole_.reserve(kDatagrams);
  }

  /// Returns nanoseconds per fragment of `add`, which returns a completed datagram or null.
  template <class Add>
  double pass(const Add& add, bool check) {
    double seconds = 0;
    for (unsigned batch = 0; batch < kFragmentBatches; ++batch) {
      fill();
      const double begin = thread_time();
      for (std::size_t i = 0; i < packets_.size(); ++i) {
        if (rte_mbuf* const whole = add(*packets_[i], headers_[i])) whole_.push_back(whole);
      }
      seconds += thread_time() - begin;
      if (check) check_whole();
      for (rte_mbuf* const whole : whole_) rte_pktmbuf_free(whole);
      whole_.clear();
    }
    return seconds * 1e9 / static_cast<double>(kFragmentBatches * packets_.size());
  }

 private:
  void fill() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto [datagram, number] = order_[i];
      packets_[i] = &make_packet(pool_, datagram, number * kFragmentPayload, kFragmentPayload, number + 1 < each_);
      headers_[i] = parse_headers(*packets_[i]);
      std::memset(rte_pktmbuf_mtod_offset(packets_[i], void*, kLink + kIp), static_cast<int>(number + 1), 1);
    }
  }
  void check_whole() const {
    if (whole_.size() != kDatagrams) throw WrongAnswer("not every datagram is complete");
    for (const rte_mbuf* const whole : whole_) {
      if (whole->pkt_len != kLink + kIp + each_ * kFragmentPayload) throw WrongAnswer("a datagram has another length");
      for (std::uint32_t number = 0; number < each_; ++number) {
        std::uint8_t byte = 0;
        const void* const at = rte_pktmbuf_read(whole, kLink + kIp + number * kFragmentPayload, 1, &byte);
        if (at == nullptr || *static_cast<const std::uint8_t*>(at) != number + 1) {
          throw WrongAnswer("a datagram's fragments are in another order");
        }
      }
    }
  }

  rte_mempool& pool_;
  std::uint32_t each_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order_;  ///< Datagram and number of each fragment.
  std::vector<rte_mbuf*> packets_;
  std::vector<PacketHeaders> headers_;
  std::vector<rte_mbuf*> whole_;
};

void compare_reassembly(HugeHeap& heap, rte_mempool& pool, const Options& options, Report& report) {
  for (const std::uint32_t each : {2U, kMostFragments}) {
    for (const bool interleaved : {false, true}) {
      FragmentBatch batch(pool, each, interleaved);
      Reassembly reassembly({.memory = std::size_t{256} << 20, .datagrams = 2 * kDatagrams}, random_siphash_key(),
                            pool);
      const RteIpFrag rival(heap, kDatagrams);
      const auto hand_back = [](rte_mbuf*, ReassemblyReason) { throw WrongAnswer("a fragment was handed back"); };
      const auto add = [&](rte_mbuf& packet, const PacketHeaders& headers) {
        return reassembly.add(packet, headers, 0, OverlapPolicy::linux_old, hand_back).packet;
      };
      const auto add_to_rival = [&](rte_mbuf& packet, const PacketHeaders&) { return rival.add(packet); };
      batch.pass(add, true);
      batch.pass(add_to_rival, true);
      const std::string title =
          fmt::format("reassembly of {} fragments, {} datagrams at a time", each, interleaved ? kDatagrams : 1U);
      report.checked(title + ": every datagram has its fragments in order");
      const std::vector<Series> series =
          interleave({{kOurWay, [&] { return batch.pass(add, false); }},
                      {"rte_ip_frag", [&] { return batch.pass(add_to_rival, false); }, Role::rival}},
                     options.rounds);
      report.compare(title, "ns/fragment", series, "rte_ip_frag");
    }
  }
}

void compare_fragmentation(rte_mempool& pool, const Options& options, Report& report) {
  constexpr std::uint32_t kPayload = kMostFragments * kFragmentPayload;
  constexpr std::uint16_t kMtu = kIp + kFragmentPayload;
  constexpr unsigned kTimes = 20000;
  rte_mbuf& packet = make_packet(pool, 1, 0, kPayload, false);
  rte_mbuf& without_link = make_packet(pool, 1, 0, kPayload, false);
  rte_pktmbuf_adj(&without_link, kLink);
  const PacketHeaders headers = parse_headers(packet);
  std::array<rte_mbuf*, kMostFragments> fragments{};
  const auto pass = [&](const auto& fragment) {
    const double begin = thread_time();
    for (unsigned i = 0; i < kTimes; ++i) {
      if (fragment() != kMostFragments) throw WrongAnswer("a packet has another number of fragments");
      rte_pktmbuf_free_bulk(fragments.data(), kMostFragments);
    }
    return (thread_time() - begin) * 1e9 / (double{kTimes} * kMostFragments);
  };
  const auto ours = [&] { return fragment_packet(packet, headers, kMtu, 0, pool, fragments).count; };
  const auto by_copy = [&] { return RteIpFrag::fragment_by_copy(without_link, kMtu, pool, fragments); };
  const auto by_reference = [&] { return RteIpFrag::fragment(without_link, kMtu, pool, fragments); };
  report.compare(fmt::format("fragmentation into {} fragments, with freeing them", kMostFragments), "ns/fragment",
                 interleave({{kOurWay, [&] { return pass(ours); }},
                             {"rte_ip_frag by copy", [&] { return pass(by_copy); }, Role::rival},
                             {"rte_ip_frag by reference", [&] { return pass(by_reference); }, Role::rival}},
                            options.rounds),
                 "rte_ip_frag by copy");
  rte_pktmbuf_free(&packet);
  rte_pktmbuf_free(&without_link);
}

void run_fragments(const Options& options, Report& report) {
  pin_to_first_core();
  HugeHeap heap("fragments", std::size_t{192} << 20);
  const Pool pool = make_pool(heap, kDatagrams * kMostFragments * 2, 2048);
  const Pool large_pool = make_pool(heap, 64, RTE_PKTMBUF_HEADROOM + 10240);
  report.input("fragments", fmt::format("IPv4, {} bytes of payload each, in order", kFragmentPayload));
  report.note("headers are parsed and packets made before the clock starts; rte_ip_frag has no VLANs and no policies");
  compare_reassembly(heap, *pool, options, report);
  compare_fragmentation(*large_pool, options, report);
}

[[maybe_unused]] const bool kFragmentsBenchmark =
    register_benchmark({.name = "fragments",
                        .measures = "reassembly and fragmentation of IPv4 on one core, compared with rte_ip_frag",
                        .needs = "",
                        .cost = {2, 3},
                        .run = &run_fragments});

}  // namespace
}  // namespace penumbra::bench
