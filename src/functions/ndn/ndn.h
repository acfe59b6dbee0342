// SPDX-License-Identifier: Apache-2.0
//
// Forwards NDN packets by names. docs/functions/ndn.md lists the order of its checks.
//
// There is no pending-interest table and no content store. PIT tokens route packets back instead. The tables would
// belong after the look-up of an Interest (forward_interest) and after the parsing of Data (forward_back).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "functions/forwarding/ethernet.h"
#include "functions/ndn/lp_header.h"
#include "functions/ndn/packet.h"
#include "functions/ndn/pit_token.h"
#include "functions/ndn/reasons.h"
#include "functions/ndn/transport.h"
#include "penumbra/huge_memory.h"
#include "penumbra/lookup_function.h"
#include "tables/ndn_names/name_table.h"

struct rte_mbuf;

namespace penumbra::ndn {

class NdnFunction final : public LookupFunction {
 public:
  /// `token_key` makes PIT tokens. `table` has the routes: its next hops are indices of `faces`. `warnings` are of the
  /// configuration.
  NdnFunction(const FunctionContext& context, std::vector<Face> faces, std::unique_ptr<NameTable> table,
              NameKey token_key, std::vector<std::string> warnings = {});

  const std::vector<Reason>& reasons() const override { return outcome_reasons(); }
  std::string shader() const override { return "ndn_names"; }
  Table* table() override { return &table_->table(); }
  std::vector<std::string> warnings() const override { return warnings_; }
  void bind(std::span<const PortInfo> ports) override;
  void prepare(std::uint16_t worker) noexcept override;
  void pre_shade(Chunk& chunk) noexcept override;
  void post_shade(Chunk& chunk) noexcept override;
  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override;
  void exchange(Function& next) override;
  std::string trace(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override;

 private:
  /// Holds a received packet with its face.
  struct Incoming {
    NdnPacket packet;
    std::uint16_t face = 0;
    std::uint16_t udp_port = 0;
  };
  /// Counts the packets that a worker has exchanged through a face.
  struct FaceCounts {
    std::uint64_t interests_in, interests_out, data_in, data_out, nacks_in, nacks_out;
  };
  /// Represents a change of a route; kNoRoute means no route.
  struct RouteChange {
    std::string name;
    std::uint16_t before = NameTable::kNoRoute, after = NameTable::kNoRoute;
  };
  static constexpr std::uint16_t kNoWorker = 0xFFFF;  ///< disables counting

  static std::uint16_t counting_worker(const Chunk& chunk) { return chunk.is_dry_run ? kNoWorker : chunk.worker; }

  std::optional<Outcome> objection(rte_mbuf& packet, std::uint16_t port, Incoming& incoming) const;
  Verdict forward_interest(rte_mbuf& packet, Incoming& incoming, std::uint16_t next_hop, std::uint16_t worker);
  Verdict forward_back(rte_mbuf& packet, Incoming& incoming, std::uint16_t worker);
  Verdict send(rte_mbuf& packet, Incoming& incoming, const LpHeader& header, std::uint16_t face, std::uint16_t udp_port,
               std::uint64_t FaceCounts::* count, std::uint16_t worker);
  void count(std::uint16_t face, std::uint64_t FaceCounts::* count, std::uint16_t worker);
  std::vector<RouteChange> changes_to(const NameTable& next) const;
  nlohmann::ordered_json show_names(std::span<const std::string> arguments) const;
  nlohmann::ordered_json show_faces() const;

  std::vector<PortInfo> ports_;
  std::vector<forwarding::StationFilter> stations_;  ///< by port index
  const NameKey token_key_;
  const std::vector<std::string> warnings_;
  std::atomic<std::uint64_t> next_nonce_;  ///< counter; mixed to make a Nonce
  std::unique_ptr<NameTable> table_;
  Transport transport_;
  const std::size_t workers_;
  HugeArray<FaceCounts> counts_;  ///< by worker, then by face
};

}  // namespace penumbra::ndn
