// SPDX-License-Identifier: Apache-2.0
//
// Checks that each text is either read as routes or refused with a place. Routes that are read must survive printing
// and reading back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "control/routes.h"
#include "testing/fuzzing.h"

namespace {

using penumbra::control::parse_routes;
using penumbra::control::Route;
using penumbra::control::RouteList;

bool same(const RouteList& a, const RouteList& b) {
  const auto equal = [](const Route& x, const Route& y) {
    return std::tie(x.prefix, x.metric, x.target) == std::tie(y.prefix, y.metric, y.target);
  };
  return a.targets == b.targets &&
         std::equal(a.routes.begin(), a.routes.end(), b.routes.begin(), b.routes.end(), equal);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = penumbra::fuzzing::text_of(data, size);
  for (const std::vector<std::string>& ports : {std::vector<std::string>{}, {"wan", "lan"}}) {
    penumbra::fuzzing::read_or_refuse([&] {
      const RouteList list = parse_routes(text, "fuzz", ports);
      std::ostringstream written;
      write_routes(written, list);
      if (!same(parse_routes(written.str(), "written", ports), list)) std::abort();
    });
  }
  return 0;
}
