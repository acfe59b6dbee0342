// SPDX-License-Identifier: Apache-2.0
//
// The bookkeeping of `penumbra verify`. First, every received packet is entered with its expectation. Then every sent
// packet is matched. The rest is missing.
//
// A sent packet is identified by its contents from the ethertype on. The contents determine its flow, so packets with
// equal contents are interchangeable except for their order. The order is checked for each flow of each input port, by
// the packets whose contents arrived at that port only. Packets of one flow label with different contents may overtake
// each other, because they may arrive on different queues (docs/design.md). The bytes after the packet are not compared
// if the frame is longer than the MTU of some port, because only some ports send them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cli/verify/oracle.h"

namespace penumbra::cli::verify {

/// Lists the kinds of wrong output.
enum class Difference : std::uint8_t {
  missing,     ///< was not sent, but should have been
  unexpected,  ///< no received packet leads to these contents or this size
  duplicate,   ///< was sent more often than expected
  wrong_port,  ///< was sent by a port without a route
  wrong_mac,   ///< right port, but MAC addresses differ from those of next hop and port
  split_flow,  ///< took another next hop than an earlier packet of the same flow
  reordered,   ///< was overtaken by a later packet of its flow
};
inline constexpr std::size_t kDifferences = 7;
/// Returns "missing", "wrong port", ...
const char* to_string(Difference difference);

struct Findings {
  std::uint64_t received = 0;                   ///< number of received packets
  std::uint64_t sent = 0;                       ///< number of sent packets
  std::uint64_t agreed = 0;                     ///< number of sent packets that match the expectation
  std::map<std::string, std::uint64_t> unsent;  ///< packets that must not be sent, by reason
  std::array<std::uint64_t, kDifferences> counts{};
  std::vector<std::string> examples;  ///< descriptions of the first differences

  std::uint64_t differences() const;
};

class Ledger {
 public:
  static constexpr std::size_t kExamples = 10;

  /// `oracle` must outlive the ledger.
  explicit Ledger(const Oracle& oracle);

  /// Enters a frame that port `port` received; `number` is its number in the capture. All calls must precede the first
  /// sent().
  void received(std::uint16_t port, std::uint32_t number, Frame frame);
  /// Matches a frame that a port sent.
  void sent(std::uint16_t port, std::uint32_t number, Frame frame);
  /// Returns the result after all frames.
  Findings close();

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct FlowKeyHash {
    std::size_t operator()(const FlowKey& key) const;
  };
  struct Flow {
    FlowKey key;                      ///< result of FlowKey::of_way()
    std::uint32_t ways = 0;           ///< index into ways_
    std::uint32_t first_subflow = 0;  ///< subflow of the first packet; most flows have no other subflow
    std::uint32_t chosen = kNone;     ///< way of the flow's first sent packet
    unsigned fewest_bytes = ~0U;      ///< bytes of the flow's shortest IP packet
  };
  /// Represents the packets of a flow that arrived at one port and have the same protocol and ports.
  struct Subflow {
    std::uint32_t flow = 0;
    std::uint16_t port = 0;
    std::uint8_t protocol = 0;
    std::uint32_t ports = 0;
    std::uint32_t latest = 0;  ///< highest number of a packet that was sent
  };
  struct Entry {
    std::uint32_t subflow = 0;
    std::uint32_t number = 0;    ///< number in the capture
    std::uint32_t next = kNone;  ///< next entry with the same contents
    std::uint32_t ip_bytes = 0;
    bool seen = false;
  };
  /// Lists entries with the same contents, in the order of arrival.
  struct Group {
    std::uint32_t unseen = kNone, last = kNone;
    bool one_subflow = true;
  };

  std::uint32_t subflow(std::uint16_t port, const FlowKey& key, const std::vector<Way>& ways);
  void check(std::uint16_t port, std::uint32_t number, Frame frame, const Group& group, const Entry& entry);
  bool must_be_sent(const Entry& entry) const;
  void differ(Difference difference, const std::string& text);
  std::string describe(std::uint16_t port, std::uint32_t number, const FlowKey& key) const;

  const Oracle& oracle_;
  unsigned smallest_mtu_ = ~0U;
  std::map<std::vector<Way>, std::uint32_t> ways_index_;
  std::vector<std::vector<Way>> ways_;
  std::unordered_map<FlowKey, std::uint32_t, FlowKeyHash> flow_index_;
  std::vector<Flow> flows_;
  /// Key: flow, port, protocol and ports. Contains all subflows except each flow's first.
  std::map<std::tuple<std::uint32_t, std::uint16_t, std::uint8_t, std::uint32_t>, std::uint32_t> other_subflows_;
  std::vector<Subflow> subflows_;
  std::unordered_map<std::uint64_t, Group> groups_;  ///< by hash of the contents
  std::vector<Entry> entries_;
  Findings findings_;
};

}  // namespace penumbra::cli::verify
