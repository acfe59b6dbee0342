// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/streams/stream_settings.h"

#include <algorithm>
#include <string>

#include "functions/ids/rules/source.h"
#include "functions/ids/rules/words.h"
#include "functions/ids/rules/yaml_values.h"

namespace penumbra::ids {
namespace {

void read_policies(const ConfigNode& hosts, StreamSettings& settings) {
  struct Entry {
    unsigned prefix;
    std::shared_ptr<const AddressSet> addresses;
    StreamPolicy policy;
  };
  std::vector<Entry> entries;
  HeaderSets sets{Variables{}};
  for (const std::string& name : hosts.keys()) {
    const ConfigNode list = hosts.get(name);
    if (!is_set(list)) continue;
    const auto policy = parse_stream_policy(name);
    for (const ConfigNode& member : list.list()) {
      if (!policy) throw member.error("policy " + quote(name) + " is not supported");
      const std::string text = member.text();
      const std::size_t slash = text.find('/');
      const RuleSource source(member.location().file, member.location().line, text);
      const auto prefix = slash == std::string::npos ? 128 : parse_unsigned(text.substr(slash + 1)).value_or(128);
      entries.push_back({static_cast<unsigned>(prefix), sets.addresses(source, source.text()), *policy});
    }
  }
  std::ranges::stable_sort(entries, {}, &Entry::prefix);
  for (Entry& entry : entries) settings.policies.emplace_back(std::move(entry.addresses), entry.policy);
}

}  // namespace

bool StreamSettings::operator==(const StreamSettings& other) const {
  return options == other.options && std::ranges::equal(policies, other.policies, [](const auto& a, const auto& b) {
           return *a.first == *b.first && a.second == b.second;
         });
}

StreamSettings read_stream_settings(const ConfigNode& root) {
  StreamSettings settings;
  if (const ConfigNode stream = root.get("stream"); is_set(stream)) {
    settings.options.midstream = flag_of(stream, "midstream");
    settings.options.one_sided = flag_of(stream, "async-oneside");
    if (const ConfigNode reassembly = stream.get("reassembly"); is_set(reassembly)) {
      if (const ConfigNode depth = reassembly.get("depth"); is_set(depth)) {
        settings.options.depth.fill(bytes_of(depth));
      }
      if (const ConfigNode memory = reassembly.get("memcap"); is_set(memory)) {
        settings.options.memory = bytes_of(memory);
      }
    }
  }
  if (const ConfigNode hosts = root.get("host-os-policy"); is_set(hosts)) read_policies(hosts, settings);
  return settings;
}

}  // namespace penumbra::ids
