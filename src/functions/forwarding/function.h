// SPDX-License-Identifier: Apache-2.0
//
// Forwards packets of one address family by longest prefix match.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/routes.h"
#include "functions/forwarding/ethernet.h"
#include "functions/forwarding/family.h"
#include "functions/forwarding/fib.h"
#include "functions/forwarding/tables.h"
#include "penumbra/lookup_function.h"

namespace penumbra::forwarding {

template <ForwardingFamily Family>
class ForwardingFunction final : public LookupFunction {
 public:
  /// Forwards between the ports of the context. `lookup` is an index of Family::kLookups. Throws std::invalid_argument
  /// if addresses of the ports conflict.
  explicit ForwardingFunction(const FunctionContext& context, std::size_t lookup = 0);

  /// Returns the table, which may change while packets are forwarded.
  Fib<Family>& fib() { return tables_.fib; }
  /// Fills the table with the configuration's routes. If the configuration follows route sources, the feed fills the
  /// table too. Throws InputError. Must be called once, before differences() and exchange().
  void configure(const ConfigNode& config, const FunctionContext& context);

  const std::vector<Reason>& reasons() const override { return *reasons_; }
  std::vector<std::string> warnings() const override { return warnings_; }
  std::string shader() const override { return tables_.fib.shader(); }
  Table* table() override { return &tables_.fib.table(); }
  void bind(std::span<const PortInfo> ports) override;
  void pre_shade(Chunk& chunk) noexcept override;
  void post_shade(Chunk& chunk) noexcept override;
  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override;
  void exchange(Function& next) override;
  std::unique_ptr<Change> prepare(std::string_view command, std::string_view action,
                                  const CommandEntries& entries) override;
  std::vector<ConfigTable> tables() const override;
  void tables_are_saved() override;
  std::string trace(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override;

 private:
  using Outcome = typename Family::Outcome;
  using Address = typename Family::Address;
  using Neighbours = std::span<const control::NeighbourOf<typename Family::AddressFamily>>;

  bool is_for_another(Outcome outcome, const std::uint8_t* frame) const;
  void forget_neighbours(Neighbours known, Neighbours kept);

  std::size_t lookup_;
  std::atomic<bool> drops_link_local_{Family::kLooksUpLinkLocal};
  const std::vector<Reason>* reasons_ = &Family::reasons(false);
  std::vector<std::string> warnings_;
  std::vector<StationFilter> stations_;  ///< by port index
  Tables<Family> tables_;
};

/// Creates a function from its configuration (FunctionInfo::create).
template <ForwardingFamily Family>
std::unique_ptr<Function> create(const ConfigNode& config, const FunctionContext& context);

}  // namespace penumbra::forwarding
