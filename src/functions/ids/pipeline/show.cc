// SPDX-License-Identifier: Apache-2.0
//
// Prints `penumbra show ids`, and the metrics.
#include <algorithm>
#include <map>
#include <stdexcept>

#include "base/row_limit.h"
#include "functions/ids/pipeline/ids.h"
#include "penumbra/errors.h"

namespace penumbra::ids {

using nlohmann::ordered_json;

namespace {

std::string_view name_of(Needs needs) {
  constexpr std::array<std::string_view, 3> kNames{"packet", "stream", "application"};
  return kNames[static_cast<std::size_t>(needs)];
}

std::string sid_of(const Rule& rule) {
  return std::to_string(rule.gid) + ":" + std::to_string(rule.sid);
}

}  // namespace

std::uint64_t Ids::sum(std::size_t count) const {
  std::uint64_t sum = 0;
  for (const auto& line : counts_) sum += line.part[count].get();
  return sum;
}

/// Returns the members of an event "stats", with Suricata's names.
std::string Ids::statistics() const {
  const auto event = [this](StreamEvent each) { return sum(kFirstStreamEvent + static_cast<std::size_t>(each)); };
  const auto flows_of = [this](Application each) { return sum(kFirstApplication + static_cast<std::size_t>(each)); };
  const std::uint64_t packets = sum(kPackets), dropped = sum(kDropped);
  const auto uptime = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_);
  const ordered_json engine{{"id", 0},
                            {"rules_loaded", rules_loaded_.load(std::memory_order_relaxed)},
                            {"rules_failed", rules_failed_.load(std::memory_order_relaxed)}};
  const ordered_json stats{
      {"uptime", uptime.count()},
      {"decoder",
       {{"pkts", packets},
        {"bytes", sum(kBytes)},
        {"invalid", sum(kUnreadables)},
        {"ipv4", sum(kIpv4)},
        {"ipv6", sum(kIpv6)},
        {"tcp", sum(kTcp)},
        {"udp", sum(kUdp)},
        {"icmpv4", sum(kIcmpv4)},
        {"icmpv6", sum(kIcmpv6)}}},
      {"tcp",
       {{"midstream_pickups", event(StreamEvent::midstream)},
        {"segment_memcap_drop", sum(kMemoryExceeded)},
        {"stream_depth_reached", event(StreamEvent::depth_reached)},
        {"reassembly_gap", event(StreamEvent::gap)},
        {"overlap_diff_data", event(StreamEvent::overlap_conflict)},
        {"memuse", sum(kStreamMemory)}}},
      {"flow", {{"total", sum(kFlowsOpened)}, {"active", sum(kFlowsOpen)}, {"memcap", sum(kNoFlows)}}},
      {"ips",
       {{"accepted", packets - std::min(packets, dropped)},
        {"blocked", dropped},
        {"rejected", sum(kRejections)},
        {"replaced", sum(kRewritten)}}},
      {"detect",
       {{"engines", ordered_json::array({engine})},
        {"alert", sum(kAlerts)},
        {"alert_queue_overflow", sum(kAlertsOverLimit)}}},
      {"app_layer",
       {{"flow",
         {{"http", flows_of(Application::http)},
          {"tls", flows_of(Application::tls)},
          {"ssh", flows_of(Application::ssh)},
          {"smtp", flows_of(Application::smtp)},
          {"ftp", flows_of(Application::ftp)},
          {"smb", flows_of(Application::smb)},
          {"dns", flows_of(Application::dns)}}}}}};
  return "\"stats\":" + stats.dump();
}

ordered_json Ids::show_summary() const {
  return {{"policies", owned_->policies.text()},
          {"rules", owned_->rules->rules().size()},
          {"packets",
           {{"inspected", sum(kInspected)}, {"bypassed", sum(kBypassed)}, {"not_inspected", sum(kNotInspected)}}},
          {"alerts", sum(kAlerts)},
          {"alerts_over_limit", sum(kAlertsOverLimit)},
          {"exceptions",
           {{"flows", sum(kNoFlows)},
            {"limits", sum(kLimitsExceeded)},
            {"unreadable", sum(kUnreadables)},
            {"memory", sum(kMemoryExceeded)},
            {"midstream", sum(kMidstreams)},
            {"application", sum(kMalformedMessages)}}},
          {"segments", {{"invalid", sum(kInvalidSegments)}, {"rewritten", sum(kRewritten)}}},
          {"limits",
           {{"steps", sum(kStepsExceeded)}, {"pcre", sum(kPcreExceeded)}, {"packet_steps", sum(kPacketsExceeded)}}},
          {"thresholds_evicted", sum(kThresholdsEvicted)},
          {"bits_evicted", sum(kBitsEvicted)},
          {"rejections", {{"sent", sum(kRejections)}, {"lost", sum(kRejectionsLost)}}},
          {"eve",
           {{"target", settings_.eve.target.empty() ? ordered_json() : ordered_json(settings_.eve.target)},
            {"written", writer_ == nullptr ? 0 : writer_->written()},
            {"lost", writer_ == nullptr ? 0 : writer_->lost()}}}};
}

ordered_json Ids::show_rules() const {
  const RuleSet& set = owned_->rules->set();
  std::map<std::string, std::size_t> skipped;
  for (const auto& each : owned_->rules->not_evaluated()) ++skipped[each.reason];
  auto refused = ordered_json::array();
  for (const RefusedRule& rule : set.refused()) refused.push_back(rule.text());
  auto files = ordered_json::array();
  for (const auto& file : set.files()) files.push_back(file.string());
  return {{"files", files},           {"taken", set.rules().size()},   {"evaluated", owned_->rules->rules().size()},
          {"not_evaluated", skipped}, {"in_comments", set.disabled()}, {"refused", refused}};
}

ordered_json Ids::show_flows() const {
  auto applications = ordered_json::object(), events = ordered_json::object();
  for (std::size_t i = 1; i < kApplications; ++i) {
    const auto application = static_cast<Application>(i);
    if (application == Application::http1) continue;
    applications[std::string(to_string(application))] = sum(kFirstApplication + i);
  }
  for (std::size_t i = 0; i < kStreamEvents; ++i) {
    // The prefix says that the event is one of a stream, as all events here.
    constexpr std::size_t kPrefix = std::string_view("stream.").size();
    events[std::string(kStreamEventNames[i].substr(kPrefix))] = sum(kFirstStreamEvent + i);
  }
  return {{"open", sum(kFlowsOpen)},
          {"most", flows_of_a_worker() * workers_},
          {"opened", sum(kFlowsOpened)},
          {"evicted", sum(kFlowsEvicted)},
          {"no_room", sum(kNoFlows)},
          {"sessions", sum(kSessions)},
          {"applications", applications},
          {"streams",
           {{"bytes", sum(kStreamBytes)},
            {"lost", sum(kStreamLost)},
            {"memory", sum(kStreamMemory)},
            {"most_memory", settings_.streams.options.memory},
            {"events", events}}}};
}

ordered_json Ids::show_matcher() const {
  auto groups = ordered_json::array();
  for (const auto& [key, group] : owned_->rules->groups()) {
    groups.push_back({{"needs", name_of(group.needs())},
                      {"buffer", info_of(group.buffer()).name},
                      {"patterns", group.size()},
                      {"bytes", group.patterns()->bytes()}});
  }
  const bool is_hyperscan = owned_->policies.matcher == MatcherKind::hyperscan;
  return {{"matcher", is_hyperscan ? "hyperscan" : "patterns"},
          {"searched_again", sum(kSearchedAgain)},
          {"groups", groups}};
}

ordered_json Ids::show_profile(std::span<const std::string> arguments) const {
  const RowLimit limit(arguments);
  if (!limit.rest().empty()) throw std::invalid_argument("profile does not take " + quote(limit.rest().front()));
  struct Row {
    const Rule* rule;
    std::uint64_t checks = 0, matches = 0, cycles = 0;
  };
  std::vector<Row> rows;
  const auto& rules = owned_->rules->rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    Row row{rules[i].rule};
    for (const auto& counts : owned_->counts) {
      row.checks += counts[i].checks.get();
      row.matches += counts[i].matches.get();
      row.cycles += counts[i].cycles.get();
    }
    if (row.checks != 0) rows.push_back(row);
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), &Row::cycles);
  auto shown = ordered_json::array();
  for (const Row& row : std::span(rows).first(std::min(limit.most(), rows.size()))) {
    shown.push_back({{"rule", sid_of(*row.rule)},
                     {"message", row.rule->message},
                     {"checks", row.checks},
                     {"matches", row.matches},
                     {"cycles", row.cycles}});
  }
  const std::size_t count = shown.size();
  return RowLimit::answer("profile", std::move(shown), count, rows.size());
}

ordered_json Ids::show(std::string_view topic, std::span<const std::string> arguments) const {
  if (topic != "ids") throw std::invalid_argument("there is nothing to show under '" + std::string(topic) + "'");
  if (arguments.empty()) return show_summary();
  const std::string& part = arguments.front();
  const auto rest = arguments.subspan(1);
  if (part == "profile") return show_profile(rest);
  if (!rest.empty()) throw std::invalid_argument("'" + part + "' takes no arguments");
  if (part == "rules") return show_rules();
  if (part == "flows") return show_flows();
  if (part == "matcher") return show_matcher();
  throw std::invalid_argument("ids has no " + quote(part) + "; there are: rules, flows, matcher, profile");
}

std::vector<FunctionMetric> Ids::metrics() const {
  constexpr auto kGauge = FunctionMetric::Kind::gauge;
  const auto counter = [this](const char* name, const char* help, Count count) {
    return FunctionMetric{.name = name, .help = help, .value = sum(count)};
  };
  const auto evicted = [this](const char* table, Count count) {
    return FunctionMetric{.name = "ids_evicted",
                          .help = "Entries that made room for others before their time was over, by table.",
                          .value = sum(count),
                          .labels = {{"table", table}}};
  };
  const auto exception = [this](const char* cause, Count count) {
    return FunctionMetric{.name = "ids_exceptions",
                          .help = "Packets that could not be inspected as a whole, by cause.",
                          .value = sum(count),
                          .labels = {{"cause", cause}}};
  };
  const std::uint64_t written = writer_ == nullptr ? 0 : writer_->written();
  const std::uint64_t lost = writer_ == nullptr ? 0 : writer_->lost();
  return {counter("ids_inspected", "Packets that were inspected.", kInspected),
          counter("ids_alerts", "Alerts.", kAlerts),
          exception("flows", kNoFlows),
          exception("limits", kLimitsExceeded),
          exception("unreadable", kUnreadables),
          exception("memory", kMemoryExceeded),
          exception("midstream", kMidstreams),
          exception("application", kMalformedMessages),
          counter("ids_stream_bytes", "Bytes of streams of TCP that were inspected.", kStreamBytes),
          counter("ids_stream_lost", "Bytes of streams of TCP that were never seen.", kStreamLost),
          evicted("flows", kFlowsEvicted),
          evicted("thresholds", kThresholdsEvicted),
          evicted("xbits", kBitsEvicted),
          counter("ids_rejections", "RSTs and ICMP errors that were sent for rejected packets.", kRejections),
          {.name = "ids_eve_written", .help = "Events that were written.", .value = written},
          {.name = "ids_eve_lost", .help = "Events that were lost before they were written.", .value = lost},
          {.name = "ids_flows", .help = "Open flows.", .kind = kGauge, .value = sum(kFlowsOpen)},
          {.name = "ids_stream_memory",
           .help = "Bytes of memory that streams use.",
           .kind = kGauge,
           .value = sum(kStreamMemory)}};
}

}  // namespace penumbra::ids
