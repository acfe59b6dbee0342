// SPDX-License-Identifier: Apache-2.0
//
// Security associations and policies (RFC 4301), with the fields that Linux's XFRM gives them (linux/xfrm.h). Numbers
// have host byte order.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/xfrm/address.h"
#include "control/xfrm/keys.h"

namespace penumbra::control::xfrm {

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint32_t kMostReplayWindow = 4096;  ///< Packets.
inline constexpr std::uint8_t kProtocolEsp = 50;

/// Selects packets by addresses, protocol and ports.
struct Selector {
  Address destination, source;
  std::uint16_t destination_port = 0, destination_port_mask = 0;
  std::uint16_t source_port = 0, source_port_mask = 0;
  std::uint16_t family = 0;  ///< AF_INET, AF_INET6, or 0 for both.
  std::uint8_t destination_prefix = 0, source_prefix = 0;
  std::uint8_t protocol = 0;   ///< 0: any.
  std::int32_t interface = 0;  ///< Index; 0: any.
  std::uint32_t user = 0;

  bool operator==(const Selector&) const = default;
};

/// Limits how long an SA or a policy is used. Times are in seconds and 0 means none.
struct Limits {
  std::uint64_t soft_bytes = kUnlimited, hard_bytes = kUnlimited;
  std::uint64_t soft_packets = kUnlimited, hard_packets = kUnlimited;
  std::uint64_t soft_add_seconds = 0, hard_add_seconds = 0;  ///< Since the addition.
  std::uint64_t soft_use_seconds = 0, hard_use_seconds = 0;  ///< Since the first packet.

  bool operator==(const Limits&) const = default;
};

struct Usage {
  std::uint64_t bytes = 0, packets = 0;
  std::uint64_t add_time = 0;  ///< Seconds since 1970.
  std::uint64_t use_time = 0;  ///< The first packet; 0: none yet.

  bool operator==(const Usage&) const = default;
};

/// A value under a mask. An entry matches a mark if `(mark & mask) == value`.
struct Mark {
  std::uint32_t value = 0, mask = 0;

  auto operator<=>(const Mark&) const = default;
};

/// Identifies an SA together with its mark.
struct SaId {
  Address destination;
  std::uint32_t spi = 0;
  std::uint16_t family = 0;
  std::uint8_t protocol = 0;

  auto operator<=>(const SaId&) const = default;
};

/// Names an algorithm as Linux does ("rfc4106(gcm(aes))").
struct Algorithm {
  std::string name;
  std::uint32_t key_bits = 0;
  std::uint32_t tag_bits = 0;  ///< Bits of the ICV; 0 for a cipher without one.

  bool operator==(const Algorithm&) const = default;
};

/// An SA has either `aead`, or `digest` with or without `cipher`. A larval SA has none.
struct Algorithms {
  std::optional<Algorithm> aead, cipher, digest;

  bool operator==(const Algorithms&) const = default;
};

/// Encapsulates ESP in UDP (RFC 3948).
struct Encapsulation {
  std::uint16_t type = 0;  ///< UDP_ENCAP_ESPINUDP (2).
  std::uint16_t source_port = 0, destination_port = 0;
  Address original;

  bool operator==(const Encapsulation&) const = default;
};

/// Holds sequence numbers, and the window of those that were received. Without ESN the high halves are 0.
struct Replay {
  std::uint64_t out = 0;  ///< Last sequence number sent.
  std::uint64_t in = 0;   ///< Highest sequence number received.
  /// A ring of bits by sequence number for an extended state. Otherwise one word, whose bit 0 stands for `in`.
  std::vector<std::uint32_t> bitmap;

  bool operator==(const Replay&) const = default;
};

struct SaCounters {
  std::uint32_t late = 0, replayed = 0, bad_icv = 0;
};

enum class Mode : std::uint8_t { transport = 0, tunnel = 1, route_optimization = 2, in_trigger = 3, beet = 4 };

/// The settings of an SA, without keys.
struct SaSettings {
  SaId id;
  Address source;
  Selector selector;
  Limits limits;
  std::uint32_t sequence = 0;  ///< Number of the ACQUIRE that the SA answers, or 0.
  std::uint32_t request = 0;   ///< reqid: joins SAs and templates.
  Mode mode = Mode::transport;
  std::uint8_t flags = 0;            ///< XFRM_STATE_NOECN, for example.
  std::uint32_t extra_flags = 0;     ///< XFRM_SA_XFLAG_DONT_ENCAP_DSCP, for example.
  std::uint32_t replay_window = 0;   ///< Packets.
  bool has_extended_replay = false;  ///< The state came as XFRMA_REPLAY_ESN_VAL.
  std::optional<Encapsulation> encapsulation;
  std::optional<Address> care_of;
  std::uint32_t tfc_padding = 0;  ///< Bytes.
  Mark mark, output_mark;
  std::uint32_t interface_id = 0;
  std::uint32_t mapping_threshold = 0;  ///< Seconds between two MAPPING messages.
  std::uint32_t replay_threshold = 0, timer_threshold = 0;
  Algorithms algorithms;

  bool operator==(const SaSettings&) const = default;
};

/// A security association.
struct Sa {
  SaSettings settings;
  Replay replay;
  Usage usage;
  SaCounters counters;
  KeyHandle keys;  ///< Empty for a larval SA.
  /// A larval SA has an SPI at most and waits for its keys.
  bool larval = false;
  bool dying = false;              ///< A soft limit was reported.
  uid_t sender = 0;                ///< User who sent the SA.
  std::string why_unsealed;        ///< Why nothing may be sealed with the SA of a kernel; empty: it may.
  std::uint64_t mapping_time = 0;  ///< Seconds since 1970 of the last MAPPING.
  /// The newest address and port of the peer, if they came too soon after that.
  std::optional<std::pair<Address, std::uint16_t>> moved_to;
  std::uint64_t number = 0;  ///< Number in the order of additions; the SAD sets it.
};

enum class Direction : std::uint8_t { in = 0, out = 1, forward = 2 };
enum class Action : std::uint8_t { allow = 0, block = 1 };

/// Describes an SA that a policy requires.
struct Template {
  SaId id;  ///< `id.family` is not used.
  std::uint16_t family = 0;
  Address source;
  std::uint32_t request = 0;
  Mode mode = Mode::transport;
  std::uint8_t share = 0;
  bool optional = false;
  std::uint32_t digests = 0, ciphers = 0, compressions = 0;  ///< Bits of permitted algorithms.

  bool operator==(const Template&) const = default;
};

inline constexpr std::size_t kMostTemplates = 6;

/// A policy. An `allow` without templates lets packets bypass IPsec.
struct Policy {
  Selector selector;
  Limits limits;
  Usage usage;
  std::uint32_t priority = 0;  ///< The lowest number is the first policy.
  std::uint32_t index = 0;     ///< Number for DELPOLICY and GETPOLICY, whose lowest bits are the direction.
  Direction direction = Direction::in;
  Action action = Action::allow;
  std::uint8_t flags = 0;  ///< XFRM_POLICY_LOCALOK, for example.
  std::uint8_t share = 0;
  std::uint8_t type = 0;  ///< XFRM_POLICY_TYPE_MAIN or XFRM_POLICY_TYPE_SUB.
  Mark mark;
  std::uint32_t interface_id = 0;
  std::vector<Template> templates;
  bool dying = false;        ///< A soft limit was reported.
  std::uint64_t number = 0;  ///< Number in the order of additions; the SPD sets it.
};

bool has_hard_limit(const Limits& limits);

/// Reports which limit has been reached.
enum class Expiry : std::uint8_t { none, soft, hard };

/// Compares usage with limits at `now` (seconds since 1970). A soft limit that was reported (`dying`) is not reported
/// again.
Expiry expiry_of(const Limits& limits, const Usage& usage, bool dying, std::uint64_t now);

}  // namespace penumbra::control::xfrm
