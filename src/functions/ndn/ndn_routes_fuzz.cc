// SPDX-License-Identifier: Apache-2.0
//
// Checks that each text is either read as routes or refused with a place. Writing and reading the routes again must
// give the same routes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "functions/ndn/name_uri.h"
#include "functions/ndn/routes.h"
#include "testing/fuzzing.h"

namespace {

const std::vector<std::string> kFaces{"alice", "bob"};

/// Returns the routes by the URIs of their prefixes.
std::map<std::string, std::uint16_t> read(std::string_view text, const std::string& file) {
  penumbra::NoReaders no_readers;
  penumbra::ndn::NameTable table({1, 2}, no_readers);
  penumbra::ndn::parse_name_routes(text, file, kFaces, table);
  std::map<std::string, std::uint16_t> routes;
  table.for_each(
      [&routes](penumbra::ndn::Bytes name, std::uint16_t face) { routes.emplace(penumbra::ndn::to_uri(name), face); });
  if (routes.size() != table.size()) std::abort();
  return routes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  penumbra::fuzzing::read_or_refuse([&] {
    const auto routes = read(penumbra::fuzzing::text_of(data, size), "fuzz");
    std::string written;
    for (const auto& [name, face] : routes) written += name + " nexthop " + kFaces[face] + "\n";
    if (read(written, "written") != routes) std::abort();
  });
  return 0;
}
