// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include <fstream>
#include <stdexcept>

namespace penumbra::bench {

control::GeneratedTable forwarding_table(std::vector<std::string> ports, std::uint64_t seed, std::uint32_t prefixes) {
  control::RouteGeneratorOptions options;
  options.ports = std::move(ports);
  options.seed = seed;
  options.prefixes = prefixes;
  options.multipath_share = options.blackhole_share = options.unreachable_share = 0;
  control::GeneratedTable table = control::generate_routes(options);
  for (control::Route& route : table.routes.routes) route.metric = 0;
  return table;
}

void write_table(const control::GeneratedTable& table, const std::filesystem::path& folder) {
  std::string routes, neighbours;
  for (const control::Route& route : table.routes.routes) {
    routes += to_string(route.prefix) + ' ' + control::to_string(table.routes.targets[route.target]) + '\n';
  }
  for (const control::Neighbour& neighbour : table.neighbours) {
    neighbours +=
        to_string(neighbour.address) + " dev " + neighbour.port + " lladdr " + to_string(neighbour.mac) + '\n';
  }
  write_file(folder / "routes.txt", routes);
  write_file(folder / "neighbours.txt", neighbours);
}

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::ofstream stream(file);
  if (!(stream << text).flush()) throw std::runtime_error("cannot write " + file.string());
}

}  // namespace penumbra::bench
