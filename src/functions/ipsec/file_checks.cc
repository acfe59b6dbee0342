// SPDX-License-Identifier: Apache-2.0
//
// Checks the SAs and policies of files together.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/xfrm/address.h"
#include "control/xfrm/spd.h"
#include "functions/ipsec/policy.h"
#include "functions/ipsec/settings.h"
#include "penumbra/errors.h"

namespace penumbra::ipsec {
namespace {

namespace xfrm = control::xfrm;

std::string name_of(const xfrm::Sa& sa) {
  const xfrm::SaId& id = sa.settings.id;
  return fmt::format("the SA {:#x} to {}", id.spi, to_string(id.destination, id.family));
}

std::string name_of(const xfrm::Policy& policy) {
  constexpr std::array kDirections{"in", "out", "fwd"};
  const xfrm::Selector& selector = policy.selector;
  return fmt::format("the {} policy {}/{} -> {}/{}", kDirections[static_cast<std::size_t>(policy.direction)],
                     to_string(selector.source, selector.family), selector.source_prefix,
                     to_string(selector.destination, selector.family), selector.destination_prefix);
}

/// Returns pairs of indices of equal things next to each other in the order of `less`.
template <class Thing, class Less>
std::vector<std::pair<std::size_t, std::size_t>> equal_pairs(const std::vector<Thing>& things, const Less& less) {
  std::vector<std::size_t> order(things.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return less(things[a], things[b]); });
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (!less(things[order[i - 1]], things[order[i]])) pairs.emplace_back(order[i - 1], order[i]);
  }
  return pairs;
}

bool has_lower_id(const xfrm::Sa& a, const xfrm::Sa& b) {
  return a.settings.id < b.settings.id;
}

/// Keys of a file are compared once, when it is read.
bool has_lower_cipher_key(const xfrm::Sa& a, const xfrm::Sa& b) {
  return std::ranges::lexicographical_compare(a.keys->cipher, b.keys->cipher);
}

/// Returns what RFC 8221 calls legacy in an SA, or nothing.
std::string legacy_of(const xfrm::Algorithms& used) {
  std::string names;
  if (used.cipher && used.cipher->name == "cbc(aes)") names = "CBC";
  if (used.digest && used.digest->name == "hmac(sha1)") names += names.empty() ? "SHA1" : " and SHA1";
  return names;
}

/// Returns true if two packets of the same key and nonce would show what they have in common.
bool needs_key_of_its_own(const xfrm::Algorithms& used) {
  return used.aead || (used.cipher && used.cipher->name == "rfc3686(ctr(aes))");
}

/// Returns true if a packet of an inbound policy may have come by the SA.
bool is_inbound(const xfrm::Sa& sa, std::span<const xfrm::Policy> policies) {
  return std::ranges::any_of(policies, [&](const xfrm::Policy& policy) {
    return policy.direction != xfrm::Direction::out && serves(sa.settings, policy);
  });
}

/// Returns true if a hard limit is reached before its soft one.
bool has_late_soft_limit(const xfrm::Limits& limits) {
  const auto is_late = [](std::uint64_t soft, std::uint64_t hard) { return soft != 0 && hard != 0 && soft > hard; };
  const auto is_late_amount = [](std::uint64_t soft, std::uint64_t hard) {
    return soft != xfrm::kUnlimited && soft > hard;
  };
  return is_late_amount(limits.soft_bytes, limits.hard_bytes) ||
         is_late_amount(limits.soft_packets, limits.hard_packets) ||
         is_late(limits.soft_add_seconds, limits.hard_add_seconds) ||
         is_late(limits.soft_use_seconds, limits.hard_use_seconds);
}

void warn_of_sa(const xfrm::Sa& sa, const Files& files, std::vector<std::string>& warnings) {
  constexpr std::uint32_t kLeastSpi = 256;
  if (sa.settings.id.spi < kLeastSpi) {
    warnings.push_back(name_of(sa) + " has a reserved SPI (RFC 4303); take 256 or more");
  }
  if (const std::string legacy = legacy_of(sa.settings.algorithms); !legacy.empty()) {
    warnings.push_back(fmt::format("{} uses {}, which is legacy; take rfc4106(gcm(aes))", name_of(sa), legacy));
  }
  if (sa.settings.replay_window == 0 && is_inbound(sa, files.policies)) {
    warnings.push_back(name_of(sa) + " accepts replayed packets; add `replay-window 64`");
  }
  if (has_late_soft_limit(sa.settings.limits)) {
    warnings.push_back(name_of(sa) + " has a soft limit above its hard limit, so that it ends without notice");
  }
}

void warn_of_policy(const xfrm::Policy& policy, const Files& files, std::vector<std::string>& warnings) {
  if (policy.templates.empty()) return;
  if (policy.action == xfrm::Action::block) {
    warnings.push_back(name_of(policy) + " blocks, so that its template has no effect");
    return;
  }
  const bool has_sa =
      std::ranges::any_of(files.states, [&](const xfrm::Sa& sa) { return serves(sa.settings, policy); });
  if (!has_sa) warnings.push_back(name_of(policy) + " has no SA, so that its packets are dropped");
}

void put_file_before(const std::filesystem::path& file, std::span<std::string> warnings) {
  for (std::string& warning : warnings) warning.insert(0, file.string() + ": ");
}

}  // namespace

void check_together(const Files& files, const Settings& settings) {
  if (const auto twice = equal_pairs(files.states, has_lower_id); !twice.empty()) {
    throw InputError({.file = settings.states.string()},
                     name_of(files.states[twice.front().first]) + " is there twice; remove one");
  }
  for (const xfrm::Sa& sa : files.states) {
    if (sa.settings.mark == xfrm::Mark{}) continue;
    throw InputError({.file = settings.states.string()},
                     name_of(sa) + " has a `mark`, and packets have none; remove it");
  }
  xfrm::Spd known;
  for (const xfrm::Policy& policy : files.policies) {
    const SourceLocation place{.file = settings.policies.string()};
    if (policy.templates.size() > 1) {
      throw InputError(place, name_of(policy) + " has several templates; a packet goes through one SA here");
    }
    if (is_conditional_bypass(policy)) {
      throw InputError(place, name_of(policy) +
                                  " lets packets pass in clear by a mark, an interface, a user or a "
                                  "sub-policy, which packets do not have; remove it");
    }
    if (known.find(key_of(policy)) != nullptr) throw InputError(place, name_of(policy) + " is there twice; remove one");
    xfrm::Policy copy = policy;
    copy.index = 0;
    known.insert(std::move(copy), false);
  }
}

std::vector<std::string> warnings_of(const Files& files, const Settings& settings) {
  if (settings.follows()) return {};
  std::vector<std::string> of_states, of_policies;
  for (const xfrm::Sa& sa : files.states) warn_of_sa(sa, files, of_states);
  for (const auto& [first, second] : equal_pairs(files.states, has_lower_cipher_key)) {
    if (!needs_key_of_its_own(files.states[first].settings.algorithms)) continue;
    of_states.push_back(fmt::format("{} has the key of {}; the same key must not seal for two SAs",
                                    name_of(files.states[second]), name_of(files.states[first])));
  }
  if (files.policies.empty()) of_policies.emplace_back("there is no policy, so that all packets are dropped");
  for (const xfrm::Policy& policy : files.policies) warn_of_policy(policy, files, of_policies);
  put_file_before(settings.states, of_states);
  put_file_before(settings.policies, of_policies);
  of_states.insert(of_states.end(), of_policies.begin(), of_policies.end());
  return of_states;
}

}  // namespace penumbra::ipsec
