// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/routes.h"

#include <algorithm>
#include <unordered_map>

#include "control/line_reader.h"
#include "functions/ndn/name_uri.h"
#include "functions/ndn/packet.h"

namespace penumbra::ndn {

std::vector<UnusedRoute> parse_name_routes(std::string_view text, const std::string& name,
                                           const std::vector<std::string>& faces, NameTable& table) {
  std::vector<UnusedRoute> unused;
  std::unordered_map<std::string_view, std::uint16_t> indices;
  for (const std::string& face : faces) indices.emplace(face, static_cast<std::uint16_t>(indices.size()));
  table.reserve(std::min(static_cast<std::size_t>(std::ranges::count(text, '\n')), NameTable::kMostPrefixes));
  control::LineReader reader(text, name);
  for (control::Line line; reader.next(line);) {
    const std::string_view uri = line.take();
    std::string_view face = line.require("the name of a face");
    if (face == "nexthop") face = line.require("the name of a face");
    const auto index = indices.find(face);
    if (index == indices.end()) throw line.unexpected(face, "the name of a face", faces);
    const std::string_view more = line.peek();
    if (!more.empty()) throw line.error(more, "expected the end of the line, found " + quote(more));
    try {
      const std::string prefix = parse_name_uri(uri);
      if (is_localhost(as_bytes(prefix)) && unused.size() < kMostUnused) {
        unused.push_back({line.number(), std::string(uri)});
      }
      if (!table.insert(as_bytes(prefix), index->second)) {
        throw line.error(uri, quote(uri) + " is given twice: a prefix has one next hop");
      }
    } catch (const NameUriError& error) {
      throw line.error(uri.substr(error.at()), error.what());
    } catch (const std::logic_error& error) {  // invalid for the table, or a limit was reached
      throw line.error(uri, error.what());
    }
  }
  table.commit();
  return unused;
}

}  // namespace penumbra::ndn
