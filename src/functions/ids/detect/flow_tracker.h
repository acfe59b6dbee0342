// SPDX-License-Identifier: Apache-2.0
//
// The flows of one worker: who began, and whether both sides have answered. No stream is reassembled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "functions/ids/detect/packet_view.h"
#include "functions/ids/state/bit_store.h"
#include "packet/fragment_siphash.h"

namespace penumbra::ids {

struct StreamSession;

struct TrackedFlow {
  enum class Fate : std::uint8_t {
    inspect,
    pass,    ///< A pass rule about addresses or a stream has matched: no rule is evaluated.
    bypass,  ///< An exception policy lets the flow pass unseen.
    drop,
  };
  std::uint64_t id = 0;
  std::uint64_t packets = 0;
  bool client_is_first = true;  ///< The client is the end that the key has first.
  bool seen_to_server = false, seen_to_client = false;
  bool syn = false, syn_ack = false, established = false;
  bool fin_to_server = false, fin_to_client = false, reset = false;
  bool ip_only_to_server = false, ip_only_to_client = false;  ///< Rules about addresses alone have seen the direction.
  Fate fate = Fate::inspect;
  FlowBits bits;
  StreamSession* session = nullptr;  ///< Refers to the flow, and keeps a copy when the table removes the flow.

  bool is_closed() const { return reset || (fin_to_server && fin_to_client); }
};

/// Returns how many microseconds a flow may be idle. The times are those of Suricata's default configuration.
std::uint64_t timeout_of(const TrackedFlow& flow, std::uint8_t protocol);

struct FlowLimits {
  std::size_t flows = std::size_t{1} << 16;
  SipHashKey key = {};             ///< Makes the places of flows unpredictable.
  std::uint64_t first_number = 0;  ///< The first flow has the next number.
};

/// A table of fixed size. A flow that was idle for too long is a new flow when its next packet comes.
class FlowTracker {
 public:
  explicit FlowTracker(const FlowLimits& limits = {});

  struct Found {
    TrackedFlow* flow = nullptr;  ///< Null: the table is full. Valid until the next call of track().
    bool to_server = true;
  };
  /// Finds or makes the flow of a packet and updates its state at `now`, in microseconds. If the table is full, the
  /// flow that was idle the longest makes room, unless both of its sides have sent and its time is not over.
  /// Precondition: the packet is readable.
  Found track(const PacketView& packet, std::uint64_t now);
  void clear();

  std::size_t size() const { return size_; }
  std::uint64_t opened() const { return opened_; }
  /// Returns how many flows made room before their time was over.
  std::uint64_t evicted() const { return evicted_; }

 private:
  static constexpr std::uint32_t kNone = ~0U;
  enum List : std::uint8_t { kNew, kEstablished, kLists };

  struct Key {
    std::array<std::uint64_t, 2> low_address{}, high_address{};
    std::uint32_t ports = 0;
    std::uint16_t protocol = 0;  ///< Of the transport, and whether the network is IPv6.
    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key;
    std::uint64_t last = 0;                      ///< The time of the last packet.
    std::uint32_t next_in_bucket = kNone;        ///< Also links the free entries.
    std::uint32_t newer = kNone, older = kNone;  ///< Neighbours in the list.
    List list = kNew;
    TrackedFlow flow;
  };

  std::uint32_t& bucket_of(const Key& key);
  std::uint32_t find(const Key& key);
  std::uint32_t take_entry(std::uint64_t now);
  void add_to_list(std::uint32_t index, List list);
  void take_from_list(std::uint32_t index);
  void remove(std::uint32_t index);
  static bool is_over(const Entry& entry, std::uint64_t now);

  FlowLimits limits_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> buckets_;
  std::array<std::uint32_t, kLists> newest_{}, oldest_{};
  std::uint32_t free_ = kNone;
  std::size_t size_ = 0;
  std::uint64_t opened_ = 0, evicted_ = 0;
};

}  // namespace penumbra::ids
