// SPDX-License-Identifier: Apache-2.0
//
// Any text is either read as a filter file or refused with a place. Rules and headers that are read survive writing and
// reading back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "control/rules/classbench.h"
#include "testing/fuzzing.h"

namespace {

namespace rules = penumbra::control::rules;
using penumbra::RuleFields;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = penumbra::fuzzing::text_of(data, size);
  penumbra::fuzzing::read_or_refuse([text] {
    const rules::RuleList list = rules::parse_classbench(text, "fuzz");
    std::ostringstream written;
    rules::write_classbench(written, list.fields, list.rules);
    if (rules::parse_classbench(written.str(), "written").rules != list.rules) std::abort();
  });
  for (const RuleFields fields : {RuleFields::ipv4, RuleFields::ipv6}) {
    penumbra::fuzzing::read_or_refuse([text, fields] {
      const auto keys = rules::parse_trace(text, "fuzz", fields);
      std::string written;
      for (const auto& key : keys) written += rules::trace_line(fields, key, 1);
      if (rules::parse_trace(written, "written", fields) != keys) std::abort();
    });
  }
  return 0;
}
