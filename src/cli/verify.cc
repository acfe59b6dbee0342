// SPDX-License-Identifier: Apache-2.0
//
// `penumbra verify CONFIG`: compares the captures that a run sent with an independent oracle.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verify/capture_reader.h"
#include "cli/verify/ledger.h"
#include "control/config.h"

namespace penumbra::cli {
namespace {

using verify::Difference;
using verify::Findings;
using verify::Frame;

struct VerifyOptions {
  std::string config;
  bool json = false;
};

/// The captures of one port; no input for a port that never receives.
struct PortCaptures {
  std::uint16_t port = 0;
  std::optional<std::filesystem::path> input;
  std::filesystem::path output;
};

PortCaptures captures_of(const control::PortConfig& port) {
  PortCaptures captures;
  captures.port = port.info.index;
  const auto* source = std::get_if<control::PcapSource>(&port.device);
  const auto* sink = std::get_if<control::CaptureSink>(&port.sink);
  if ((source == nullptr && !std::holds_alternative<control::NoSource>(port.device)) || sink == nullptr ||
      (source != nullptr && source->loop)) {
    throw InputError(port.location, "port '" + port.info.name +
                                        "': only a port that receives from a capture (device: \"pcap:FILE\", without "
                                        "loop; or none) and sends to one (sink: FILE.pcap) can be verified");
  }
  if (source != nullptr) captures.input = source->file;
  captures.output = sink->file;
  return captures;
}

template <class Each, class Name>
std::vector<std::string> names_of(const std::vector<Each>& all, const Name& name) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const Each& each : all) names.push_back(name(each));
  return names;
}

/// Reads the files of a function; null if the function is not in the pipeline.
template <class Rules>
std::unique_ptr<const verify::RouteOracle<Rules>> route_oracle(const control::RouterConfig& config,
                                                               std::string_view function,
                                                               const std::vector<PortInfo>& ports) {
  using Family = typename Rules::AddressFamily;
  const auto stage = std::ranges::find(config.pipeline, function, &control::StageConfig::function);
  if (stage == config.pipeline.end()) return nullptr;
  const auto names = names_of(ports, [](const PortInfo& port) { return port.name; });
  const ConfigNode routes = stage->config.get("routes"), neighbours = stage->config.get("neighbours"),
                   link_local = stage->config.get("link_local");
  return std::make_unique<const verify::RouteOracle<Rules>>(
      ports, routes.present() ? control::read_routes<Family>(routes.path(), names) : control::RouteListOf<Family>{},
      neighbours.present() ? control::read_neighbours<Family>(neighbours.path(), names)
                           : std::vector<control::NeighbourOf<Family>>{},
      link_local.present() && link_local.text() == "forward");
}

void require_known_pipeline(const control::RouterConfig& config) {
  auto functions = names_of(config.pipeline, [](const control::StageConfig& stage) { return stage.function; });
  std::ranges::sort(functions);
  const bool all_known =
      std::ranges::all_of(functions, [](const auto& name) { return name == "ipv4" || name == "ipv6"; });
  const bool in_order =
      std::ranges::all_of(config.pipeline, &std::vector<control::GoTo>::empty, &control::StageConfig::go_to);
  if (all_known && in_order && std::ranges::adjacent_find(functions) == functions.end()) return;
  throw InputError({config.file.string()},
                   "only a pipeline of the functions ipv4 and ipv6, of one of them or of both, without go_to, can be "
                   "verified");
}

verify::Oracle make_oracle(const control::RouterConfig& config) {
  require_known_pipeline(config);
  std::vector<PortInfo> ports;
  ports.reserve(config.ports.size());
  for (const auto& port : config.ports) ports.push_back(port.info);
  auto ipv4 = route_oracle<verify::Ipv4Rules>(config, "ipv4", ports);
  auto ipv6 = route_oracle<verify::Ipv6Rules>(config, "ipv6", ports);
  return {std::move(ports), std::move(ipv4), std::move(ipv6)};
}

Findings compare(const control::RouterConfig& config) {
  std::vector<PortCaptures> captures;
  captures.reserve(config.ports.size());
  for (const auto& port : config.ports) captures.push_back(captures_of(port));
  PacketProgress progress;
  progress.begin("reading routes");
  const verify::Oracle oracle = make_oracle(config);
  verify::Ledger ledger(oracle);
  for (const auto& [port, input, output] : captures) {
    if (!input) continue;
    progress.begin("reading " + input->string());
    verify::read_capture(*input, [&, index = port](std::uint32_t number, Frame frame) {
      ledger.received(index, number, frame);
      progress.count();
    });
  }
  for (const auto& [port, input, output] : captures) {
    progress.begin("comparing " + output.string());
    verify::read_capture(output, [&, index = port](std::uint32_t number, Frame frame) {
      ledger.sent(index, number, frame);
      progress.count();
    });
  }
  return ledger.close();
}

nlohmann::ordered_json to_json(const Findings& findings) {
  nlohmann::ordered_json differences;
  for (std::size_t i = 0; i < verify::kDifferences; ++i) {
    differences[to_string(static_cast<Difference>(i))] = findings.counts[i];
  }
  return {{"received", findings.received}, {"sent", findings.sent},      {"agreed", findings.agreed},
          {"unsent", findings.unsent},     {"differences", differences}, {"examples", findings.examples}};
}

std::string to_text(const Findings& findings) {
  std::uint64_t unsent = 0;
  for (const auto& [reason, packets] : findings.unsent) unsent += packets;
  std::string text =
      fmt::format("{} packets received: {} must be sent, {} must not\n{} of {} packets sent agree with the oracle\n",
                  findings.received, findings.received - unsent, unsent, findings.agreed, findings.sent);
  for (std::size_t i = 0; i < verify::kDifferences; ++i) {
    if (findings.counts[i] > 0)
      text += fmt::format("  {:<11}{}\n", to_string(static_cast<Difference>(i)), findings.counts[i]);
  }
  for (const auto& example : findings.examples) text += example + "\n";
  if (findings.differences() > findings.examples.size()) text += "...\n";
  return text;
}

void verify_run(const VerifyOptions& options) {
  const Findings findings = compare(control::load_config(options.config));
  write_output(options.json ? to_json(findings).dump(2) + "\n" : to_text(findings));
  flush_output();
  if (findings.differences() > 0) {
    throw Failure(ExitCode::mismatch, fmt::format("{} differences from the oracle", findings.differences()));
  }
}

void set_up_verify(CLI::App& command) {
  const auto options = std::make_shared<VerifyOptions>();
  command
      .add_option("CONFIG", options->config, "The configuration that was run; each port from a capture to a capture")
      ->required()
      ->type_name("FILE");
  add_json_flag(command, options->json);
  command.footer(
      "Run it after a run that ended by itself. It reads the captures again and works out by slow means of its own\n"
      "what must come out of each port: contents, MAC addresses, one next hop per flow, order within flows. The\n"
      "pipeline is of ipv4, ipv6 or both.");
  command.callback([options] { verify_run(*options); });
}

const bool kVerifyCommand =
    register_command({"verify", "Compare a run's output with an independent oracle", set_up_verify});

}  // namespace
}  // namespace penumbra::cli
