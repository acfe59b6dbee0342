// SPDX-License-Identifier: Apache-2.0
//
// Checks that each text is either read as neighbours or refused with a place. Neighbours that are read must survive
// printing and reading back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "control/routes.h"
#include "testing/fuzzing.h"

namespace {

std::string written(const std::vector<penumbra::control::Neighbour>& neighbours) {
  std::ostringstream text;
  write_neighbours(text, neighbours);
  return text.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using penumbra::control::parse_neighbours;
  const std::string_view text = penumbra::fuzzing::text_of(data, size);
  for (const std::vector<std::string>& ports : {std::vector<std::string>{}, {"wan", "lan"}}) {
    penumbra::fuzzing::read_or_refuse([&] {
      const std::string first = written(parse_neighbours(text, "fuzz", ports));
      if (written(parse_neighbours(first, "written", ports)) != first) std::abort();
    });
  }
  return 0;
}
