// SPDX-License-Identifier: Apache-2.0
//
// Checks that each text is either read as SAs or policies, or refused with a place. What is printed of a policy must
// be read back the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "control/xfrm/text.h"
#include "testing/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penumbra::control::xfrm;
  const std::string_view text = penumbra::fuzzing::text_of(data, size);
  static KeyStore keys;
  penumbra::fuzzing::read_or_refuse([&] {
    for (const Sa& sa : parse_states(text, "fuzz", keys, 0)) to_text(sa);
  });
  penumbra::fuzzing::require(keys.used() == 0);
  penumbra::fuzzing::read_or_refuse([&] {
    std::string printed;
    for (const Policy& policy : parse_policies(text, "fuzz", 0)) printed += to_text(policy);
    std::string again;
    for (const Policy& policy : parse_policies(printed, "fuzz", 0)) again += to_text(policy);
    penumbra::fuzzing::require(again == printed);
  });
  return 0;
}
