// SPDX-License-Identifier: Apache-2.0
//
// Reads the configuration of `ids`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "functions/ids/detect/pattern_group.h"
#include "functions/ids/pipeline/eve_writer.h"
#include "functions/ids/rules/rule_set.h"
#include "functions/ids/streams/stream_settings.h"
#include "penumbra/config_node.h"

namespace penumbra::ids {

/// The treatment of a packet that cannot be inspected as a whole.
enum class ExceptionPolicy : std::uint8_t {
  ignore,       ///< The packet passes, or what was found in it decides.
  bypass,       ///< The packet passes, and so do all later packets of its flow.
  drop_packet,  ///< The packet is dropped.
  drop,         ///< The packet and all later packets of its flow are dropped.
  reject,       ///< As `drop`; the sender receives a RST or an ICMP error.
};

/// Why a packet cannot be inspected as a whole.
enum class ExceptionCause : std::uint8_t {
  flows,       ///< The table of flows is full.
  limits,      ///< A verification ended by a limit.
  unreadable,  ///< Its headers cannot be read.
  memory,      ///< A segment of TCP for which the memory of streams has no room.
  midstream,   ///< A segment of TCP of a connection whose beginning was not seen.
};
inline constexpr std::array<std::string_view, 5> kExceptionCauses{"flows", "limits", "unreadable", "memory",
                                                                  "midstream"};

/// Settings that a reload changes with the rules.
struct Policies {
  bool is_ips = false;
  MatcherKind matcher = MatcherKind::patterns;
  bool drops_flows = true;  ///< A rule that drops a packet drops its flow, too.
  std::array<ExceptionPolicy, kExceptionCauses.size()> exceptions{};

  ExceptionPolicy of(ExceptionCause cause) const { return exceptions[static_cast<std::size_t>(cause)]; }
  bool operator==(const Policies&) const = default;
  /// Returns the policies in the configuration's words.
  std::string text() const;
};

struct Settings {
  RuleSetOptions files;
  Policies policies;
  EveSettings eve;
  bool community_id = false;
  std::uint16_t community_seed = 0;
  std::size_t flows = std::size_t{1} << 16;  ///< For all workers.
  StreamSettings streams;                    ///< Their memory is for all workers.
  bool stops_at_refused = true;
  std::vector<std::string> warnings;
};

/// Throws InputError at the place of an error.
Settings read_settings(const ConfigNode& config);

/// Loads the rules. Throws InputError at `config` if a file cannot be read, or if a rule is refused and the settings do
/// not skip it. Adds warnings about rules that are not taken.
RuleSet load_rules(Settings& settings, const ConfigNode& config);

}  // namespace penumbra::ids
