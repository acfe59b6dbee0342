// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/pipeline/ids.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <system_error>

#include "base/row_limit.h"
#include "functions/ids/pipeline/worker.h"
#include "penumbra/errors.h"

namespace penumbra::ids {

Generation::Generation(std::shared_ptr<CompiledRules> compiled, const Policies& chosen, std::size_t workers)
    : rules(std::move(compiled)), policies(chosen) {
  for (std::size_t i = 0; i < workers; ++i) counts.emplace_back(rules->rules().size());
  const Hyperscan* const hyperscan = rules->packet_group().hyperscan();
  for (std::size_t i = 0; hyperscan != nullptr && i <= workers; ++i) scratches.push_back(hyperscan->make_scratch());
}

Ids::Ids(Settings settings, RuleSet rules, const FunctionContext& context)
    : settings_(std::move(settings)),
      workers_(context.workers),
      key_(random_siphash_key()),
      grace_periods_(context.grace_periods),
      table_(context.grace_periods),
      counts_(context.workers) {
  auto compiled = std::make_shared<CompiledRules>(std::move(rules), Needs::application, settings_.policies.matcher);
  publish(std::make_shared<Generation>(std::move(compiled), settings_.policies, workers_));
}

Ids::~Ids() = default;

const std::vector<penumbra::Reason>& Ids::reasons() const {
  constexpr auto kDrop = Verdict::Kind::drop;
  static const std::vector<penumbra::Reason> kReasons{
      {"dropped_by_rule", kDrop, "a rule with the action drop matches it"},
      {"rejected_by_rule", kDrop, "a rule with the action reject matches it"},
      {"dropped_flow", kDrop, "its flow was dropped before"},
      {"no_flow", kDrop, "the table of flows is full, and the exception policy is to drop"},
      {"limits", kDrop, "a limit ended the verification of a rule, and the exception policy is to drop"},
      {"unreadable", kDrop, "its headers cannot be read, and the exception policy is to drop"},
      {"no_memory", kDrop, "the memory of streams has no room for it, and the exception policy is to drop"},
      {"midstream", kDrop, "the beginning of its connection was not seen, and the exception policy is to drop"},
      {"malformed_message", kDrop, "a message in it is malformed, and the exception policy is to drop"},
      {"invalid_segment", kDrop, "its receiver would not take the segment of TCP, so it was not inspected"},
      {"not_writable", kDrop, "it repeats bytes of a stream with other values, and cannot be rewritten"}};
  return kReasons;
}

std::vector<std::string> Ids::warnings() const {
  std::vector<std::string> warnings = settings_.warnings;
  std::map<std::string, std::size_t> reasons;
  for (const auto& skipped : owned_->rules->not_evaluated()) ++reasons[skipped.reason];
  for (const auto& [reason, count] : reasons) {
    warnings.push_back(fmt::format("ids: {} rules are not evaluated yet: {}", count, reason));
  }
  return warnings;
}

void Ids::bind(std::span<const PortInfo> ports) {
  if (settings_.eve.target.empty()) return;
  EveFormat format{.ports = {}, .community_id = settings_.community_id, .community_seed = settings_.community_seed};
  for (const PortInfo& port : ports) format.ports.push_back(port.name);
  writer_ = std::make_unique<EveWriter>(settings_.eve, std::move(format), workers_, [this] { return statistics(); });
}

StreamSettings Ids::streams_of_a_worker() const {
  StreamSettings streams = settings_.streams;
  streams.options.memory /= workers_;
  return streams;
}

std::unique_ptr<FunctionWorker> Ids::open_worker(const WorkerContext& context) {
  return std::make_unique<Worker>(*this, context);
}

std::vector<std::string> Ids::differences(const Function& next, const ConfigNode& config) const {
  const auto& other = dynamic_cast<const Ids&>(next);
  const auto require_same = [&](bool is_same, const char* key) {
    if (is_same) return;
    const ConfigNode node = config.get(key);
    throw(node.present() ? node : config).error(std::string("another `") + key + "` takes a restart");
  };
  require_same(settings_.eve.target == other.settings_.eve.target, "eve");
  require_same(settings_.eve.kinds == other.settings_.eve.kinds, "events");
  require_same(settings_.eve.stats == other.settings_.eve.stats, "stats");
  require_same(settings_.community_id == other.settings_.community_id, "community_id");
  require_same(settings_.community_seed == other.settings_.community_seed, "community_seed");
  require_same(settings_.flows == other.settings_.flows, "flows");
  // Settings of streams may come from `config`.
  require_same(settings_.streams == other.settings_.streams, "streams");
  BitNames names = names_;
  try {
    other.owned_->rules->number_bits(names);
  } catch (const std::length_error& error) {
    throw config.error(error.what());
  }
  std::map<std::uint64_t, std::size_t> before;
  for (const Rule& rule : owned_->rules->set().rules()) before.emplace(rule.key(), rule.digest);
  std::size_t added = 0, changed = 0;
  for (const Rule& rule : other.owned_->rules->set().rules()) {
    const auto known = before.find(rule.key());
    if (known == before.end()) {
      ++added;
      continue;
    }
    if (known->second != rule.digest) ++changed;
    before.erase(known);
  }
  std::vector<std::string> lines;
  if (added != 0) lines.push_back(fmt::format("rules added: {}", added));
  if (!before.empty()) lines.push_back(fmt::format("rules removed: {}", before.size()));
  if (changed != 0) lines.push_back(fmt::format("rules changed: {}", changed));
  if (owned_->rules->set().context_digest() != other.owned_->rules->set().context_digest()) {
    lines.emplace_back("variables, classes or thresholds changed");
  }
  if (owned_->policies != other.owned_->policies) {
    lines.push_back(fmt::format("policies: {}, were {}", other.owned_->policies.text(), owned_->policies.text()));
  }
  return lines;
}

/// Makes `next` current, and waits until no packet in flight uses the rules before it.
void Ids::publish(std::shared_ptr<Generation> next) {
  next->rules->number_bits(names_);
  table_.publish(next->rules->packet_group().patterns());
  owned_ = std::move(next);
  rules_loaded_.store(owned_->rules->rules().size(), std::memory_order_relaxed);
  rules_failed_.store(owned_->rules->set().refused().size(), std::memory_order_relaxed);
  current_.store(owned_.get(), std::memory_order_release);
  grace_periods_.elapsed(grace_periods_.start(), true);
}

void Ids::exchange(Function& next) {
  auto& other = dynamic_cast<Ids&>(next);
  std::shared_ptr<Generation> before = owned_;
  publish(other.owned_);
  other.owned_ = before;
  std::swap(settings_.files, other.settings_.files);
  std::swap(settings_.policies, other.settings_.policies);
  std::swap(settings_.warnings, other.settings_.warnings);
  std::swap(settings_.stops_at_refused, other.settings_.stops_at_refused);
  if (writer_ == nullptr) return;
  const std::uint64_t done = writer_->done();
  std::erase_if(former_, [done](const auto& each) { return each.second <= done; });
  former_.emplace_back(std::move(before), writer_->reported());
}

namespace {

std::unique_ptr<Function> create(const ConfigNode& config, const FunctionContext& context) {
  Settings settings = read_settings(config);
  if (settings.flows / context.workers == 0) throw config.error("each worker needs a flow");
  RuleSet rules = load_rules(settings, config);
  try {
    return std::make_unique<Ids>(std::move(settings), std::move(rules), context);
  } catch (const std::length_error& error) {
    throw config.error(error.what());
  } catch (const std::runtime_error& error) {
    throw config.error(error.what());
  }
}

[[maybe_unused]] const bool kRegistered = register_function(
    {.name = "ids",
     .summary = "detects intrusions by rules of Suricata, and drops or rejects their packets and flows",
     .topics =
         {{"ids",
           "[rules|flows|matcher|profile [all]]: alerts, limits and lost events; or the rules, flows, patterns, or "
           "the cost of each rule",
           {RowLimit::flag()}}},
     .create = create,
     .has_ticks = true,
     .creates_packets = true});

}  // namespace
}  // namespace penumbra::ids
