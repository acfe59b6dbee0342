// SPDX-License-Identifier: Apache-2.0
//
// Implements an OpenFlow switch with one table. The switch follows GSwitch (M. Varvello et al.: Multilayer Packet
// Classification with Graphics Processing Units, IEEE/ACM ToN 2016). See docs/functions/gswitch.md.
#include "functions/gswitch/gswitch.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <optional>
#include <random>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "control/rules/openflow10.h"
#include "functions/gswitch/commands.h"
#include "functions/gswitch/keyed_switch.h"
#include "functions/gswitch/rewrite.h"
#include "functions/rule_list/show.h"
#include "penumbra/errors.h"

namespace penumbra::gswitch {
namespace {

/// Makes a state odd while it exists.
class Changing {
 public:
  explicit Changing(std::atomic<std::uint32_t>& state) : state_(state) { state_.fetch_add(1); }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;
  ~Changing() { state_.fetch_add(1); }

 private:
  std::atomic<std::uint32_t>& state_;
};

/// Returns the first port that differs from `but`.
std::uint16_t first_but(std::span<const std::uint16_t> ports, std::uint16_t but) {
  return ports[0] != but ? ports[0] : ports[1];
}

/// Holds flows with OpenFlow 1.0's fields in a structure for them.
class NarrowRules final : public rule_list::Rules<SparseMatch> {
 public:
  NarrowRules(const std::string& structure, GracePeriods& grace_periods)
      : rules_(RuleFields::openflow, structure, std::random_device{}(), grace_periods) {}

  /// The match must have no other fields.
  std::uint32_t add(const SparseMatch& match, std::uint64_t rank) override {
    return rules_.add(control::rules::openflow10(match).value(), rank);
  }
  void remove(std::uint32_t number) override { rules_.remove(number); }
  void commit() override { rules_.commit(); }
  const std::string& shader() const override { return rules_.shader(); }
  Table& table() override { return rules_.table(); }
  std::size_t memory_bytes() const override { return rules_.memory_bytes(); }

 private:
  rule_list::TableRules rules_;
};

std::unique_ptr<rule_list::Rules<SparseMatch>> make_rules(const Settings& settings, GracePeriods& grace_periods) {
  const std::string& structure = settings.structure.name();
  if (settings.fields == Fields::openflow10) return std::make_unique<NarrowRules>(structure, grace_periods);
  return std::make_unique<rule_list::SparseRules>(structure, std::random_device{}(), grace_periods);
}

}  // namespace

GSwitch::GSwitch(Settings settings, const FunctionContext& context)
    : list_(make_rules(settings, context.grace_periods), context.workers),
      cache_entries_(settings.cache),
      counters_(context.workers),
      structure_(std::move(settings.structure)),
      fields_(settings.fields),
      grace_periods_(context.grace_periods),
      ports_(context.ports.begin(), context.ports.end()),
      warnings_(std::move(settings.warnings)) {
  put_in_force(std::move(settings.entries));
  saved_ = own_flows();
}

const std::vector<Reason>& GSwitch::reasons() const {
  constexpr auto kDrop = Verdict::Kind::drop;
  constexpr auto kPunt = Verdict::Kind::punt;
  static const std::vector<Reason> kReasons{
      {"miss", kDrop, "no flow matches it"},
      {"miss_punted", kPunt, "no flow matches it, and the configuration gives it to the host"},
      {"dropped_by_flow", kDrop, "its flow has no output"},
      {"controller", kPunt, "its flow says so"},
      {"local", kPunt, "its flow says so"},
      {"same_port", kDrop, "all that its flow outputs to is where it came from"},
      {"too_long", kDrop, "longer than the port's MTU; one for each port that it is not output to"},
      {"no_buffer", kDrop, "no memory for a copy, or no room for a tag"},
      {"runt", kDrop, "frame shorter than its Ethernet header or tag"},
  };
  return kReasons;
}

/// Must be called before the first packet.
void GSwitch::bind(std::span<const PortInfo> ports) {
  ports_.assign(ports.begin(), ports.end());
  for (auto& [text, actions] : plans_) actions->sort(ports_);
}

/// Sets the fields of the packet, and its verdict if it is sent.
std::uint16_t GSwitch::carry_out(const CompiledActions& actions, PacketLayers layers, Chunk& chunk,
                                 std::uint8_t packet) const noexcept {
  switch (actions.kind) {
    case CompiledActions::Kind::drop:
      return kDroppedByFlow;
    case CompiledActions::Kind::miss_dropped:
      return kMiss;
    case CompiledActions::Kind::miss_punted:
      return kMissPunted;
    case CompiledActions::Kind::output:
      return output(actions, layers, chunk, packet);
    case CompiledActions::Kind::to_controller:
    case CompiledActions::Kind::to_local:
    case CompiledActions::Kind::in_port:
      break;
  }
  if (!set_fields(*chunk.packets[packet], layers, actions.variants[0].sets)) return kNoBuffer;
  if (actions.kind != CompiledActions::Kind::in_port)
    return actions.kind == CompiledActions::Kind::to_local ? kLocal : kController;
  chunk.verdicts[packet] = Verdict::send(chunk.rx_port);
  return kDone;
}

std::uint16_t GSwitch::output(const CompiledActions& actions, PacketLayers layers, Chunk& chunk,
                              std::uint8_t packet) const noexcept {
  rte_mbuf& mbuf = *chunk.packets[packet];
  const std::size_t header_bytes = kEthernetBytes + (layers.is_tagged ? kTagBytes : 0);
  const auto payload_bytes = static_cast<std::uint32_t>(mbuf.pkt_len - header_bytes);
  const CompiledActions::OutputPorts first = actions.output_ports(0, payload_bytes, chunk.rx_port, ports_);
  const CompiledActions::OutputPorts second = actions.output_ports(1, payload_bytes, chunk.rx_port, ports_);
  const int too_short = first.too_short + second.too_short;
  if (first.count + second.count == 0) return too_short == 0 ? kSamePort : kTooLong;
  if (!set_fields(mbuf, layers, actions.variants[0].sets)) return kNoBuffer;
  Replication& replication = chunk.replications[packet];
  replication = {.ports = first.count > 0 ? first.ports : second.ports,
                 .dropped = static_cast<std::uint16_t>(too_short),
                 .reason = drop_or_punt(kTooLong).value};
  if (first.count > 0 && second.count > 0) {
    rte_mbuf* const other = copy_packet(mbuf, *mbuf.pool);
    if (other == nullptr) return kNoBuffer;
    if (!set_fields(*other, layers, actions.variants[1].sets)) {
      rte_pktmbuf_free(other);
      return kNoBuffer;
    }
    replication.other = other;
    replication.other_ports = second.ports;
  } else if (second.count > 0 && !set_fields(mbuf, layers, actions.variants[1].sets)) {
    return kNoBuffer;
  }
  chunk.verdicts[packet] = first.count + second.count + too_short == 1
                               ? Verdict::send(first_but(replication.ports, chunk.rx_port))
                               : Verdict::replicate();
  return kDone;
}

std::vector<std::string> GSwitch::differences(const Function& next, const ConfigNode& config) const {
  const auto& other = dynamic_cast<const GSwitch&>(next);
  structure_.require_same(other.structure_, config);
  if (cache_entries_ != other.cache_entries_) {
    const ConfigNode node = config.get("cache");
    throw(node.present() ? node : config).error("another `cache` takes a restart");
  }
  if (fields_ == Fields::openflow10 && other.fields_ == Fields::all) {
    const ConfigNode node = config.get("fields");
    throw(node.present() ? node : config.at("flows"))
        .error("fields that OpenFlow 1.0 does not have take a restart, because the running table has no others");
  }
  const auto same = [](const PortInfo& a, const PortInfo& b) { return a.name == b.name; };
  if (!std::ranges::equal(ports_, other.ports_, same)) {
    throw config.error("other ports take a restart, as flows name ports by number");
  }
  const rule_list::Changes changes = rule_list::compare<FlowEntry>(list_.entries(), other.list_.entries());
  std::vector<std::string> lines;
  if (changes.added != 0) lines.push_back(fmt::format("flows added: {}", changes.added));
  if (changes.removed != 0) lines.push_back(fmt::format("flows removed: {}", changes.removed));
  return lines;
}

/// Takes the flows of `next`. The table of `next` stays, because it may not have the fields of this one.
void GSwitch::exchange(Function& next) {
  auto& other = dynamic_cast<GSwitch&>(next);
  std::vector<FlowEntry> before = list_.entries();
  put_in_force(other.exchanged_ ? *other.exchanged_ : other.list_.entries());
  other.exchanged_ = std::move(before);
  std::swap(saved_, other.saved_);
}

std::unique_ptr<Change> GSwitch::prepare(std::string_view /*command*/, std::string_view action,
                                         const CommandEntries& entries) {
  std::vector<FlowEntry> before = own_flows();
  auto after = edit(before, action, entries, ports_.size(), fields_);
  const auto put = [this](std::vector<FlowEntry> flows) {
    flows.push_back(list_.entries().back());  // the entry for a miss
    put_in_force(std::move(flows));
  };
  return make_replacement(std::move(before), std::move(after.entries), after.counts, put);
}

std::vector<ConfigTable> GSwitch::tables() const {
  const auto lines = [this] {
    std::string text;
    for (const FlowEntry& flow : own_flows()) text += text_of(flow) + "\n";
    return text;
  };
  const auto unsaved = [this](std::size_t most) { return rule_list::differing(saved_, own_flows(), text_of, most); };
  return {{.key = "flows", .lines = lines, .unsaved = unsaved}};
}

void GSwitch::put_in_force(std::vector<FlowEntry> entries) {
  std::unordered_map<const CompiledActions*, const CompiledActions*> own;  // own actions by the actions of entries
  std::unordered_set<const CompiledActions*> used;
  for (const FlowEntry& entry : entries) {
    if (own.contains(entry.actions.get())) continue;
    std::unique_ptr<CompiledActions>& actions = plans_[entry.actions->text];
    if (!actions) {
      actions = std::make_unique<CompiledActions>(*entry.actions);
      actions->sort(ports_);
    }
    own[entry.actions.get()] = actions.get();
    used.insert(actions.get());
  }
  {
    const Changing changing(state_);
    list_.replace(std::move(entries), [&](std::uint32_t number, const FlowEntry& entry) {
      plan_of_[number] = own.at(entry.actions.get());
    });
  }
  flows_.store(list_.entries().size() - 1, std::memory_order_relaxed);
  if (plans_.size() == used.size()) return;
  grace_periods_.elapsed(grace_periods_.start(), true);  // packets in flight may still use the old actions
  std::erase_if(plans_, [&](const auto& actions) { return !used.contains(actions.second.get()); });
}

std::string GSwitch::trace(const Chunk& chunk, std::uint16_t packet) const {
  const auto number = number_of(chunk, packet);
  if (!number) return "no flow was looked for";
  const std::uint32_t line = list_.line(*number);
  if (line == 0 || line == rule_list::kByCommand) return plan_of_[*number]->text;
  return fmt::format("flow of line {}: {}", line, plan_of_[*number]->text);
}

nlohmann::ordered_json GSwitch::explain(const Chunk& chunk, std::uint16_t packet) const {
  auto explained = nlohmann::ordered_json::object();
  const auto number = number_of(chunk, packet);
  const FlowEntry* const entry = number ? list_.entry(*number) : nullptr;
  if (entry == nullptr) return explained;
  explained["flow"] = text_of(*entry);
  explained["line"] = rule_list::line_or_null(entry->line);
  return explained;
}

nlohmann::ordered_json GSwitch::show(std::string_view topic, std::span<const std::string> arguments) const {
  if (topic == "gswitch") return rule_list::show_entries(list_, "gswitch", "flow", arguments, text_of);
  if (topic != "gswitch-shader") {
    throw std::invalid_argument("there is nothing to show under '" + std::string(topic) + "'");
  }
  if (!arguments.empty()) throw std::invalid_argument("gswitch-shader takes no arguments");
  auto shown = structure_.show(flows_.load(std::memory_order_relaxed), list_.memory_bytes());
  shown["fields"] = fields_ == Fields::all ? "all" : "openflow10";
  shown["cache"] = {{"entries", cache_entries_},
                    {"found_in_cache", counters_.sum(kFoundInCache)},
                    {"found_in_table", counters_.sum(kFoundInTable)}};
  return shown;
}

std::vector<FunctionMetric> GSwitch::metrics() const {
  const auto packets_of = [this](Counted counted, const char* found) {
    return FunctionMetric{.name = "gswitch_packets",
                          .help = "Packets by the place where their flow was found.",
                          .kind = FunctionMetric::Kind::counter,
                          .value = counters_.sum(counted),
                          .labels = {{"found", found}}};
  };
  return {{.name = "gswitch_flows",
           .help = "Flows of the table.",
           .kind = FunctionMetric::Kind::gauge,
           .value = flows_.load(std::memory_order_relaxed)},
          packets_of(kFoundInCache, "cache"),
          packets_of(kFoundInTable, "table")};
}

std::unique_ptr<Function> make_gswitch(Settings settings, const FunctionContext& context) {
  if (settings.fields == Fields::all) return std::make_unique<KeyedSwitch<SparseWords>>(std::move(settings), context);
  return std::make_unique<KeyedSwitch<rules_key>>(std::move(settings), context);
}

}  // namespace penumbra::gswitch
