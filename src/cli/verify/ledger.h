// SPDX-License-Identifier: Apache-2.0
//
// The bookkeeping of `penumbra verify`: first every packet that came in is entered with what must become of it, then
// every packet that came out is struck off, then what is left is missing.
//
// A packet that came out is recognised by its contents from the ethertype on. They determine its flow, so that packets
// with equal contents are interchangeable, except for the order in which they came in: that is checked for each flow of
// each input port, by all packets whose contents came in at that one port only. Packets of one flow label that carry
// different things may overtake each other: they may have come in by different queues (docs/design.md). What follows
// the packet in a frame that is longer than some port's MTU permits is not compared: it leaves by one port and does not
// by another.
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

/// How an output can be wrong.
enum class Difference : std::uint8_t {
  missing,     ///< should have come out and did not
  unexpected,  ///< no packet that came in leads to these contents, or to as many bytes
  duplicate,   ///< came out more often than it should
  wrong_port,  ///< came out where no route leads
  wrong_mac,   ///< right port, but other MAC addresses than the next hop's and the port's
  split_flow,  ///< another next hop than an earlier packet of the same flow took
  reordered,   ///< overtaken by a later packet of its flow
};
inline constexpr std::size_t kDifferences = 7;
/// "missing", "wrong port", ...
const char* to_string(Difference difference);

struct Findings {
  std::uint64_t received = 0;                   ///< packets that came in
  std::uint64_t sent = 0;                       ///< packets that came out
  std::uint64_t agreed = 0;                     ///< of those that came out: as they must be
  std::map<std::string, std::uint64_t> unsent;  ///< packets that must not come out, by reason
  std::array<std::uint64_t, kDifferences> counts{};
  std::vector<std::string> examples;  ///< the first differences, in words

  std::uint64_t differences() const;
};

class Ledger {
 public:
  static constexpr std::size_t kExamples = 10;

  /// `oracle` outlives it.
  explicit Ledger(const Oracle& oracle);

  /// A frame, number `number` of its capture, came in at port number `port`. All of them before the first sent().
  void received(std::uint16_t port, std::uint32_t number, Frame frame);
  /// A frame came out of a port.
  void sent(std::uint16_t port, std::uint32_t number, Frame frame);
  /// Everything has been entered.
  Findings close();

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct FlowKeyHash {
    std::size_t operator()(const FlowKey& key) const;
  };
  struct Flow {
    FlowKey key;                      ///< of_way()
    std::uint32_t ways = 0;           ///< index into ways_
    std::uint32_t first_subflow = 0;  ///< of the port where it came in first, the only one of most flows
    std::uint32_t chosen = kNone;     ///< the way that its first packet took
    unsigned fewest_bytes = ~0U;      ///< of the shortest IP packet of it
  };
  /// What of a flow came in at one port and carries the same.
  struct Subflow {
    std::uint32_t flow = 0;
    std::uint16_t port = 0;
    std::uint8_t protocol = 0;
    std::uint32_t ports = 0;
    std::uint32_t latest = 0;  ///< highest packet number that has come out
  };
  struct Entry {
    std::uint32_t subflow = 0;
    std::uint32_t number = 0;    ///< in the capture
    std::uint32_t next = kNone;  ///< next entry with the same contents
    std::uint32_t ip_bytes = 0;
    bool seen = false;
  };
  /// Entries with the same contents, in the order in which they were entered.
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
  /// By flow, port, protocol and ports; all but the first subflows.
  std::map<std::tuple<std::uint32_t, std::uint16_t, std::uint8_t, std::uint32_t>, std::uint32_t> other_subflows_;
  std::vector<Subflow> subflows_;
  std::unordered_map<std::uint64_t, Group> groups_;  ///< by hash of the contents
  std::vector<Entry> entries_;
  Findings findings_;
};

}  // namespace penumbra::cli::verify
