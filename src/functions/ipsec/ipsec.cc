// SPDX-License-Identifier: Apache-2.0
//
// The control half of the function: an IPsec gateway. See docs/ipsec.md.
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/row_limit.h"
#include "control/xfrm/text.h"
#include "functions/ipsec/agent.h"
#include "functions/ipsec/reasons.h"
#include "functions/ipsec/sa_table.h"
#include "functions/ipsec/settings.h"
#include "functions/ipsec/show.h"
#include "functions/ipsec/worker.h"
#include "penumbra/bytes.h"
#include "penumbra/function.h"

namespace penumbra::ipsec {
namespace {

namespace xfrm = control::xfrm;

OwnAddress own_address(const Ipv4Address& address) {
  OwnAddress own{.address = {}, .family = AF_INET};
  store_be32(own.address.bytes.data(), address.value);
  return own;
}
OwnAddress own_address(const Ipv6Address& address) {
  OwnAddress own{.address = {}, .family = AF_INET6};
  store_be64(own.address.bytes.data(), address.high);
  store_be64(own.address.bytes.data() + sizeof address.high, address.low);
  return own;
}

class Ipsec final : public Function {
 public:
  Ipsec(Settings settings, std::shared_ptr<const Files> files, const FunctionContext& context)
      : settings_(std::move(settings)),
        files_(std::move(files)),
        table_(settings_.sas, context.grace_periods),
        agent_(settings_, table_, context.workers) {
    if (!settings_.follows()) agent_.load(*files_);
  }

  const std::vector<Reason>& reasons() const override { return reasons_of_ipsec(); }
  std::vector<FunctionShader> shaders() override { return {{"cipher_jobs", &table_.keys()}}; }
  std::vector<std::string> warnings() const override { return warnings_of(*files_, settings_); }

  void bind(std::span<const PortInfo> ports) override {
    std::vector<PortEnd> ends;
    for (const PortInfo& port : ports) {
      PortEnd& end = ends.emplace_back();
      if (const auto found = settings_.interfaces.find(port.name); found != settings_.interfaces.end()) {
        end.interface_id = found->second;
      }
      auto& addresses = end.addresses;
      for (const auto& each : port.addresses) addresses.push_back(own_address(each.address));
      for (const auto& each : port.ipv6_addresses) addresses.push_back(own_address(each.address));
    }
    agent_.set_ports(std::move(ends));
  }

  std::unique_ptr<FunctionWorker> open_worker(const WorkerContext& context) override {
    // A dry run has no pool, and lends nothing.
    if (context.pool != nullptr) agent_.start();
    EventRing* const events = context.pool != nullptr ? &agent_.ring(context.index) : nullptr;
    return std::make_unique<IpsecWorker>(IpsecWorker::Parts{.function = this,
                                                            .table = &table_,
                                                            .events = events,
                                                            .mtu = settings_.mtu,
                                                            .fragments_first = settings_.fragments_first,
                                                            .overtakings = &overtakings_},
                                         context);
  }

  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override {
    const auto& other = dynamic_cast<const Ipsec&>(next);
    const Settings &before = settings_, &after = other.settings_;
    if (before.socket != after.socket || before.marks != after.marks || before.sas != after.sas ||
        before.mtu != after.mtu || before.fragments_first != after.fragments_first ||
        before.accepts_lost_marks != after.accepts_lost_marks || before.interfaces != after.interfaces) {
      throw config.error("of `ipsec`, only the files `states` and `policies` change without a restart");
    }
    if (before.follows()) return {};
    std::vector<std::string> changes;
    const std::size_t states = changed_states(*files_, *other.files_);
    if (states > 0) changes.push_back(fmt::format("{} SAs are added, removed or changed", states));
    if (texts_of(files_->policies) != texts_of(other.files_->policies)) {
      changes.push_back(fmt::format("policies: {}, were {}", other.files_->policies.size(), files_->policies.size()));
    }
    return changes;
  }
  void exchange(Function& next) override {
    auto& other = dynamic_cast<Ipsec&>(next);
    agent_.load(*other.files_);
    std::swap(files_, other.files_);
    std::swap(settings_.states, other.settings_.states);
    std::swap(settings_.policies, other.settings_.policies);
  }

  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override {
    if (topic == "ipsec") {
      if (!arguments.empty()) throw std::invalid_argument("ipsec takes no arguments");
      return show_state();
    }
    const RowLimit limit(arguments);
    if (!limit.rest().empty()) throw std::invalid_argument(std::string(topic) + " takes only `all` and `--limit N`");
    const auto lock = table_.lock();
    if (topic == "sa") return show_sas(table_.current(), settings_.mtu, limit);
    if (topic == "policy") return show_policies(table_.current(), limit);
    throw std::invalid_argument("there is nothing to show under '" + std::string(topic) + "'");
  }

  std::vector<FunctionMetric> metrics() const override {
    constexpr auto kGauge = FunctionMetric::Kind::gauge;
    const AgentState state = agent_.state();
    const auto lock = table_.lock();
    return {{.name = "ipsec_sas", .help = "SAs.", .kind = kGauge, .value = table_.current().sas.size()},
            {.name = "ipsec_policies", .help = "Policies.", .kind = kGauge, .value = table_.policies().all().size()},
            {.name = "ipsec_knows_policies",
             .help = "1 if policies are known; otherwise traffic is dropped.",
             .kind = kGauge,
             .value = state.knows_policies ? 1U : 0U},
            {.name = "ipsec_keeper_connected",
             .help = "1 if the keeper of SAs is connected.",
             .kind = kGauge,
             .value = state.is_connected ? 1U : 0U},
            {.name = "ipsec_blocks", .help = "Blocks of sequence numbers lent.", .value = state.blocks},
            {.name = "ipsec_blocks_refused",
             .help = "Blocks of sequence numbers that were for another SA or key, or were lent before.",
             .value = state.blocks_refused},
            {.name = "ipsec_acquires", .help = "SAs asked for, because a policy had none.", .value = state.acquires},
            {.name = "ipsec_overtakings",
             .help = "Groups of sealed packets that left before earlier ones of another worker.",
             .value = overtakings_.load(std::memory_order_relaxed)},
            {.name = "ipsec_acquires_limited",
             .help = "Packets whose SA was not asked for, because many others were.",
             .value = state.acquires_limited},
            {.name = "ipsec_mappings", .help = "New addresses of peers reported.", .value = state.mappings},
            {.name = "ipsec_mappings_limited",
             .help = "Packets from new addresses that were not reported at once, because others just were.",
             .value = state.mappings_limited}};
  }

 private:
  static std::size_t changed_states(const Files& before, const Files& after);
  static std::vector<std::string> texts_of(const std::vector<xfrm::Policy>& policies);

  nlohmann::ordered_json show_state() const {
    const AgentState state = agent_.state();
    const auto lock = table_.lock();
    const Snapshot& now = table_.current();
    nlohmann::ordered_json answer{{"source", settings_.follows() ? "xfrm" : "files"},
                                  {"policies_known", state.knows_policies},
                                  {"sas", now.sas.size()},
                                  {"policies", now.in.size() + now.out.size() + now.forward.size()},
                                  {"blocks_lent", state.blocks},
                                  {"mtu", settings_.mtu}};
    if (settings_.follows()) {
      answer["keeper"] = settings_.socket.string();
      answer["connected"] = state.is_connected;
      answer["connections"] = state.connections;
      answer["blocks_refused"] = state.blocks_refused;
      answer["acquires"] = state.acquires;
      answer["acquires_limited"] = state.acquires_limited;
      answer["mappings"] = state.mappings;
      answer["mappings_limited"] = state.mappings_limited;
    }
    if (!state.problem.empty()) answer["problem"] = state.problem;
    return answer;
  }

  Settings settings_;
  std::shared_ptr<const Files> files_;
  SaTable table_;
  Agent agent_;
  std::atomic<std::uint64_t> overtakings_{0};
};

/// Returns how many SAs are in one of the files, or differ between them, in keys too.
std::size_t Ipsec::changed_states(const Files& before, const Files& after) {
  const auto is_in = [](const xfrm::Sa& sa, const Files& files) {
    return std::ranges::any_of(files.states, [&](const xfrm::Sa& each) {
      return each.settings == sa.settings && each.replay == sa.replay &&
             equal_bytes(each.keys->cipher, sa.keys->cipher, sizeof sa.keys->cipher) != 0 &&
             equal_bytes(each.keys->digest, sa.keys->digest, sizeof sa.keys->digest) != 0;
    });
  };
  std::set<xfrm::SaId> changed;
  for (const xfrm::Sa& sa : before.states) {
    if (!is_in(sa, after)) changed.insert(sa.settings.id);
  }
  for (const xfrm::Sa& sa : after.states) {
    if (!is_in(sa, before)) changed.insert(sa.settings.id);
  }
  return changed.size();
}

std::vector<std::string> Ipsec::texts_of(const std::vector<xfrm::Policy>& policies) {
  std::vector<std::string> texts;
  for (const xfrm::Policy& policy : policies) {
    xfrm::Policy timeless = policy;
    timeless.usage = {};
    texts.push_back(to_text(timeless));
  }
  return texts;
}

std::unique_ptr<Function> create(const ConfigNode& config, const FunctionContext& context) {
  Settings settings = read_settings(config);
  check_interfaces(settings, config.get("interfaces"), context.ports);
  auto files = read_files(settings);
  if (files->states.size() > settings.sas) {
    throw config.error(fmt::format("{} SAs, but `sas` leaves room for {}", files->states.size(), settings.sas));
  }
  return std::make_unique<Ipsec>(std::move(settings), std::move(files), context);
}

[[maybe_unused]] const bool kRegistered = register_function(
    {.name = "ipsec",
     .summary = "protects packets by IPsec (ESP): seals, opens and checks them by policies",
     .topics = {{"sa", "[all]: the security associations, their counters and windows", {RowLimit::flag()}},
                {"policy", "[all]: the policies in their order", {RowLimit::flag()}},
                {"ipsec", "whether policies are known, and where they come from", {}}},
     .create = create,
     .addresses = UsedAddresses::both,
     .has_ticks = true,
     .creates_packets = true});

}  // namespace
}  // namespace penumbra::ipsec
