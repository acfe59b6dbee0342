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

namespace {

namespace rules = penumbra::control::rules;
using penumbra::RuleFields;

template <class Check>
void check_refusal(const Check& check) {
  try {
    check();
  } catch (const penumbra::InputError& error) {
    if (error.location().file != "fuzz" || error.location().line < 1 || error.location().column < 1) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_refusal([text] {
    const rules::RuleList list = rules::parse_classbench(text, "fuzz");
    std::ostringstream written;
    rules::write_classbench(written, list.fields, list.rules);
    if (rules::parse_classbench(written.str(), "written").rules != list.rules) std::abort();
  });
  for (const RuleFields fields : {RuleFields::ipv4, RuleFields::ipv6}) {
    check_refusal([text, fields] {
      const auto keys = rules::parse_trace(text, "fuzz", fields);
      std::string written;
      for (const auto& key : keys) written += rules::trace_line(fields, key, 1);
      if (rules::parse_trace(written, "written", fields) != keys) std::abort();
    });
  }
  return 0;
}
