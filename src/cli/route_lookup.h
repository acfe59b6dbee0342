// SPDX-License-Identifier: Apache-2.0
//
// A forwarding table made from a route file, and an engine that looks up in it.
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

/// Of ipv4::Family or ipv6::Family.
template <class Family>
class RouteLookup {
 public:
  using Address = typename Family::Address;
  using RouteList = control::RouteListOf<typename Family::AddressFamily>;

  struct Answer {
    std::uint16_t next_hop = 0;                     ///< the shader's answer
    std::optional<typename Family::Prefix> prefix;  ///< the control plane's: the longest that covers the address
    const std::string* target = nullptr;            ///< "via A dev P", "blackhole", ...; of both, null without a route
  };

  /// Loads the routes. For "auto", as one batch goes at a time, it is the best CPU engine. Throws std::exception if a
  /// limit is passed or the engine not available.
  RouteLookup(const RouteList& routes, const std::string& engine);

  /// The answers for the addresses, in their order. Throws Failure (mismatch) if the shader's answer and the control
  /// plane's differ.
  std::vector<Answer> answer(std::span<const Address> addresses);

 private:
  std::vector<std::uint16_t> run_shader(std::span<const Address> addresses);
  const std::string& target_of(std::uint16_t next_hop);

  NoReaders grace_periods_;
  forwarding::Fib<Family> fib_;
  std::unique_ptr<Engine> engine_;
  const Shader* shader_ = nullptr;
  std::unique_ptr<EngineQueue> queue_;
  std::unordered_map<std::uint16_t, std::string> targets_;  ///< by next hop, as they are asked for
};

extern template class RouteLookup<ipv4::Family>;
extern template class RouteLookup<ipv6::Family>;

}  // namespace penumbra::cli
