// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/gen.h"
#include "cli/output.h"
#include "control/config.h"
#include "control/route_generator.h"
#include "control/route_json.h"
#include "io/output_file.h"
#include "penumbra/errors.h"

namespace penumbra::cli {
namespace {

using control::RouteGeneratorOptions;

struct RoutesOptions {
  RouteGeneratorOptions table;
  std::string ports = "4";
  std::string routes_file = "-";
  std::string neighbours_file;
  bool ipv6 = false, json = false;
};

/// Returns port0 to port3 for "4", otherwise a list of names.
std::vector<std::string> port_names(const std::string& text) {
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc{} && end == text.data() + text.size()) {
    if (count == 0 || count > RouteGeneratorOptions::kMaxPorts) {
      throw CLI::ValidationError("--ports", fmt::format("expected 1 to {}", RouteGeneratorOptions::kMaxPorts));
    }
    std::vector<std::string> names(count);
    for (std::size_t i = 0; i < count; ++i) names[i] = "port" + std::to_string(i);
    return names;
  }
  std::vector<std::string> names;
  for (auto& name : CLI::detail::split(text, ',')) {
    if (!control::is_port_name(name)) {
      throw CLI::ValidationError("--ports", fmt::format("expected {}, found {}", control::kPortNameRule, quote(name)));
    }
    names.push_back(std::move(name));
  }
  return names;
}

/// Writes an array with one object per line. A single JSON document of a full table would take gigabytes of memory.
template <class Family>
void write_json(std::ostream& out, const control::RouteListOf<Family>& list) {
  std::vector<std::string> targets;  // JSON of each target without the opening brace
  targets.reserve(list.targets.size());
  for (const auto& target : list.targets) targets.push_back(control::to_json(target).dump().substr(1));
  const char* separator = "[";
  for (const auto& route : list.routes) {
    fmt::print(out, "{}\n{{\"prefix\":\"{}\",\"metric\":{},{}", separator, to_string(route.prefix), route.metric,
               targets[route.target]);
    separator = ",";
  }
  out << "\n]\n";
}

/// Users regenerate tables in place, so unlike a capture, a table may overwrite another text file.
void check_files(const RoutesOptions& options) {
  if (options.neighbours_file.empty()) return;
  if (io::same_file(options.routes_file, options.neighbours_file)) {
    throw Failure(ExitCode::usage, fmt::format("routes and neighbours cannot both go to {}", options.routes_file));
  }
}

template <class Family>
void generate(const RoutesOptions& options) {
  check_files(options);
  auto table_options = options.table;
  table_options.ports = port_names(options.ports);
  const auto table = [&] {
    try {
      return control::generate_routes<Family>(table_options);
    } catch (const std::invalid_argument& error) {
      throw CLI::ValidationError(error.what());
    }
  }();
  const auto write_routes = options.json ? write_json<Family> : control::write_routes<Family>;
  write_file(options.routes_file, [&](std::ostream& out) { write_routes(out, table.routes); });
  if (options.neighbours_file.empty()) return;
  write_file(options.neighbours_file, [&](std::ostream& out) { control::write_neighbours(out, table.neighbours); });
}

}  // namespace

void set_up_gen_routes(CLI::App& command) {
  const auto options = std::make_shared<RoutesOptions>();
  auto& table = options->table;
  command.add_flag("-6,--ipv6", options->ipv6, "Prefixes and gateways of IPv6");
  command.add_option("--count", table.prefixes, "How many prefixes, all different")
      ->transform(as_count())
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--next-hops", table.next_hops, "How many gateways, dealt out to the ports in turn")
      ->transform(as_count())
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--ports", options->ports,
                  "How many ports (named port0, port1, ...), or their names joined by commas")
      ->type_name("PORTS")
      ->capture_default_str();
  command.add_option("--seed", table.seed, "Another seed gives another table")
      ->check(as_seed())
      ->type_name("N")
      ->capture_default_str();
  command.add_option("-o,--output", options->routes_file, "Where the routes go; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  command.add_option("--neighbours", options->neighbours_file, "Write the gateways' MAC addresses to this file")
      ->type_name("FILE");
  command.add_flag("-j,--json", options->json,
                   "Write the routes as JSON, for other programs; Penumbra does not read it");
  command.callback([options] { (options->ipv6 ? generate<Ipv6> : generate<Ipv4>)(*options); });
}

}  // namespace penumbra::cli
