// SPDX-License-Identifier: Apache-2.0
//
// Policies for packets that cannot be inspected as a whole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/config_node.h"

namespace penumbra::ids {

enum class ExceptionPolicy : std::uint8_t {
  ignore,       ///< The packet passes, or what was found in it decides.
  pass_packet,  ///< The packet passes, and no rule is evaluated on it.
  pass,         ///< The packet and all later packets of its flow pass without rules. Their messages are read.
  bypass,       ///< The packet passes, and so do all later packets of its flow, unseen.
  drop_packet,  ///< The packet is dropped.
  drop,         ///< The packet and all later packets of its flow are dropped.
  reject,       ///< As `drop`; the sender receives a RST or an ICMP error.
};
inline constexpr std::array<std::string_view, 7> kExceptionPolicies{"ignore",      "pass_packet", "pass",  "bypass",
                                                                    "drop_packet", "drop",        "reject"};
constexpr bool drops(ExceptionPolicy policy) {
  return policy >= ExceptionPolicy::drop_packet;
}

/// Why a packet cannot be inspected as a whole.
enum class ExceptionCause : std::uint8_t {
  flows,        ///< The table of flows is full.
  limits,       ///< A verification ended by a limit.
  unreadable,   ///< Its headers cannot be read.
  memory,       ///< A segment of TCP for which the memory of streams has no room.
  midstream,    ///< A segment of TCP of a connection whose beginning was not seen.
  application,  ///< A message of an application is malformed.
};
inline constexpr std::array<std::string_view, 6> kExceptionCauses{"flows",  "limits",    "unreadable",
                                                                  "memory", "midstream", "application"};

/// A policy for each cause.
class ExceptionPolicies {
 public:
  /// A sensor that only listens changes nothing. An inline system lets nothing through that it could not look at, but
  /// for causes that harmless traffic has.
  static ExceptionPolicies defaults(bool is_ips);

  ExceptionPolicy of(ExceptionCause cause) const { return policies_[static_cast<std::size_t>(cause)]; }
  void set(ExceptionCause cause, ExceptionPolicy policy) { policies_[static_cast<std::size_t>(cause)] = policy; }
  bool operator==(const ExceptionPolicies&) const = default;

 private:
  std::array<ExceptionPolicy, kExceptionCauses.size()> policies_{};
};

/// A set of causes.
class ExceptionCauses {
 public:
  void add(ExceptionCause cause) { bits_ = static_cast<std::uint8_t>(bits_ | bit(cause)); }
  bool has(ExceptionCause cause) const { return (bits_ & bit(cause)) != 0; }

 private:
  static constexpr std::uint8_t bit(ExceptionCause cause) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(cause));
  }
  std::uint8_t bits_ = 0;
};

/// What a configuration of Suricata says about exceptions. Without a policy of its own, a cause has the policy of
/// "exception-policy", if that is there.
class ExceptionSettings {
 public:
  /// Throws InputError. Adds the keys of the sections "app-layer", "defrag" and "flow" that have no effect to `unused`.
  static ExceptionSettings read(const ConfigNode& root, std::vector<std::string>& unused);

  /// Replaces the policies that the configuration names. Suricata ignores policies that drop if it is not inline.
  /// `midstream` is set if connections are followed whose beginning was not seen.
  void apply(bool is_ips, bool midstream, ExceptionPolicies& policies) const;
  /// Returns the policy of fragments for which there is no memory. As in Suricata, policies of flows become those of
  /// packets, and `bypass` becomes `ignore`.
  ExceptionPolicy of_fragments(bool is_ips) const;
  /// Returns the bytes of memory for fragments, if the configuration has "defrag.memcap".
  std::optional<std::uint64_t> fragment_memory() const { return fragment_memory_; }
  /// Returns true if the configuration has "defrag.memcap-policy".
  bool names_fragments() const { return names_fragments_; }

 private:
  /// No policy stands for "auto".
  using Word = std::optional<ExceptionPolicy>;
  static Word parse(const ConfigNode& node);
  static ExceptionPolicy resolve(const Word& word, bool is_ips, ExceptionPolicy automatic);

  std::array<std::optional<Word>, kExceptionCauses.size()> by_cause_;
  std::optional<Word> fragments_;
  std::optional<std::uint64_t> fragment_memory_;
  bool names_fragments_ = false;
};

}  // namespace penumbra::ids
