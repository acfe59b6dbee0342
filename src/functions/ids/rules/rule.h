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
  /// `host` is that of hostbits, which are not evaluated.
  enum class Scope : std::uint8_t { flow, source, destination, pair, host };
  enum class Kind : std::uint8_t { set, unset, toggle, is_set, is_not_set };
  Scope scope = Scope::flow;
  Kind kind = Kind::set;
  std::vector<std::string> names;
  std::uint32_t expire_seconds = 0;  ///< Only xbits have an expiry.

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
};

}  // namespace penumbra::ids
