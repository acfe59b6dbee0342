// SPDX-License-Identifier: Apache-2.0
//
// Events in the format of Suricata's eve.json.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "functions/ids/detect/detector.h"
#include "functions/ids/detect/packet_source.h"
#include "functions/ids/detect/packet_view.h"
#include "functions/ids/rules/exceptions.h"

namespace penumbra::ids {

/// Why a packet is dropped: by a rule, or by the exception policy of a cause.
enum class DropReason : std::uint8_t { rules, flows, limits, unreadable, memory, midstream, application, fragments };
constexpr DropReason drop_reason_of(ExceptionCause cause) {
  return static_cast<DropReason>(static_cast<unsigned>(cause) + 1);
}

/// An event of one packet or flow. It holds no memory, so that workers hand it to a thread that writes.
struct Event {
  enum class Kind : std::uint8_t { alert, anomaly, dns, drop, flow, http, tls };
  enum Flag : std::uint8_t { kIpv6 = 1, kPorts = 2, kIcmp = 4, kToServer = 8, kBlocked = 16, kFlowEnd = 32 };
  static constexpr std::uint16_t kNoPort = std::numeric_limits<std::uint16_t>::max();

  const CompiledRules* rules = nullptr;  ///< The owner of `rule`. Must live until the event is written.
  const ActiveRule* rule = nullptr;      ///< Of an alert or a drop.
  std::uint64_t time = 0;                ///< Microseconds since 1970.
  std::uint64_t flow = 0;                ///< TrackedFlow::id
  std::uint64_t number = 0;              ///< Of the packet in its capture, from 1; 0: not of a capture.
  std::array<std::uint64_t, 2> source{}, destination{};
  std::uint32_t length = 0;  ///< Bytes of the IP packet.
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint16_t port = kNoPort;  ///< The port of the router that received the packet.
  std::uint8_t protocol = 0, icmp_type = 0, icmp_code = 0;
  std::uint8_t ttl = 0;
  Kind kind = Kind::alert;
  std::uint8_t flags = 0;
  PacketSource made_by = PacketSource::wire;
  DropReason drop_reason = DropReason::rules;  ///< Of a drop.

  bool has(Flag flag) const { return (flags & flag) != 0; }
};

/// Returns the event of an alert of a packet.
Event make_event(const Detector::Alert& alert, const PacketView& packet, const CompiledRules& rules, std::uint64_t now);
/// Returns the event of a packet that is dropped. `alert` has the rule that drops it, or none.
Event make_drop(const Detector::Alert& alert, DropReason reason, const PacketView& packet, const CompiledRules& rules,
                std::uint64_t now);

struct EveFormat {
  std::vector<std::string> ports;  ///< Names of the router's ports.
  bool community_id = false;
  std::uint16_t community_seed = 0;
};

/// The types of events, in the order of Event::Kind.
inline constexpr std::array<std::string_view, 7> kEventTypes{"alert", "anomaly", "dns", "drop", "flow", "http", "tls"};

/// Returns the event as one line of JSON, without the end of the line. `members` are further members of the object, as
/// JSON text without braces. Events without a rule have no others.
std::string to_json(const Event& event, std::string_view members = {}, const EveFormat& format = {});
/// Returns an event that belongs to no flow, at `now`, in microseconds since 1970.
std::string to_json(std::string_view type, std::uint64_t now, std::string_view members);

}  // namespace penumbra::ids
