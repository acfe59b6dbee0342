// SPDX-License-Identifier: Apache-2.0
#include "cli/run_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/render.h"

namespace penumbra::cli {
namespace {

using json = nlohmann::ordered_json;
using runtime::ReasonCount;
using runtime::Statistics;
using runtime::Traffic;
using std::chrono::nanoseconds;

constexpr std::uint64_t kWireBytesPerFrame = 24;

double seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}
double per(double amount, double base) {
  return base > 0 ? amount / base : 0;
}

std::uint64_t sum_of(const std::vector<ReasonCount>& reasons, Verdict::Kind kind) {
  std::uint64_t sum = 0;
  for (const auto& count : reasons) sum += count.kind == kind ? count.packets : 0;
  return sum;
}

Traffic sum_of(const std::vector<Traffic>& ports) {
  Traffic sum;
  for (const auto& port : ports) {
    sum.packets += port.packets;
    sum.bytes += port.bytes;
  }
  return sum;
}

const char* kind_text(Verdict::Kind kind) {
  return kind == Verdict::Kind::punt ? "punt" : "drop";
}

json traffic_json(const Traffic& traffic, nanoseconds elapsed) {
  return {{"packets", traffic.packets},
          {"bytes", traffic.bytes},
          {"packets_per_second", packets_per_second(traffic, elapsed)},
          {"wire_bits_per_second", wire_bits_per_second(traffic, elapsed)}};
}

json device_losses_json(const std::vector<io::DeviceLoss>& losses) {
  auto object = json::object();
  for (const auto& [what, packets] : losses) object[what] = packets;
  return object;
}

json ports_json(const RunSummary& summary) {
  const auto& statistics = summary.statistics;
  auto list = json::array();
  for (std::size_t i = 0; i < summary.ports.size(); ++i) {
    list.push_back({{"name", summary.ports[i]},
                    {"received", traffic_json(statistics.received_by_port[i], statistics.elapsed)},
                    {"from_host", traffic_json(statistics.from_host_by_port[i], statistics.elapsed)},
                    {"sent", traffic_json(statistics.sent_by_port[i], statistics.elapsed)},
                    {"device_losses", device_losses_json(summary.device_losses[i])}});
  }
  return list;
}

json reasons_json(const Statistics& statistics) {
  auto list = json::array();
  for (const auto& [stage, reason, kind, packets] : statistics.reasons) {
    if (packets == 0) continue;
    list.push_back({{"stage", stage}, {"reason", reason}, {"kind", kind_text(kind)}, {"packets", packets}});
  }
  return list;
}

json steps_json(const Statistics& statistics) {
  auto list = json::array();
  for (const auto& [step, cycles, packets, chunks] : statistics.steps) {
    list.push_back({{"step", step},
                    {"cycles", cycles},
                    {"packets", packets},
                    {"chunks", chunks},
                    {"cycles_per_packet", per(static_cast<double>(cycles), static_cast<double>(packets))}});
  }
  return list;
}

// Text tables.

json total_row(const char* name, const Traffic& traffic, nanoseconds elapsed) {
  return {{"", name},
          {"packets", traffic.packets},
          {"Mpps", packets_per_second(traffic, elapsed) / 1e6},
          {"Gbps on the wire", wire_bits_per_second(traffic, elapsed) / 1e9}};
}

json totals_table(const Statistics& statistics) {
  auto rows = json::array({total_row("received", statistics.received, statistics.elapsed)});
  if (statistics.from_host.packets > 0) {
    rows.push_back(total_row("from the host", statistics.from_host, statistics.elapsed));
  }
  const auto add_if_any = [&rows](const char* name, std::uint64_t packets) {
    if (packets > 0) rows.push_back({{"", name}, {"packets", packets}});
  };
  add_if_any("created", statistics.created);
  add_if_any("replicated", statistics.replicated);
  rows.push_back(total_row("sent", statistics.sent, statistics.elapsed));
  rows.push_back({{"", "dropped"}, {"packets", statistics.dropped}});
  rows.push_back({{"", "punted"}, {"packets", statistics.punted}});
  add_if_any("absorbed", statistics.absorbed);
  add_if_any("held", statistics.held);
  return rows;
}

json ports_table(const RunSummary& summary) {
  auto rows = json::array();
  for (std::size_t i = 0; i < summary.ports.size(); ++i) {
    const Traffic& received = summary.statistics.received_by_port[i];
    const Traffic& sent = summary.statistics.sent_by_port[i];
    const nanoseconds elapsed = summary.statistics.elapsed;
    rows.push_back({{"port", summary.ports[i]},
                    {"received", received.packets},
                    {"Gbps in", wire_bits_per_second(received, elapsed) / 1e9},
                    {"sent", sent.packets},
                    {"Gbps out", wire_bits_per_second(sent, elapsed) / 1e9}});
  }
  return rows;
}

/// Contains only values that are not zero.
json device_losses_table(const RunSummary& summary) {
  auto rows = json::array();
  for (std::size_t i = 0; i < summary.ports.size(); ++i) {
    for (const auto& [what, packets] : summary.device_losses[i]) {
      if (packets != 0)
        rows.push_back({{"port", summary.ports[i]}, {"lost by the device", what}, {"packets", packets}});
    }
  }
  return rows;
}

json reasons_table(const Statistics& statistics) {
  auto rows = json::array();
  for (const auto kind : {Verdict::Kind::drop, Verdict::Kind::punt}) {
    for (const auto& count : statistics.reasons) {
      if (count.packets == 0 || count.kind != kind) continue;
      rows.push_back({{"stage", count.stage},
                      {"reason", count.reason},
                      {"kind", kind_text(kind)},
                      {"packets", count.packets},
                      {"% of received", per(100.0 * static_cast<double>(count.packets),
                                            static_cast<double>(statistics.received.packets))}});
    }
  }
  return rows;
}

json steps_table(const Statistics& statistics) {
  double all_cycles = 0, all_per_packet = 0;
  for (const auto& step : statistics.steps) all_cycles += static_cast<double>(step.cycles);
  const auto received = static_cast<double>(statistics.received.packets);
  auto rows = json::array();
  for (const auto& step : statistics.steps) {
    const auto cycles = static_cast<double>(step.cycles), packets = static_cast<double>(step.packets);
    rows.push_back({{"step", step.step},
                    {"cycles per packet", per(cycles, packets)},
                    {"packets per chunk", per(packets, static_cast<double>(step.chunks))},
                    {"% of cycles", per(100 * cycles, all_cycles)}});
  }
  all_per_packet = per(all_cycles, received);
  rows.push_back({{"step", "all, per packet received"}, {"cycles per packet", all_per_packet}});
  return rows;
}

/// Ends with a separator; empty if no function has a shader.
std::string engines_text(const RunSummary& summary) {
  std::vector<std::string> texts;
  texts.reserve(summary.engines.size());
  for (const auto& [stage, engine] : summary.engines) texts.push_back(fmt::format("{} on engine {}", stage, engine));
  return fmt::format("{}{}", fmt::join(texts, ", "), texts.empty() ? "" : "; ");
}

}  // namespace

double wire_bits_per_second(const Traffic& traffic, nanoseconds elapsed) {
  return per(8.0 * static_cast<double>(traffic.bytes + kWireBytesPerFrame * traffic.packets), seconds(elapsed));
}

double packets_per_second(const Traffic& traffic, nanoseconds elapsed) {
  return per(static_cast<double>(traffic.packets), seconds(elapsed));
}

std::string contradiction(const Statistics& statistics) {
  if (statistics.entered() != statistics.accounted_for()) {
    return fmt::format(
        "{} packets were received, {} came from the host, {} were created and {} were replicated, but {} sent + {} "
        "dropped + {} punted + {} absorbed + {} held = {}",
        statistics.received.packets, statistics.from_host.packets, statistics.created, statistics.replicated,
        statistics.sent.packets, statistics.dropped, statistics.punted, statistics.absorbed, statistics.held,
        statistics.accounted_for());
  }
  const auto differs = [](const Traffic& a, const Traffic& b) { return a.packets != b.packets || a.bytes != b.bytes; };
  if (differs(sum_of(statistics.received_by_port), statistics.received)) return "ports do not add up to all received";
  if (differs(sum_of(statistics.from_host_by_port), statistics.from_host)) {
    return "ports do not add up to all that came from the host";
  }
  if (differs(sum_of(statistics.sent_by_port), statistics.sent)) return "ports do not add up to all sent";
  if (sum_of(statistics.reasons, Verdict::Kind::drop) != statistics.dropped)
    return "reasons do not add up to all drops";
  if (sum_of(statistics.reasons, Verdict::Kind::punt) != statistics.punted) return "reasons do not add up to all punts";
  return "";
}

json to_json(const RunSummary& summary) {
  const auto& statistics = summary.statistics;
  auto engines = json::array();
  for (const auto& [function, engine] : summary.engines)
    engines.push_back({{"function", function}, {"engine", engine}});
  auto notes = json::array();
  for (const auto& [engine, note] : summary.notes) notes.push_back({{"engine", engine}, {"note", note}});
  return {{"elapsed_seconds", seconds(statistics.elapsed)},
          {"cores", summary.cores},
          {"engines", engines},
          {"engine_notes", notes},
          {"memory", summary.memory},
          {"received", traffic_json(statistics.received, statistics.elapsed)},
          {"from_host", traffic_json(statistics.from_host, statistics.elapsed)},
          {"sent", traffic_json(statistics.sent, statistics.elapsed)},
          {"created", statistics.created},
          {"replicated", statistics.replicated},
          {"absorbed", statistics.absorbed},
          {"held", statistics.held},
          {"dropped", statistics.dropped},
          {"punted", statistics.punted},
          {"conserved", contradiction(statistics).empty()},
          {"reasons", reasons_json(statistics)},
          {"ports", ports_json(summary)},
          {"steps", steps_json(statistics)},
          {"tsc_hz", statistics.tsc_hz}};
}

std::string to_text(const RunSummary& summary) {
  const auto& statistics = summary.statistics;
  std::string text =
      fmt::format("{:.3f} s on core{} {}; {}{}\n", seconds(statistics.elapsed), summary.cores.size() == 1 ? "" : "s",
                  fmt::join(summary.cores, ", "), engines_text(summary), summary.memory);
  for (const auto& [engine, note] : summary.notes) text += fmt::format("{}: {}\n", engine, note);
  for (const auto& table : {totals_table(statistics), ports_table(summary), device_losses_table(summary),
                            reasons_table(statistics), steps_table(statistics)}) {
    if (!table.empty()) text += "\n" + render(table, kUnlimitedWidth);
  }
  return text + fmt::format("\nreceived{}{}{} = sent + dropped + punted{}{}: {}\n",
                            statistics.from_host.packets > 0 ? " + from the host" : "",
                            statistics.created > 0 ? " + created" : "",
                            statistics.replicated > 0 ? " + replicated" : "",
                            statistics.absorbed > 0 ? " + absorbed" : "", statistics.held > 0 ? " + held" : "",
                            contradiction(statistics).empty() ? "holds" : "does NOT hold");
}

}  // namespace penumbra::cli
