// SPDX-License-Identifier: Apache-2.0
//
// Any text is either read as flows and as headers or refused with a place. Flows and headers that are read survive
// writing and reading back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "control/rules/flow_syntax.h"
#include "control/rules/openflow10.h"
#include "testing/fuzzing.h"

namespace {

namespace rules = penumbra::control::rules;

penumbra::RuleWords parse_key(const std::string& name, std::string_view text) {
  penumbra::control::Line line(&name, 1, text);
  return rules::parse_flow_key(line);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = penumbra::fuzzing::text_of(data, size);
  penumbra::fuzzing::read_or_refuse([text] {
    const rules::FlowList flows = rules::parse_flows(text, "fuzz");
    std::ostringstream written;
    rules::write_flows(written, flows);
    const rules::FlowList back = rules::parse_flows(written.str(), "written");
    if (back.flows.size() != flows.flows.size() || back.action_lists != flows.action_lists) std::abort();
    for (std::size_t i = 0; i < flows.flows.size(); ++i) {
      const rules::Flow &flow = flows.flows[i], &again = back.flows[i];
      if (again.match != flow.match || again.priority != flow.priority || again.actions != flow.actions) std::abort();
      const auto narrow = rules::openflow10(flow.match);
      if (narrow && rules::from_openflow10(*narrow) != flow.match) std::abort();
    }
  });
  penumbra::fuzzing::read_or_refuse([text] {
    const auto key = parse_key("fuzz", text.substr(0, text.find('\n')));
    const std::string written = rules::flow_key_text(key);
    if (parse_key("written", written) != key) std::abort();
  });
  return 0;
}
