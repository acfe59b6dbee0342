// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <ostream>
#include <type_traits>
#include <utility>

#include "base/text_file.h"
#include "control/line_reader.h"
#include "control/routes.h"

namespace penumbra::control {
namespace {

constexpr std::array<std::string_view, 9> kStates = {"PERMANENT", "NOARP", "REACHABLE",  "STALE", "DELAY",
                                                     "PROBE",     "NONE",  "INCOMPLETE", "FAILED"};
// Flags and statistics (ip/ipneigh.c of iproute2).
constexpr std::array<Attribute, 8> kNeighbourAttributes{{{"router", Attribute::kFlag},
                                                         {"proxy", Attribute::kFlag},
                                                         {"extern_learn", Attribute::kFlag},
                                                         {"offload", Attribute::kFlag},
                                                         {"managed", Attribute::kFlag},
                                                         {"proto"},
                                                         {"ref"},
                                                         {"probes"}}};

MacAddress parse_mac(const Line& line, std::string_view word) {
  const auto mac = parse_mac_address(word);
  if (!mac) throw line.error(word, "expected a MAC address (XX:XX:XX:XX:XX:XX), found " + quote(word));
  if (mac->is_multicast() || mac->value == 0) {
    throw line.error(word, quote(word) + " cannot be a neighbour's MAC address: it is " +
                               (mac->value == 0 ? "zero" : "a group address"));
  }
  return *mac;
}

/// Returns true if `address` is of the other family. `ip neigh` prints both families.
template <class Family>
bool is_of_the_other(std::string_view address) {
  in_addr four{};
  in6_addr six{};
  if constexpr (std::is_same_v<Family, Ipv4>) return inet_pton(AF_INET6, std::string(address).c_str(), &six) == 1;
  return inet_pton(AF_INET, std::string(address).c_str(), &four) == 1;
}

/// Selects the entries that must have a MAC address: resolved entries, all entries, or none.
enum class Lladdr : std::uint8_t { of_known, of_all, of_none };

/// Parses one line. With Lladdr::of_known, returns nothing for the other family and for entries that the kernel has not
/// resolved.
template <class Family>
std::optional<NeighbourOf<Family>> parse_line(Line& line, const std::vector<std::string>& ports, Lladdr needed) {
  if (needed == Lladdr::of_known && is_of_the_other<Family>(line.peek())) return std::nullopt;
  const std::string_view written = line.take();
  require_family<Family>(line, written, written, "address");
  NeighbourOf<Family> neighbour{.address = parse_neighbour_address<Family>(line, written), .port = {}, .mac = {}};
  bool unresolved = false;
  const auto once = [&line](std::string_view word, bool first) {
    if (!first) throw line.error(word, quote(word) + " is given twice");
  };
  for (std::string_view word = line.take(); !word.empty(); word = line.take()) {
    if (word == "dev") {
      once(word, neighbour.port.empty());
      neighbour.port = parse_port(line, line.require("the name of a port"), ports);
    } else if (word == "lladdr") {
      once(word, neighbour.mac.value == 0);
      neighbour.mac = parse_mac(line, line.require("a MAC address"));
    } else if (word == "used") {
      // Older versions of iproute2 print "used 10/20/30probes 4".
      if (line.require("a value of 'used'").ends_with("probes")) line.require("a value of 'probes'");
    } else if (std::find(kStates.begin(), kStates.end(), word) != kStates.end()) {
      unresolved = unresolved || word == "FAILED" || word == "INCOMPLETE";
    } else if (!line.skip_attribute(word, kNeighbourAttributes)) {
      throw line.unexpected(word, "more of the neighbour", {"dev", "lladdr", "PERMANENT", "REACHABLE", "STALE"});
    }
  }
  if (neighbour.port.empty()) throw line.error(line.peek(), "'dev PORT' is missing");
  if (neighbour.mac.value != 0 || needed == Lladdr::of_none) return neighbour;
  if (!unresolved || needed == Lladdr::of_all) throw line.error(line.peek(), "'lladdr MAC' is missing");
  return std::nullopt;
}

}  // namespace

template <class Family>
std::vector<NeighbourOf<Family>> read_neighbours(const std::filesystem::path& file,
                                                 const std::vector<std::string>& ports) {
  return parse_neighbours<Family>(read_text_file(file), file.string(), ports);
}

namespace {

template <class Family>
std::vector<NeighbourEntryOf<Family>> parse(std::string_view text, const std::string& name,
                                            const std::vector<std::string>& ports, Lladdr needed) {
  std::vector<NeighbourEntryOf<Family>> neighbours;
  std::map<std::pair<typename Family::Address, std::string>, int> first_lines;
  LineReader reader(text, name);
  for (Line line; reader.next(line);) {
    const std::string_view word = line.peek();
    auto neighbour = parse_line<Family>(line, ports, needed);
    if (!neighbour) continue;
    const auto [first, added] = first_lines.emplace(std::pair(neighbour->address, neighbour->port), line.number());
    if (!added) {
      throw line.error(word, "the neighbour " + to_string(neighbour->address) + " on " + quote(neighbour->port) +
                                 " is in line " + std::to_string(first->second) + " already");
    }
    neighbours.push_back({std::move(*neighbour), line.number()});
  }
  return neighbours;
}

}  // namespace

template <class Family>
std::vector<NeighbourOf<Family>> parse_neighbours(std::string_view text, const std::string& name,
                                                  const std::vector<std::string>& ports) {
  std::vector<NeighbourOf<Family>> neighbours;
  for (auto& entry : parse<Family>(text, name, ports, Lladdr::of_known)) {
    neighbours.push_back(std::move(entry.neighbour));
  }
  return neighbours;
}

template <class Family>
std::vector<NeighbourEntryOf<Family>> parse_neighbour_entries(std::string_view text, const std::string& name,
                                                              const std::vector<std::string>& ports, bool removed) {
  return parse<Family>(text, name, ports, removed ? Lladdr::of_none : Lladdr::of_all);
}

template <class Family>
void write_neighbours(std::ostream& out, const std::vector<NeighbourOf<Family>>& neighbours) {
  for (const auto& neighbour : neighbours) {
    out << to_string(neighbour.address) << " dev " << neighbour.port << " lladdr " << to_string(neighbour.mac) << '\n';
  }
}

template std::vector<NeighbourOf<Ipv4>> read_neighbours<Ipv4>(const std::filesystem::path&,
                                                              const std::vector<std::string>&);
template std::vector<NeighbourOf<Ipv6>> read_neighbours<Ipv6>(const std::filesystem::path&,
                                                              const std::vector<std::string>&);
template std::vector<NeighbourOf<Ipv4>> parse_neighbours<Ipv4>(std::string_view, const std::string&,
                                                               const std::vector<std::string>&);
template std::vector<NeighbourOf<Ipv6>> parse_neighbours<Ipv6>(std::string_view, const std::string&,
                                                               const std::vector<std::string>&);
template std::vector<NeighbourEntryOf<Ipv4>> parse_neighbour_entries<Ipv4>(std::string_view, const std::string&,
                                                                           const std::vector<std::string>&, bool);
template std::vector<NeighbourEntryOf<Ipv6>> parse_neighbour_entries<Ipv6>(std::string_view, const std::string&,
                                                                           const std::vector<std::string>&, bool);
template void write_neighbours(std::ostream&, const std::vector<NeighbourOf<Ipv4>>&);
template void write_neighbours(std::ostream&, const std::vector<NeighbourOf<Ipv6>>&);

}  // namespace penumbra::control
