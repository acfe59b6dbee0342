// SPDX-License-Identifier: Apache-2.0
//
// A checked rule. docs/ids.md describes the rule language.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "functions/ids/rules/address_set.h"
#include "functions/ids/rules/packet_test.h"
#include "functions/ids/rules/payload_test.h"
#include "functions/ids/rules/protocol.h"
#include "penumbra/errors.h"

namespace penumbra::ids {

enum class Action : std::uint8_t { alert, pass, drop, reject, reject_source, reject_destination, reject_both };

/// The order in which rules are evaluated, by their actions; `reject` stands for all its kinds.
using ActionOrder = std::array<Action, 4>;
/// Returns the action that stands for `action` in an order.
constexpr Action kind_of(Action action) {
  return std::min(action, Action::reject);  // Its kinds follow it.
}
inline constexpr ActionOrder kActionOrder{Action::pass, Action::drop, Action::reject, Action::alert};

/// `flow`.
struct FlowTest {
  enum class State : std::uint8_t { any, established, not_established, stateless };
  enum class Direction : std::uint8_t { any, to_server, to_client };
  enum class View : std::uint8_t { any, no_stream, only_stream };
  enum class Fragments : std::uint8_t { any, no_fragment, only_fragment };
  State state = State::any;
  Direction direction = Direction::any;
  View view = View::any;
  Fragments fragments = Fragments::any;
};

/// `flowbits`, `xbits` and `hostbits`. Several names are alternatives of isset and isnotset.
struct BitCommand {
  /// Hostbits belong to one of the packet's hosts, and their names are not those of xbits.
  enum class Scope : std::uint8_t { flow, source, destination, pair, host_source, host_destination };
  enum class Kind : std::uint8_t { set, unset, toggle, is_set, is_not_set };
  Scope scope = Scope::flow;
  Kind kind = Kind::set;
  std::vector<std::string> names;
  std::uint32_t expire_seconds = 0;  ///< Of xbits and hostbits.

  /// True if the bit belongs to a host.
  static bool is_of_host(Scope scope) { return scope == Scope::host_source || scope == Scope::host_destination; }
  bool is_test() const { return kind == Kind::is_set || kind == Kind::is_not_set; }
};

/// Whose events are counted together.
enum class Track : std::uint8_t { source, destination, both, rule, flow };

/// `threshold` and `detection_filter`.
struct Threshold {
  enum class Type : std::uint8_t { limit, threshold, both, backoff, detection_filter };
  enum class UniqueOn : std::uint8_t { none, source_port, destination_port };
  Type type = Type::limit;
  Track track = Track::source;
  std::uint32_t count = 0;
  std::uint32_t seconds = 0;
  std::uint32_t multiplier = 0;  ///< Of `backoff`.
  UniqueOn unique_on = UniqueOn::none;
};

/// `tag`: more packets are logged after a match.
struct Tag {
  enum class Scope : std::uint8_t { session, source, destination };
  enum class Unit : std::uint8_t { packets, bytes, seconds };
  Scope scope = Scope::session;
  std::uint32_t count = 0;  ///< 0: until the session ends.
  Unit unit = Unit::packets;
};

struct Reference {
  std::string system;  ///< For example "cve".
  std::string id;
};

/// The part of the traffic that a rule needs to see.
enum class Needs : std::uint8_t {
  packet,       ///< Single packets, and which flow they belong to.
  stream,       ///< Reassembled TCP, in addition to packets.
  application,  ///< The protocol of an application.
};

/// How a rule sees the packets of TCP whose bytes are part of a stream, as in Suricata.
enum class PacketUse : std::uint8_t {
  never,  ///< It sees the stream.
  also,   ///< It sees the packets and the stream: a content has an offset or a depth.
  only,   ///< It tests headers or the size of the payload, which a stream does not have.
};

struct Rule {
  Action action = Action::alert;
  bool noalert = false;
  Protocol protocol;
  std::shared_ptr<const AddressSet> sources, destinations;
  std::shared_ptr<const PortSet> source_ports, destination_ports;
  bool bidirectional = false;

  std::uint32_t sid = 0, gid = 1, rev = 0;
  std::string message;
  std::string class_type;
  std::optional<std::uint32_t> priority;  ///< The rule's own, else that of its class.
  std::vector<Reference> references;
  std::vector<std::string> metadata;
  std::string target;  ///< "src_ip", "dest_ip" or empty.
  bool wants_prefilter = false;

  std::optional<FlowTest> flow;
  std::vector<PacketTest> packet_tests;
  std::vector<BufferTests> buffers;    ///< In the order of their first keyword.
  std::vector<std::string> variables;  ///< Of byte_extract and byte_math.
  std::vector<BitCommand> bits;
  std::optional<Threshold> threshold, detection_filter;
  std::vector<Tag> tags;

  Application application = Application::none;  ///< Of the header or of the keywords.
  SourceLocation place;
  std::size_t digest = 0;  ///< Of the rule's text, to find out which rules of two sets differ.

  /// Returns a number that names the rule in every set: gid and sid.
  std::uint64_t key() const { return std::uint64_t{gid} << 32 | sid; }
  /// Returns what the rule needs. A TCP rule with contents that is not "tcp-pkt" needs the stream.
  Needs needs() const;
  /// Returns true if the rule tests nothing but ends, the flow and `app-layer-protocol`. It is evaluated once, when the
  /// protocol of a flow is recognized.
  bool is_about_recognition() const;
  /// Returns how the rule sees packets of TCP. Rules that need packets see nothing else.
  PacketUse packet_use() const;
};

}  // namespace penumbra::ids
