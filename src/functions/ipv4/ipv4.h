// SPDX-License-Identifier: Apache-2.0
//
// IPv4 forwarding: RFC 1812's fast path. See docs/functions/ipv4.md for the order of its checks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "functions/ipv4/configuration.h"
#include "functions/ipv4/feed_listener.h"
#include "functions/ipv4/fib.h"
#include "functions/ipv4/header.h"
#include "functions/ipv4/outcome.h"
#include "penumbra/function.h"

namespace penumbra::ipv4 {

class Ipv4Function final : public Function {
 public:
  /// Forwards between the context's ports. Throws std::invalid_argument if their addresses clash.
  explicit Ipv4Function(const FunctionContext& context);

  /// For changes while packets are forwarded.
  Ipv4Fib& fib() { return fib_; }
  /// Fills the table: with the configuration's routes, and if it follows others, by the feed. Throws InputError. Once,
  /// before differences() and exchange().
  void configure(const ConfigNode& config, const FunctionContext& context);

  const std::vector<Reason>& reasons() const override { return *reasons_; }
  std::string shader() const override { return "ipv4_dir24_8"; }
  Table* table() override { return &fib_.table(); }
  void bind(std::span<const PortInfo> ports) override;
  void pre_shade(Chunk& chunk) noexcept override;
  void post_shade(Chunk& chunk) noexcept override;
  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override;
  void exchange(Function& next) override;
  std::string trace(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override;

 private:
  Verdict verdict(Outcome outcome) const;
  void forget_neighbours(std::span<const control::Neighbour> known, std::span<const control::Neighbour> kept);
  nlohmann::ordered_json show_routes(std::span<const std::string> arguments) const;
  nlohmann::ordered_json show_neighbours() const;
  nlohmann::ordered_json show_sources() const;

  const std::vector<Reason>* reasons_ = &outcome_reasons();
  std::vector<PortInfo> ports_;
  std::vector<StationFilter> stations_;  ///< by port
  Ipv4Fib fib_;
  FeedListener listener_{fib_};
  Configuration configuration_;                      ///< as it was read last
  std::unique_ptr<RouteSubscription> subscription_;  ///< null: the configuration's routes are all
};

}  // namespace penumbra::ipv4
