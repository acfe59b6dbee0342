// SPDX-License-Identifier: Apache-2.0
#include "control/rules/header_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "control/prefix_generator.h"
#include "control/rules/flow_fields.h"
#include "control/rules/places.h"

namespace penumbra::control::rules {
namespace {

constexpr Place kFlowProtocol = protocol_place(RuleFields::openflow);
constexpr Place kFlowSourcePort = source_port_place(RuleFields::openflow);
constexpr Place kFlowDestinationPort = destination_port_place(RuleFields::openflow);

/// Lists values for open fields; frequent values appear several times.
constexpr std::array<std::uint64_t, 8> kSomeTypes{kIpType, kIpType,   kIpType,  kIpType,
                                                  kIpType, kIpv6Type, kArpType, kMplsType};
constexpr std::array<std::uint64_t, 8> kSomeProtocols{kTcpProtocol, kTcpProtocol, kTcpProtocol,  kUdpProtocol,
                                                      kUdpProtocol, kUdpProtocol, kIcmpProtocol, 47};

/// Returns a port that matches a rule's mask and range.
std::uint64_t draw_port(Random& random, std::uint64_t value, std::uint64_t mask, PortRange range) {
  if (range.is_all()) return value | (random.next() & ~mask & 0xFFFF);
  const std::uint32_t ports = std::uint32_t{range.last} - range.first + 1;
  const std::uint32_t begin = random.below(ports);
  for (std::uint32_t i = 0; i < ports; ++i) {
    const std::uint64_t port = range.first + (begin + i) % ports;
    if ((port & mask) == value) return port;
  }
  throw std::invalid_argument("a rule matches no port");
}

/// Clears the fields that a packet of this ethertype and protocol does not have.
void clear_what_is_not_there(RuleWords& key) {
  const PacketKind kind{.ethertype = openflow::kEthertype.get(key), .protocol = kFlowProtocol.get(key)};
  if (!has_layer(kind, FlowLayer::ipv4_or_arp)) key[openflow::kSource.word] = key[kFlowProtocol.word] = 0;
  if (!has_layer(kind, FlowLayer::ipv4)) kTosPlace.set(key, 0);
  if (has_layer(kind, FlowLayer::ipv4) && has_layer(kind, FlowLayer::ports)) return;
  kFlowSourcePort.set(key, 0);
  kFlowDestinationPort.set(key, 0);
}

/// Gives realistic values to the fields that a rule leaves open. Their bits in `key` are random before.
void settle_openflow(Random& random, const RuleWords& mask, RuleWords& key) {
  constexpr std::uint32_t kPorts = 48;
  // Group bit of a MAC address; a source address is never a group.
  constexpr std::uint64_t kGroupBit = std::uint64_t{1} << 40;
  const auto is_open = [&mask](Place place) { return place.get(mask) == 0; };
  const bool may_lack_tag = openflow::kVlan.get(mask) == 0;
  std::uint64_t vlan = openflow::kVlan.get(key),
                priority = openflow::kVlanPriority.get(key) & openflow::kVlanPriorityMask;
  if (may_lack_tag) vlan = random.below(2) == 0 ? vlan & 0xFFF : openflow::kNoVlan;
  if (vlan == openflow::kNoVlan) priority = 0;
  key[openflow::kVlan.word] = 0;
  openflow::kVlan.set(key, vlan);
  openflow::kVlanPriority.set(key, priority);
  if (is_open(openflow::kInPort)) openflow::kInPort.set(key, 1 + random.below(kPorts));
  const std::uint64_t fixed = openflow::kSourceMac.get(mask), source = openflow::kSourceMac.get(key);
  openflow::kSourceMac.set(key, source & (fixed | ~kGroupBit));
  if (is_open(openflow::kEthertype)) openflow::kEthertype.set(key, kSomeTypes[random.below(kSomeTypes.size())]);
  if (is_open(kFlowProtocol)) {
    const bool is_arp = openflow::kEthertype.get(key) == kArpType;  // ARP: a request or a reply.
    kFlowProtocol.set(key, is_arp ? 1 + random.below(2) : kSomeProtocols[random.below(kSomeProtocols.size())]);
  }
  kTosPlace.set(key, kTosPlace.get(key) & openflow::kTosMask);
  if (kFlowProtocol.get(key) == kIcmpProtocol) {
    for (const Place place : {kFlowSourcePort, kFlowDestinationPort}) {
      if (is_open(place)) place.set(key, place.get(key) & 0xFF);
    }
  }
  key[kFlowProtocol.word] &= ~std::uint64_t{0xFFFF};
  clear_what_is_not_there(key);
}

}  // namespace

HeaderGenerator::HeaderGenerator(RuleFields fields, std::span<const Rule> rules, std::span<const RuleMatch> inside,
                                 const HeaderGeneratorOptions& options)
    : fields_(fields),
      inside_(inside),
      options_(options),
      random_(options.seed),
      index_(fields, options.hit_share < 1 ? rules : std::span<const Rule>{}) {
  const auto is_share = [](double value) { return value >= 0 && value <= 1; };
  if (!is_share(options.hit_share)) throw std::invalid_argument("the share of hits must be from 0 to 1");
  if (!is_share(options.locality)) throw std::invalid_argument("the locality must be from 0 to 1");
  if (options.hit_share > 0 && inside.empty()) throw std::invalid_argument("there are no rules to draw headers from");
  const auto takes_all = std::ranges::find(rules, RuleMatch{}, &Rule::match);
  if (options.hit_share < 1 && takes_all != rules.end()) {
    throw std::invalid_argument(fmt::format("rule number {} matches every header, so none can miss; ask for hits only",
                                            takes_all - rules.begin() + 1));
  }
}

HeaderGenerator::Header HeaderGenerator::next() {
  if (copies_left_ == 0) {
    current_ = draw();
    copies_left_ = copies();
  }
  --copies_left_;
  ++made_;
  if (current_.drawn_from != 0) ++hits_;
  return current_;
}

/// Draws a header. Repetitions shift the share of hits, so the choice is corrected when the share is off by more than
/// kSlack.
HeaderGenerator::Header HeaderGenerator::draw() {
  constexpr double kSlack = 16;  // Headers.
  const double missing = options_.hit_share * made_ - hits_;
  const bool chosen = chance(random_, options_.hit_share);
  const bool is_astray = options_.hit_share > 0 && options_.hit_share < 1 && std::abs(missing) > kSlack;
  if (!(is_astray ? missing > 0 : chosen)) return {.key = draw_miss(), .drawn_from = 0};
  const std::uint32_t number = random_.below(static_cast<std::uint32_t>(inside_.size()));
  return {.key = draw_hit(inside_[number]), .drawn_from = number + 1};
}

RuleWords HeaderGenerator::draw_hit(const RuleMatch& match) {
  RuleWords key{};
  for (std::size_t word = 0; word < words_of(fields_); ++word) {
    key[word] = match.value[word] | (random_.next() & ~match.mask[word]);
  }
  const auto put_port = [&](Place place, PortRange range) {
    place.set(key, draw_port(random_, place.get(match.value), place.get(match.mask), range));
  };
  put_port(source_port_place(fields_), match.source_ports);
  put_port(destination_port_place(fields_), match.destination_ports);
  if (fields_ == RuleFields::openflow) {
    settle_openflow(random_, match.mask, key);
    return key;
  }
  const Place protocol = protocol_place(fields_);
  if (protocol.get(match.mask) == 0) protocol.set(key, kSomeProtocols[random_.below(kSomeProtocols.size())]);
  key[protocol.word] &= ~std::uint64_t{0xFFFFFF};
  return key;
}

/// Draws a header that no rule matches. Every second attempt mixes two matching headers, so that the result resembles
/// them. The others are random.
RuleWords HeaderGenerator::draw_miss() {
  constexpr int kPatience = 10'000;
  for (int attempt = 0; attempt < kPatience; ++attempt) {
    RuleWords key = draw_hit({});
    if (attempt % 2 == 0 && !inside_.empty()) {
      const auto count = static_cast<std::uint32_t>(inside_.size());
      key = draw_hit(inside_[random_.below(count)]);
      const RuleWords other = draw_hit(inside_[random_.below(count)]);
      for (std::size_t word = 0; word < words_of(fields_); ++word) {
        if (random_.below(2) == 0) key[word] = other[word];
      }
      if (fields_ == RuleFields::openflow) clear_what_is_not_there(key);
    }
    if (!index_.any(key)) return key;
  }
  throw std::invalid_argument("no header is found that no rule matches; ask for hits only");
}

std::uint64_t HeaderGenerator::copies() {
  const double uniform = static_cast<double>((random_.next() >> 11) + 1) * 0x1p-53;  // In (0, 1].
  const double copies = std::ceil(options_.locality / uniform);
  return static_cast<std::uint64_t>(std::clamp(copies, 1.0, static_cast<double>(kMostCopies)));
}

}  // namespace penumbra::control::rules
