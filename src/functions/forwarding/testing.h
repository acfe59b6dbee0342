// SPDX-License-Identifier: Apache-2.0
//
// Supports tests of forwarding functions with ports, notations for routes, and the oracle.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/routes.h"
#include "functions/forwarding/oracle.h"
#include "penumbra/function.h"
#include "testing/function_runner.h"

namespace penumbra::forwarding::testing_support {

using function_testing::Packet;
using function_testing::reason_of;
using function_testing::Runner;

/// Returns the ports wan, lan, dmz, which has a short MTU, and bare, which has no addresses.
inline std::vector<PortInfo> ports_without_addresses(std::uint16_t dmz_mtu) {
  std::vector<PortInfo> ports(4);
  const std::array<const char*, 4> names{"wan", "lan", "dmz", "bare"};
  std::uint16_t index = 0;
  for (PortInfo& port : ports) {
    port.name = names.at(index);
    port.index = index;
    port.mac = {0x020000000001U + index};
    port.mtu = index == 2 ? dmz_mtu : 1500;
    ++index;
  }
  return ports;
}

/// Provides short notations for routes. The functions throw std::bad_optional_access for text that is no address.
template <class Family>
struct Words {
  using Target = control::RouteTargetOf<Family>;
  static inline const Target kBlackhole{.kind = control::RouteKind::blackhole, .next_hops = {}};
  static inline const Target kUnreachable{.kind = control::RouteKind::unreachable, .next_hops = {}};

  static typename Family::Address ip(const std::string& text) { return Family::parse_address(text).value(); }
  static typename Family::Prefix net(const std::string& text) { return Family::parse_prefix(text).value(); }
  static Target via(const std::string& gateway, const std::string& port) {
    Target target;
    target.next_hops = {{.gateway = ip(gateway), .port = port, .weight = 1}};
    return target;
  }
  static Target dev(const std::string& port) {
    Target target;
    target.next_hops = {{.gateway = std::nullopt, .port = port, .weight = 1}};
    return target;
  }
};

/// Holds a forwarding function between ports, the results for its packets, and a network for the oracle with the same
/// routes. `Judge` adapts the oracle of the family: Network, objection(), judge(network, frame), forwarded().
template <class Function, class Words, class Judge>
class RouterUnderTest {
 protected:
  using Bytes = oracle::Bytes;

  template <class... Arguments>
  explicit RouterUnderTest(std::vector<PortInfo> ports, Arguments... arguments)
      : network_{.ports = std::move(ports), .routes = {}, .neighbours = {}},
        function_({network_.ports, no_readers_}, arguments...) {}

  void add_route(const std::string& prefix, const typename Words::Target& target, std::uint32_t metric = 0) {
    network_.routes[{Words::net(prefix), metric}] = target;
    function_.fib().add_route(Words::net(prefix), metric, target);
  }
  void add_neighbour(const std::string& address, const std::string& port, std::uint64_t mac) {
    network_.neighbours[{port, Words::ip(address)}] = {mac};
    function_.fib().set_neighbour({.address = Words::ip(address), .port = port, .mac = {mac}});
  }

  Verdict process(Bytes frame, std::uint16_t rx_port = 0) {
    packets_.clear();
    packets_.emplace_back(std::move(frame));
    runner_.process(chunk_, packets_, rx_port);
    last_ = packets_[0].frame();
    return chunk_.verdicts[0];
  }
  std::string reason(Bytes frame) { return reason_of(function_, process(std::move(frame))); }

  /// Asserts that the function's result for a packet is one that the oracle permits. Counts the reason in `seen`.
  void check(const Bytes& in, const Bytes& out, Verdict verdict, const PortInfo& rx_port,
             std::map<std::string, int>& seen) {
    const std::string found = reason_of(function_, verdict);
    if (const auto objection = Judge::objection(in, rx_port.mac.value, rx_port.promiscuous)) {
      ASSERT_EQ(found, *objection) << testing::PrintToString(in);
    } else {
      const auto wanted = Judge::judge(network_, in);
      if (!wanted.reason.empty()) {
        ASSERT_EQ(found, wanted.reason) << testing::PrintToString(in);
      } else if (found.empty()) {
        const std::uint64_t mac = oracle::mac(out, 0);
        ASSERT_TRUE(wanted.next_hops.contains({verdict.value, mac})) << testing::PrintToString(in);
        const PortInfo& egress = network_.ports[verdict.value];
        ASSERT_EQ(out, Judge::forwarded(in, mac, egress.mac.value, egress.mtu));
      } else {
        ASSERT_TRUE(wanted.member_reasons.contains(found)) << found << testing::PrintToString(in);
      }
    }
    if (!found.empty()) {
      ASSERT_EQ(out, in) << "a packet that is not sent stays as it came";
    }
    ++seen[found];
  }

  NoReaders no_readers_;
  typename Judge::Network network_;
  Function function_;
  Runner runner_{function_};
  Chunk chunk_;
  std::vector<Packet> packets_;
  Bytes last_;
};

}  // namespace penumbra::forwarding::testing_support
