// SPDX-License-Identifier: Apache-2.0
//
// A forwarding table made from a route file, and an engine for lookups.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/routes.h"
#include "functions/ipv4/ipv4.h"
#include "functions/ipv6/ipv6.h"
#include "penumbra/engine.h"
#include "penumbra/ip.h"

namespace penumbra::cli {

/// `Family` is ipv4::Family or ipv6::Family.
template <class Family>
class RouteLookup {
 public:
  using Address = typename Family::Address;
  using RouteList = control::RouteListOf<typename Family::AddressFamily>;

  struct Answer {
    std::uint16_t next_hop = 0;                     ///< answer of the shader
    std::optional<typename Family::Prefix> prefix;  ///< the longest prefix, from the control plane
    const std::string* target = nullptr;            ///< "via A dev P", "blackhole", ...; null without a route
  };

  /// Loads the routes. The engine "auto" is the best CPU engine, because batches run one at a time. Throws
  /// std::exception if a limit is exceeded or the engine is not available.
  RouteLookup(const RouteList& routes, const std::string& engine);

  /// Returns the answers for the addresses, in order. Throws Failure (mismatch) if shader and control plane differ.
  std::vector<Answer> answer(std::span<const Address> addresses);

 private:
  std::vector<std::uint16_t> run_shader(std::span<const Address> addresses);
  const std::string& target_of(std::uint16_t next_hop);

  NoReaders grace_periods_;
  forwarding::Fib<Family> fib_;
  std::unique_ptr<Engine> engine_;
  const Shader* shader_ = nullptr;
  std::unique_ptr<EngineQueue> queue_;
  std::unordered_map<std::uint16_t, std::string> targets_;  ///< by next hop, filled on demand
};

extern template class RouteLookup<ipv4::Family>;
extern template class RouteLookup<ipv6::Family>;

}  // namespace penumbra::cli
