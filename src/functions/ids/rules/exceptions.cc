// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/exceptions.h"

#include <algorithm>
#include <utility>

#include "functions/ids/rules/yaml_values.h"
#include "penumbra/errors.h"

namespace penumbra::ids {
namespace {

constexpr std::string_view kAuto = "auto";

/// Suricata's names of the policies, in the order of ExceptionPolicy.
constexpr std::array<std::string_view, kExceptionPolicies.size()> kWords{
    "ignore", "pass-packet", "pass-flow", "bypass", "drop-packet", "drop-flow", "reject"};

using Path = std::initializer_list<const char*>;

/// Returns the node at a path of keys, of which each may be missing.
ConfigNode find(const ConfigNode& root, Path path) {
  ConfigNode node = root;
  for (const char* const key : path) {
    if (!is_set(node)) break;
    node = node.get(key);
  }
  return node;
}

void note_unused(const ConfigNode& root, const char* section, std::initializer_list<std::string_view> used,
                 std::vector<std::string>& unused) {
  const ConfigNode node = root.get(section);
  if (!is_set(node)) return;
  for (const std::string& key : node.keys()) {
    if (std::ranges::find(used, key) == used.end()) unused.push_back(std::string(section) + "." + key);
  }
}

}  // namespace

ExceptionPolicies ExceptionPolicies::defaults(bool is_ips) {
  ExceptionPolicies policies;
  if (!is_ips) return policies;
  policies.set(ExceptionCause::flows, ExceptionPolicy::drop);
  policies.set(ExceptionCause::unreadable, ExceptionPolicy::drop);
  // The sender sends the segment again.
  policies.set(ExceptionCause::memory, ExceptionPolicy::drop_packet);
  return policies;
}

ExceptionSettings::Word ExceptionSettings::parse(const ConfigNode& node) {
  const std::string text = node.text();
  if (text == kAuto) return std::nullopt;
  const auto* const found = std::ranges::find(kWords, text);
  if (found != kWords.end()) return static_cast<ExceptionPolicy>(found - kWords.begin());
  std::string known(kAuto);
  for (const std::string_view word : kWords) known += ", " + std::string(word);
  throw node.error("found " + quote(text) + ", needs one of " + known);
}

ExceptionSettings ExceptionSettings::read(const ConfigNode& root, std::vector<std::string>& unused) {
  ExceptionSettings settings;
  // The first path at which a policy is counts.
  const auto read = [&root](std::initializer_list<Path> paths) -> std::optional<Word> {
    for (const Path& path : paths) {
      if (const ConfigNode node = find(root, path); is_set(node)) return parse(node);
    }
    return std::nullopt;
  };
  const auto set = [&settings](ExceptionCause cause, std::optional<Word> word) {
    settings.by_cause_[static_cast<std::size_t>(cause)] = word;
  };
  constexpr const char* kMaster = "exception-policy";
  set(ExceptionCause::flows, read({{"flow", "memcap-policy"}, {kMaster}}));
  set(ExceptionCause::memory,
      read({{"stream", "reassembly", "memcap-policy"}, {"stream", "memcap-policy"}, {kMaster}}));
  set(ExceptionCause::midstream, read({{"stream", "midstream-policy"}, {kMaster}}));
  set(ExceptionCause::application, read({{"app-layer", "error-policy"}, {kMaster}}));
  settings.fragments_ = read({{"defrag", "memcap-policy"}, {kMaster}});
  if (const ConfigNode memory = find(root, {"defrag", "memcap"}); is_set(memory)) {
    settings.fragment_memory_ = bytes_of(memory);
  }
  settings.names_fragments_ = is_set(find(root, {"defrag", "memcap-policy"}));
  note_unused(root, "app-layer", {"error-policy"}, unused);
  note_unused(root, "defrag", {"memcap", "memcap-policy"}, unused);
  note_unused(root, "flow", {"memcap-policy"}, unused);
  return settings;
}

ExceptionPolicy ExceptionSettings::resolve(const Word& word, bool is_ips, ExceptionPolicy automatic) {
  const ExceptionPolicy policy = word.value_or(automatic);
  return drops(policy) && !is_ips ? ExceptionPolicy::ignore : policy;
}

void ExceptionSettings::apply(bool is_ips, bool midstream, ExceptionPolicies& policies) const {
  for (std::size_t i = 0; i < by_cause_.size(); ++i) {
    const std::optional<Word>& word = by_cause_[i];
    if (!word) continue;
    const auto cause = static_cast<ExceptionCause>(i);
    const bool is_wanted = cause == ExceptionCause::midstream && midstream;
    policies.set(cause, resolve(*word, is_ips, is_wanted ? ExceptionPolicy::ignore : ExceptionPolicy::drop));
  }
}

ExceptionPolicy ExceptionSettings::of_fragments(bool is_ips) const {
  if (!fragments_) return ExceptionPolicy::ignore;
  // Fragments have no flow.
  switch (const ExceptionPolicy policy = resolve(*fragments_, is_ips, ExceptionPolicy::drop_packet)) {
    case ExceptionPolicy::pass:
      return ExceptionPolicy::pass_packet;
    case ExceptionPolicy::bypass:
      return ExceptionPolicy::ignore;
    case ExceptionPolicy::drop:
      return ExceptionPolicy::drop_packet;
    default:
      return policy;
  }
}

}  // namespace penumbra::ids
