// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>

namespace penumbra::cli::verify {
namespace {

/// 64 bits suffice: two different packets of a million share a value with probability 3 in 10^8.
std::uint64_t hash_bytes(const void* bytes, std::size_t count) {
  return std::hash<std::string_view>{}({static_cast<const char*>(bytes), count});
}

std::uint64_t read_mac(Frame bytes, std::size_t offset) {
  return std::uint64_t{read16(bytes, offset)} << 32 | read32(bytes, offset + 2);
}

}  // namespace

const char* to_string(Difference difference) {
  constexpr std::array<const char*, kDifferences> kNames{"missing",   "unexpected", "duplicate", "wrong port",
                                                         "wrong MAC", "split flow", "reordered"};
  return kNames[static_cast<std::size_t>(difference)];
}

std::uint64_t Findings::differences() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::size_t Ledger::FlowKeyHash::operator()(const FlowKey& key) const {
  const std::array<std::uint64_t, 6> words{
      key.source.high,     key.source.low, key.destination.high,
      key.destination.low, key.ports,      std::uint64_t{key.label} << 8 | key.protocol};
  return hash_bytes(words.data(), sizeof words);
}

std::uint32_t Ledger::subflow(std::uint16_t port, const FlowKey& key, const std::vector<Way>& ways) {
  const auto [known_flow, new_flow] = flow_index_.emplace(key.of_way(), flows_.size());
  if (new_flow) {
    const auto [known_ways, new_ways] = ways_index_.emplace(ways, ways_.size());
    if (new_ways) ways_.push_back(ways);
    flows_.push_back({.key = key.of_way(), .ways = known_ways->second});
  }
  const std::uint32_t index = known_flow->second;
  Flow& flow = flows_[index];
  if (new_flow) flow.first_subflow = static_cast<std::uint32_t>(subflows_.size());
  if (!new_flow) {
    const Subflow& first = subflows_[flow.first_subflow];
    if (first.port == port && first.protocol == key.protocol && first.ports == key.ports) return flow.first_subflow;
  }
  const auto new_subflow = static_cast<std::uint32_t>(subflows_.size());
  const auto known_subflow =
      new_flow ? new_subflow
               : other_subflows_.emplace(std::tuple(index, port, key.protocol, key.ports), new_subflow).first->second;
  if (known_subflow == new_subflow) {
    subflows_.push_back({.flow = index, .port = port, .protocol = key.protocol, .ports = key.ports});
  }
  return known_subflow;
}

Ledger::Ledger(const Oracle& oracle) : oracle_(oracle) {
  for (const PortInfo& port : oracle.ports()) smallest_mtu_ = std::min<unsigned>(smallest_mtu_, port.mtu);
}

void Ledger::received(std::uint16_t port, std::uint32_t number, Frame frame) {
  ++findings_.received;
  const Expectation expectation = oracle_.judge(port, frame);
  if (!expectation.reason.empty()) {
    ++findings_.unsent[expectation.reason];
    return;
  }
  const auto index = static_cast<std::uint32_t>(entries_.size());
  const unsigned bytes = ip_bytes(frame);
  entries_.push_back(
      {.subflow = subflow(port, flow_key(frame), expectation.ways), .number = number, .ip_bytes = bytes});
  Flow& flow = flows_[subflows_[entries_.back().subflow].flow];
  flow.fewest_bytes = std::min(flow.fewest_bytes, bytes);

  const auto contents = routed_contents(without_excess(frame, smallest_mtu_));
  const auto [found, is_new] = groups_.try_emplace(hash_bytes(contents.data(), contents.size()));
  Group& group = found->second;
  if (is_new) {
    group.unseen = index;
  } else {
    entries_[group.last].next = index;
    group.one_subflow = group.one_subflow && entries_[group.last].subflow == entries_.back().subflow;
  }
  group.last = index;
}

void Ledger::sent(std::uint16_t port, std::uint32_t number, Frame frame) {
  ++findings_.sent;
  const auto name = [&] { return fmt::format("{} sent packet {}", oracle_.ports()[port].name, number); };
  const Frame known = without_excess(frame, smallest_mtu_);
  const auto found =
      frame.size() < kEthernetBytes ? groups_.end() : groups_.find(hash_bytes(known.data() + 12, known.size() - 12));
  if (found == groups_.end()) {
    differ(Difference::unexpected,
           fmt::format("{}: no packet that came in leads to these {} bytes", name(), frame.size()));
    return;
  }
  Group& group = found->second;
  if (group.unseen == kNone) {
    const Subflow& subflow = subflows_[entries_[group.last].subflow];
    differ(Difference::duplicate,
           fmt::format("{}: once too often: {}", name(),
                       describe(subflow.port, entries_[group.last].number, flows_[subflow.flow].key)));
    return;
  }
  Entry& entry = entries_[group.unseen];
  group.unseen = entry.next;
  entry.seen = true;
  check(port, number, frame, group, entry);
}

void Ledger::check(std::uint16_t port, std::uint32_t number, Frame frame, const Group& group, const Entry& entry) {
  Subflow& subflow = subflows_[entry.subflow];
  Flow& flow = flows_[subflow.flow];
  const auto& ways = ways_[flow.ways];
  const auto explain = [&](Difference difference, const std::string& what) {
    differ(difference, fmt::format("{} sent packet {}: {}: {}", oracle_.ports()[port].name, number, what,
                                   describe(subflow.port, entry.number, flow.key)));
  };
  const std::uint64_t to = read_mac(frame, 0), from = read_mac(frame, 6);
  const auto leads_here = [&](const Way& way) { return way.port == port && way.carries(entry.ip_bytes); };
  if (std::ranges::none_of(ways, leads_here))
    return explain(Difference::wrong_port, "no route leads out here, or it is too long for the port");
  if (frame.size() > kEthernetBytes + oracle_.ports()[port].mtu)
    return explain(Difference::unexpected, "what follows it makes the frame longer than the port's MTU");
  const auto way = std::ranges::find_if(ways, [&](const Way& each) { return leads_here(each) && each.mac == to; });
  if (way == ways.end()) {
    return explain(Difference::wrong_mac, "to " + to_string(MacAddress{to}) + ", which is no next hop of it");
  }
  if (from != oracle_.ports()[port].mac.value) {
    return explain(Difference::wrong_mac, "from " + to_string(MacAddress{from}) + ", which is not the port's address");
  }
  const auto chosen = static_cast<std::uint32_t>(way - ways.begin());
  if (flow.chosen == kNone) flow.chosen = chosen;
  if (flow.chosen != chosen) return explain(Difference::split_flow, "its flow took another next hop before");
  if (group.one_subflow) {
    if (entry.number < subflow.latest) {
      return explain(Difference::reordered, fmt::format("after packet {} of its flow", subflow.latest));
    }
    subflow.latest = entry.number;
  }
  ++findings_.agreed;
}

/// Returns true if an unsent packet should have been sent. If no packet of its flow was sent, the flow may have taken a
/// way that carries no packets.
bool Ledger::must_be_sent(const Entry& entry) const {
  const Flow& flow = flows_[subflows_[entry.subflow].flow];
  const auto& ways = ways_[flow.ways];
  if (flow.chosen != kNone) return ways[flow.chosen].carries(entry.ip_bytes);
  return std::ranges::all_of(ways, [&](const Way& way) { return way.carries(flow.fewest_bytes); });
}

Findings Ledger::close() {
  for (const auto& entry : entries_) {
    if (entry.seen) continue;
    const Subflow& subflow = subflows_[entry.subflow];
    if (must_be_sent(entry)) {
      differ(Difference::missing, "never sent: " + describe(subflow.port, entry.number, flows_[subflow.flow].key));
    } else {
      const char* const too_long = flows_[subflow.flow].key.is_ipv6 ? Ipv6Rules::kTooLong : Ipv4Rules::kTooLong;
      ++findings_.unsent[fmt::format("unknown_neighbour or {} at the next hop of its flow", too_long)];
    }
  }
  return findings_;
}

void Ledger::differ(Difference difference, const std::string& text) {
  ++findings_.counts[static_cast<std::size_t>(difference)];
  if (findings_.examples.size() < kExamples) findings_.examples.push_back(text);
}

std::string Ledger::describe(std::uint16_t port, std::uint32_t number, const FlowKey& key) const {
  const auto name = [&](Ipv6Address address) {
    return key.is_ipv6 ? penumbra::to_string(address)
                       : penumbra::to_string(Ipv4Address{static_cast<std::uint32_t>(address.low)});
  };
  const std::string what =
      key.label != 0 ? fmt::format("flow label 0x{:05x}", key.label) : fmt::format("protocol {}", key.protocol);
  return fmt::format("packet {} received on {} ({} > {}, {})", number, oracle_.ports()[port].name, name(key.source),
                     name(key.destination), what);
}

}  // namespace penumbra::cli::verify
