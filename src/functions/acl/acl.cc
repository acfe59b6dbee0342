// SPDX-License-Identifier: Apache-2.0
//
// An access list: packets that it denies are dropped, others go on to the functions behind. See docs/functions/acl.md.
#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <utility>

#include "base/row_limit.h"
#include "functions/acl/settings.h"
#include "functions/rule_list/hits.h"
#include "functions/rule_list/list.h"
#include "penumbra/errors.h"
#include "penumbra/function.h"
#include "shaders/flows/flow_packet.h"
#include "shaders/rules/rule_choice.h"

namespace penumbra::acl {
namespace {

enum : std::uint16_t { kDenied, kDeniedByDefault, kMalformed };

/// Of a chunk.
struct Columns {
  std::array<rules_key, Chunk::kCapacity> wide;
  std::array<rules_narrow_key, Chunk::kCapacity> narrow;
  std::array<std::uint32_t, Chunk::kCapacity> numbers;
  std::array<std::uint32_t, Chunk::kCapacity> bytes;
};

std::uint64_t steady_ms() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::steady_clock;
  return static_cast<std::uint64_t>(duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count());
}

/// What of an entry workers need to know, by its number.
struct Decision {
  std::uint32_t line;  ///< 0: of the default
  std::uint32_t permits;
};

class Acl final : public Function {
 public:
  Acl(Settings settings, std::vector<RuleStructureCost> costs, GracePeriods& grace_periods)
      : family_(settings.family),
        structure_(settings.structure.empty() ? costs.front().structure : settings.structure),
        is_chosen_(settings.structure.empty()),
        costs_(std::move(costs)),
        list_(fields_of(family_), structure_, std::random_device{}(), grace_periods) {
    put_in_force(std::move(settings.entries));
  }

  const std::vector<Reason>& reasons() const override {
    static const std::vector<Reason> kReasons{
        {"denied", Verdict::Kind::drop, "an entry of the list denies it"},
        {"denied_by_default", Verdict::Kind::drop, "no entry of the list matches it, and the default is to deny"},
        {"malformed", Verdict::Kind::drop, "an IP header that is wrong or not all there: nobody can say what it is"}};
    return kReasons;
  }
  std::string shader() const override { return list_.shader(); }
  Table* table() override { return &list_.table(); }
  void bind(std::span<const PortInfo> /*ports*/) override {}

  void pre_shade(Chunk& chunk) noexcept override {
    auto& columns = *chunk.columns.take<Columns>(1);
    const bool narrow = family_ == Family::ipv4;
    std::uint32_t items = 0;
    for (std::uint16_t i = 0; i < chunk.size; ++i) {
      if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
      const rte_mbuf* const packet = chunk.packets[i];
      const auto* const frame = rte_pktmbuf_mtod(packet, const std::uint8_t*);
      flow_key flow;
      FlowPacket its;
      const FlowFrame what = read_frame(frame, packet->data_len, packet->pkt_len, flow, its, PortsOf::first_fragments);
      if (what == FlowFrame::malformed) chunk.verdicts[i] = drop(kMalformed);
      if (what != FlowFrame::flow || !is_decided_on(flow)) continue;
      if (narrow) {
        columns.narrow[items] = narrow_key(flow);
      } else {
        columns.wide[items] = wide_key(flow);
      }
      columns.bytes[items] = its.bytes;
      chunk.packet_of_item[items++] = static_cast<std::uint8_t>(i);
    }
    chunk.batch.items = items;
    chunk.batch.inputs[0] = narrow ? static_cast<const void*>(columns.narrow.data()) : columns.wide.data();
    chunk.batch.outputs[0] = columns.numbers.data();
    chunk.kept = &columns;
  }

  void post_shade(Chunk& chunk) noexcept override {
    const auto& columns = *static_cast<const Columns*>(chunk.kept);
    const std::uint64_t now = steady_ms();
    for (std::uint32_t item = 0; item < chunk.batch.items; ++item) {
      const std::uint32_t number = columns.numbers[item];
      const Decision& decision = decisions_[number];
      hits_.count(chunk.worker, number, columns.bytes[item], now);
      if (decision.permits != 0) continue;
      chunk.verdicts[chunk.packet_of_item[item]] = drop(line_of(decision) == 0 ? kDeniedByDefault : kDenied);
    }
  }

  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override {
    const auto& other = dynamic_cast<const Acl&>(next);
    if (other.family_ != family_) throw config.get("family").error("another family takes a restart");
    if (!other.is_chosen_ && other.structure_ != structure_) {
      throw config.get("shader").error("another shader than '" + structure_ + "' takes a restart");
    }
    const rule_list::Changes changes = rule_list::compare<Entry>(list_.entries(), other.list_.entries());
    std::vector<std::string> lines;
    if (changes.added != 0) lines.push_back(fmt::format("entries added: {}", changes.added));
    if (changes.removed != 0) lines.push_back(fmt::format("entries removed: {}", changes.removed));
    return lines;
  }
  /// The other one's list is in force here, but not here's in the other one: no packets go through that.
  void exchange(Function& next) override {
    auto& other = dynamic_cast<Acl&>(next);
    std::vector<Entry> before = list_.entries();
    put_in_force(other.list_.entries());
    other.list_.replace(std::move(before), [](std::uint32_t, const Entry&) {});
  }

  std::string trace(const Chunk& chunk, std::uint16_t packet) const override {
    const auto* const items = chunk.packet_of_item.data();
    const auto* const item = std::find(items, items + chunk.batch.items, packet);
    if (item == items + chunk.batch.items) return "not decided on";
    const auto& columns = *static_cast<const Columns*>(chunk.kept);
    const Decision& decision = decisions_[columns.numbers[static_cast<std::size_t>(item - items)]];
    const std::uint32_t line = line_of(decision);
    return fmt::format("{} by {}", decision.permits != 0 ? "permitted" : "denied",
                       line == 0 ? std::string("default") : fmt::format("the entry of line {}", line));
  }

  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override {
    if (topic == "acl") return show_entries(arguments);
    if (topic != "acl-shader")
      throw std::invalid_argument("there is nothing to show under '" + std::string(topic) + "'");
    if (!arguments.empty()) throw std::invalid_argument("acl-shader takes no arguments");
    return show_structure();
  }
  std::vector<FunctionMetric> metrics() const override {
    return {{.name = "acl_entries",
             .help = "Entries of the access list, with the default.",
             .kind = FunctionMetric::Kind::gauge,
             .value = entries_.load(std::memory_order_relaxed)}};
  }

 private:
  bool is_decided_on(const flow_key& flow) const {
    return family_ == Family::both || is_ipv6(flow) == (family_ == Family::ipv6);
  }
  static std::uint32_t line_of(const Decision& decision) {
    return std::atomic_ref(const_cast<std::uint32_t&>(decision.line)).load(std::memory_order_relaxed);
  }

  void put_in_force(std::vector<Entry> entries) {
    list_.replace(std::move(entries), [this](std::uint32_t number, const Entry& entry) {
      hits_.clear(number);
      decisions_[number] = {.line = entry.line, .permits = entry.permits ? 1U : 0U};
    });
    // Those that go on may stand elsewhere now.
    for (std::size_t i = 0; i < list_.entries().size(); ++i) {
      std::atomic_ref(decisions_[list_.number(i)].line).store(list_.entries()[i].line, std::memory_order_relaxed);
    }
    entries_.store(list_.entries().size(), std::memory_order_relaxed);
  }

  nlohmann::ordered_json show_entries(std::span<const std::string> arguments) const {
    const RowLimit limit(arguments);
    if (!limit.rest().empty()) throw std::invalid_argument("acl does not take " + quote(limit.rest().front()));
    const std::uint64_t now = steady_ms();
    auto rows = nlohmann::ordered_json::array();
    const std::size_t total = list_.entries().size();
    for (std::size_t i = 0; i < std::min(limit.most(), total); ++i) {
      const Entry& entry = list_.entries()[i];
      const rule_list::Hits hits = hits_.of(list_.number(i));
      auto& row = rows.emplace_back();
      row["line"] = entry.line == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(entry.line);
      row["entry"] = entry.text;
      row["packets"] = hits.packets;
      row["bytes"] = hits.bytes;
      row["last_hit_seconds_ago"] = hits.last_ms == 0
                                        ? nlohmann::ordered_json()
                                        : nlohmann::ordered_json(static_cast<double>(now - hits.last_ms) / 1000);
    }
    return RowLimit::answer("acl", std::move(rows), std::min(limit.most(), total), total);
  }

  nlohmann::ordered_json show_structure() const {
    nlohmann::ordered_json shown{{"family", name_of(family_)},
                                 {"structure", structure_},
                                 {"why", is_chosen_ ? "the fastest when the list was loaded" : "the configuration"},
                                 {"entries", list_.entries().size()},
                                 {"memory_bytes", list_.memory_bytes()}};
    for (const RuleStructureCost& cost : costs_) {
      shown["measured"][cost.structure] = {{"ns_per_packet", cost.ns_per_key}, {"memory_bytes", cost.memory_bytes}};
    }
    return shown;
  }

  const Family family_;
  const std::string structure_;
  const bool is_chosen_;
  const std::vector<RuleStructureCost> costs_;  ///< none if nothing was chosen
  rule_list::List<Entry> list_;
  HugeArray<Decision> decisions_{kMostRules + 1};  ///< by number
  mutable rule_list::HitCounters hits_;
  std::atomic<std::size_t> entries_{0};
};

std::unique_ptr<Function> create(const ConfigNode& config, const FunctionContext& context) {
  Settings settings = read_settings(config);
  try {
    std::vector<RuleStructureCost> costs;
    if (settings.structure.empty()) {
      std::vector<Rule> rules;
      rules.reserve(settings.entries.size());
      for (const Entry& entry : settings.entries) rules.push_back({.match = entry.match, .priority = 0});
      costs = measure_rule_structures(fields_of(settings.family), rules, std::random_device{}());
    }
    return std::make_unique<Acl>(std::move(settings), std::move(costs), context.grace_periods);
  } catch (const std::length_error& error) {
    throw config.at("rules").error(error.what());
  } catch (const std::system_error& error) {
    throw config.error(error.what());
  }
}

[[maybe_unused]] const bool kRegistered =
    register_function({.name = "acl",
                       .summary = "an access list: permits and denies packets by their 5-tuples",
                       .topics = {{"acl", "[all]: the entries, and what each has decided", {RowLimit::flag()}},
                                  {"acl-shader", "how the list is searched, and why so"}},
                       .create = create});

}  // namespace
}  // namespace penumbra::acl
