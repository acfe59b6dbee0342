// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/streams/stream_settings.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "functions/ids/rules/source.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

bool is_set(const ConfigNode& node) {
  return node.present() && !node.is_null();
}

/// Reads "true", "yes" and their contraries.
bool flag_of(const ConfigNode& map, const char* key) {
  const ConfigNode node = map.get(key);
  if (!is_set(node)) return false;
  const std::string word = lower(node.text());
  for (const std::string_view yes : {"true", "yes", "on", "1"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"false", "no", "off", "0", "auto"}) {
    if (word == no) return false;
  }
  throw node.error("found " + quote(word) + ", needs yes or no");
}

/// Reads a number of bytes with kb, mb or gb.
std::uint64_t bytes_of(const ConfigNode& node) {
  const std::string text = lower(node.text());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = trim(std::string_view(text).substr(static_cast<std::size_t>(end - text.data())));
  const unsigned shift = unit == "kb" ? 10 : unit == "mb" ? 20 : unit == "gb" ? 30 : 0;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
  if (error != std::errc() || number > kMost << (30 - shift) || (shift == 0 && !unit.empty())) {
    throw node.error("found " + quote(text) + ", needs a number of bytes, also with kb, mb or gb");
  }
  return number << shift;
}

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
