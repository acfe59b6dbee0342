// SPDX-License-Identifier: Apache-2.0
#include "packet/fragment.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "packet/checksum.h"
#include "packet/fragment_chain.h"
#include "packet/mbuf_metadata.h"
#include "penumbra/bytes.h"

namespace penumbra {
namespace {

constexpr std::uint32_t kIpv4Header = 20, kIpv6Header = 40, kFragmentHeader = 8;
/// Flags of the packet that hold for its fragments: VLAN tags that the device removed or inserts, and dynamic flags
/// except those of the private area, which is not copied.
constexpr std::uint64_t kKeptFlags =
    RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ | RTE_MBUF_F_RX_QINQ_STRIPPED |
    RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_QINQ |
    (((RTE_MBUF_F_LAST_FREE << 1) - RTE_MBUF_F_FIRST_FREE) & ~(kHeadersFlag | kJourneyFlag));

/// The bytes of a fragment before its payload: link-layer header, IP header, fragment header of IPv6.
struct FragmentFront {
  std::array<std::uint8_t, PacketHeaders::kMostHeaderBytes + kFragmentHeader> bytes;
  std::uint32_t size = 0;

  std::uint8_t* at(std::uint32_t offset) { return bytes.data() + offset; }
  std::span<std::uint8_t> used() { return std::span(bytes).first(size); }
};

/// Makes the fragments of a packet. A derived class writes the headers.
class Fragmentation {
 public:
  Fragmentation(const rte_mbuf& packet, std::uint16_t network, std::uint16_t mtu)
      : packet_(packet), network_(network), mtu_(mtu) {}
  Fragmentation(const Fragmentation&) = delete;
  Fragmentation& operator=(const Fragmentation&) = delete;

  FragmentationResult run(rte_mempool& pool, std::span<rte_mbuf*> fragments) {
    FragmentationResult result{.fault = prepare()};
    if (result.fault == FragmentationFault::none && payload_size_ == 0) result.fault = FragmentationFault::small_mtu;
    if (result.fault != FragmentationFault::none) return result;
    ChainReader payload(packet_, network_ + header_size_);
    for (std::uint32_t offset = 0; offset < payload_size_ && result.fault == FragmentationFault::none;) {
      if (offset > 0) begin_second();
      const std::uint32_t header = front_.size - network_, room = mtu_ > header ? mtu_ - header : 0;
      const std::uint32_t left = payload_size_ - offset;
      const std::uint32_t size = left <= room ? left : room / 8 * 8;
      if (size == 0) {
        result.fault = FragmentationFault::small_mtu;
      } else if (result.count == fragments.size()) {
        result.fault = FragmentationFault::too_many;
      } else {
        write_header(offset, size, size < left);
        rte_mbuf* const fragment = make(payload, size, pool);
        if (fragment == nullptr) {
          result.fault = FragmentationFault::no_mbuf;
        } else {
          fragments[result.count++] = fragment;
        }
      }
      offset += size;
    }
    if (result.fault != FragmentationFault::none) {
      rte_pktmbuf_free_bulk(fragments.data(), result.count);
      result.count = 0;
    }
    return result;
  }

 protected:
  ~Fragmentation() = default;
  /// Checks the packet, and sets `front_` to the headers of the first fragment, `header_size_` and `payload_size_`.
  virtual FragmentationFault prepare() = 0;
  /// Sets `front_` to the headers of the fragments after the first one.
  virtual void begin_second() {}
  /// Sets the fields that differ between fragments. The fragment has `size` bytes of the payload from `offset` on.
  virtual void write_header(std::uint32_t offset, std::uint32_t size, bool more) = 0;

  std::uint8_t* ip(std::uint32_t offset = 0) { return front_.at(network_ + offset); }

  const rte_mbuf& packet_;
  const std::uint32_t network_, mtu_;
  FragmentFront front_;
  std::uint32_t header_size_ = 0;  ///< Bytes of the packet from its IP header to the payload of fragments.
  std::uint32_t payload_size_ = 0;

 private:
  rte_mbuf* make(ChainReader& payload, std::uint32_t size, rte_mempool& pool) {
    rte_mbuf* const head = rte_pktmbuf_alloc(&pool);
    rte_mbuf* last = head;
    const auto append = [&](std::span<const std::uint8_t> bytes) {
      while (!bytes.empty() && last != nullptr) {
        if (rte_pktmbuf_tailroom(last) == 0) {
          last->next = rte_pktmbuf_alloc(&pool);
          last = last->next;
          if (last != nullptr) ++head->nb_segs;
          continue;
        }
        const std::size_t part = std::min<std::size_t>(bytes.size(), rte_pktmbuf_tailroom(last));
        std::memcpy(rte_pktmbuf_mtod_offset(last, std::uint8_t*, last->data_len), bytes.data(), part);
        last->data_len = static_cast<std::uint16_t>(last->data_len + part);
        bytes = bytes.subspan(part);
      }
    };
    append(front_.used());
    for (std::uint32_t left = size; left > 0 && last != nullptr;) {
      const std::span<const std::uint8_t> part = payload.next(left);
      append(part);
      left -= static_cast<std::uint32_t>(part.size());
    }
    if (last == nullptr) {
      rte_pktmbuf_free(head);
      return nullptr;
    }
    head->pkt_len = front_.size + size;
    head->port = packet_.port;
    head->ol_flags = packet_.ol_flags & kKeptFlags;
    head->vlan_tci = packet_.vlan_tci;
    head->vlan_tci_outer = packet_.vlan_tci_outer;
    rte_mbuf_dynfield_copy(head, &packet_);
    return head;
  }
};

/// RFC 791, section 3.2.
class Ipv4Fragmentation final : public Fragmentation {
 public:
  using Fragmentation::Fragmentation;

 private:
  static constexpr std::uint16_t kMoreFragments = 0x2000, kOffset = 0x1FFF;

  FragmentationFault prepare() override {
    front_.size = network_ + kIpv4Header;
    if (!read_chain(packet_, 0, front_.used())) return FragmentationFault::bad_header;
    header_size_ = (*ip() & 0xFU) * 4;
    const std::uint32_t size = load_be16(ip(2));
    if (*ip() >> 4 != 4 || header_size_ < kIpv4Header || size < header_size_ || network_ + size > packet_.pkt_len) {
      return FragmentationFault::bad_header;
    }
    if (size <= mtu_) return FragmentationFault::fits;
    front_.size = network_ + header_size_;
    read_chain(packet_, 0, front_.used());
    payload_size_ = size - header_size_;
    fragment_field_ = load_be16(ip(6));
    const std::uint32_t end = (fragment_field_ & kOffset) * 8U + payload_size_;
    if (end > 65535 || ((fragment_field_ & kMoreFragments) != 0 && payload_size_ % 8 != 0)) {
      return FragmentationFault::bad_header;
    }
    return find_copied_options() ? FragmentationFault::none : FragmentationFault::bad_options;
  }

  /// Finds the options that all fragments have: those with the copied flag (RFC 791, section 3.1).
  bool find_copied_options() {
    constexpr std::uint8_t kEnd = 0, kNoOperation = 1, kCopied = 0x80;
    for (std::uint32_t at = kIpv4Header; at < header_size_ && *ip(at) != kEnd;) {
      const std::uint8_t kind = *ip(at);
      const std::uint32_t length = kind == kNoOperation ? 1 : at + 1 < header_size_ ? *ip(at + 1) : 0;
      if (length == 0 || (length == 1 && kind != kNoOperation) || at + length > header_size_) return false;
      if ((kind & kCopied) != 0) {
        std::memcpy(copied_.data() + copied_size_, ip(at), length);
        copied_size_ += length;
      }
      at += length;
    }
    copied_size_ = (copied_size_ + 3) / 4 * 4;  // The bytes after the options are 0, which ends the list.
    return true;
  }

  void begin_second() override {
    std::memcpy(ip(kIpv4Header), copied_.data(), copied_size_);
    front_.size = network_ + kIpv4Header + copied_size_;
    *ip() = static_cast<std::uint8_t>(0x40 | (kIpv4Header + copied_size_) / 4);
  }

  void write_header(std::uint32_t offset, std::uint32_t size, bool more) override {
    store_be16(ip(2), static_cast<std::uint16_t>(front_.size - network_ + size));
    store_be16(ip(6), static_cast<std::uint16_t>((fragment_field_ + offset / 8) | (more ? kMoreFragments : 0U)));
    write_ipv4_checksum(ip());
  }

  std::uint32_t fragment_field_ = 0;
  std::array<std::uint8_t, 40> copied_{};
  std::uint32_t copied_size_ = 0;
};

/// RFC 8200, section 4.5.
class Ipv6Fragmentation final : public Fragmentation {
 public:
  Ipv6Fragmentation(const rte_mbuf& packet, const PacketHeaders& headers, std::uint16_t mtu,
                    std::uint32_t identification)
      : Fragmentation(packet, headers.network, mtu), headers_(headers), identification_(identification) {}

 private:
  FragmentationFault prepare() override {
    if (headers_.is_unparsable()) return FragmentationFault::bad_header;
    front_.size = std::max(headers_.transport, headers_.payload);
    if (front_.size > PacketHeaders::kMostHeaderBytes || !read_chain(packet_, 0, front_.used())) {
      return FragmentationFault::bad_header;
    }
    const std::uint32_t size = kIpv6Header + load_be16(ip(4));
    if (network_ + size > packet_.pkt_len || front_.size - network_ > size) return FragmentationFault::bad_header;
    if (size <= mtu_) return FragmentationFault::fits;
    if ((headers_.extensions & ipv6_extension::kFragmentBit) != 0) return FragmentationFault::fragment;
    std::uint8_t* const last_next_header = find_payload();
    // All headers must be in the first fragment.
    const std::uint32_t room = mtu_ < header_size_ + kFragmentHeader ? 0 : mtu_ - header_size_ - kFragmentHeader;
    if (front_.size - network_ - header_size_ > room / 8 * 8) return FragmentationFault::small_mtu;
    payload_size_ = size - header_size_;
    front_.size = network_ + header_size_ + kFragmentHeader;
    std::uint8_t* const header = ip(header_size_);
    header[0] = *last_next_header;
    header[1] = 0;
    store_be32(header + 4, identification_);
    *last_next_header = ip_protocol::kFragment;
    return FragmentationFault::none;
  }

  /// Sets `header_size_` to the size of the part that every fragment has: the headers up to the Routing header, or the
  /// Hop-by-Hop header. Returns the byte that announces the header after that part.
  std::uint8_t* find_payload() {
    header_size_ = kIpv6Header;
    std::uint8_t* announced_by = ip(6);
    std::uint8_t* result = announced_by;
    std::uint32_t at = kIpv6Header;
    for (std::uint8_t kind = *announced_by;
         kind == ip_protocol::kHopByHop || kind == ip_protocol::kRouting || kind == ip_protocol::kDestination;
         kind = *announced_by) {
      announced_by = ip(at);
      at += (*ip(at + 1) + 1U) * 8;
      if (kind != ip_protocol::kDestination) {
        header_size_ = at;
        result = announced_by;
      }
    }
    return result;
  }

  void write_header(std::uint32_t offset, std::uint32_t size, bool more) override {
    store_be16(ip(4), static_cast<std::uint16_t>(header_size_ - kIpv6Header + kFragmentHeader + size));
    store_be16(ip(header_size_ + 2), static_cast<std::uint16_t>(offset | (more ? 1U : 0U)));
  }

  const PacketHeaders& headers_;
  const std::uint32_t identification_;
};

}  // namespace

std::string_view to_string(FragmentationFault fault) {
  constexpr std::array<std::string_view, kFragmentationFaults> kNames{
      "none", "no_ip", "fits", "bad_header", "bad_options", "fragment", "small_mtu", "too_many", "no_mbuf"};
  return kNames[static_cast<std::size_t>(fault)];
}

FragmentationResult fragment_packet(const rte_mbuf& packet, const PacketHeaders& headers, std::uint16_t mtu,
                                    std::uint32_t identification, rte_mempool& pool, std::span<rte_mbuf*> fragments) {
  if (headers.has(PacketHeaders::kIpv4)) return Ipv4Fragmentation(packet, headers.network, mtu).run(pool, fragments);
  if (headers.has(PacketHeaders::kIpv6)) {
    return Ipv6Fragmentation(packet, headers, mtu, identification).run(pool, fragments);
  }
  return {.fault = FragmentationFault::no_ip};
}

}  // namespace penumbra
