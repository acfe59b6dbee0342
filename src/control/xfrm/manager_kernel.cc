// SPDX-License-Identifier: Apache-2.0
//
// SAs and policies of the kernel (kernel_follower.h).
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "control/xfrm/algorithms.h"
#include "control/xfrm/fields.h"
#include "control/xfrm/manager.h"
#include "control/xfrm/read_message.h"
#include "crypto/bytes.h"

namespace penumbra::control::xfrm {
namespace {

bool is_zero(const std::uint8_t* key, const std::optional<Algorithm>& algorithm) {
  if (!algorithm || algorithm->key_bits == 0) return false;
  std::uint8_t bits = 0;  // The time must not depend on the key.
  for (const std::uint8_t byte : std::span(key, algorithm->key_bits / 8)) bits |= byte;
  return bits == 0;
}

bool have_same_bytes(const KeyBytes& a, const KeyBytes& b) {
  return equal_bytes(reinterpret_cast<const std::uint8_t*>(&a), reinterpret_cast<const std::uint8_t*>(&b), sizeof a) !=
         0;
}

}  // namespace

Sa Manager::read_kernel_sa(const xfrm_usersa_info& raw, const Attributes& attributes) {
  Sa sa = read_sa(raw, attributes, keys_, clock_());
  sa.usage = to_usage(raw.curlft);
  const Algorithms& used = sa.settings.algorithms;
  const bool is_hidden = is_zero(sa.keys->cipher, used.aead) || is_zero(sa.keys->cipher, used.cipher) ||
                         is_zero(sa.keys->digest, used.digest);
  require(!is_hidden, EKEYREJECTED, "the kernel hides its key (lockdown=confidentiality)");
  return sa;
}

void Manager::add_marks(const std::vector<const Sa*>& sas) {
  for (const Sa* const sa : sas) raise_mark(*sa);
  marks_.save(clock_());
}

void Manager::raise_mark(const Sa& sa) {
  // A new file in place of a damaged one would hide the damage.
  if (!marks_.why_lost().empty()) return;
  marks_.raise(marks_.fingerprint(sa), sa.replay.out, !has_hard_limit(sa.settings.limits), clock_());
}

void Manager::spend(const Sa& sa) {
  if (!marks_.why_lost().empty() || is_spent(sa)) return;
  marks_.raise(marks_.fingerprint(sa), kUnlimited, !has_hard_limit(sa.settings.limits), clock_());
}

void Manager::adopt(Sa sa, Outcome& outcome) {
  const KeyFingerprint key = marks_.fingerprint(sa);
  const bool seals = sa.why_unsealed.empty();
  if (seals) sa.replay.out = std::max(sa.replay.out, marks_.find(key));
  Sa* const old = sad_.find_exact(sa.settings.id, sa.settings.mark);
  const bool has_same_key = old != nullptr && !old->larval && marks_.fingerprint(*old) == key;
  if (has_same_key && !seals && old->why_unsealed.empty() && old->replay.out != 0) {
    // A data plane may have numbers, and must not use them.
    revoke(sa.settings, outcome);
    remove(*old, outcome);
    return;
  }
  if (has_same_key && old->settings == sa.settings && have_same_bytes(*old->keys, *sa.keys)) {
    old->why_unsealed = std::move(sa.why_unsealed);
    return;
  }
  const auto has_same_window = [&](const Replay& other) { return other.bitmap.size() == sa.replay.bitmap.size(); };
  if (has_same_key) {
    const bool was_dying = old->dying && old->settings.limits == sa.settings.limits;
    Sa& now = sad_.move(*old, std::move(sa.settings));
    now.keys = std::move(sa.keys);
    if (!has_same_window(now.replay)) now.replay = std::move(sa.replay);
    now.dying = was_dying;
    now.why_unsealed = std::move(sa.why_unsealed);
    notify_sa(XFRM_MSG_UPDSA, now, outcome);
    return lend_first(now, outcome);
  }
  if (old != nullptr) {
    remove(*old, outcome);
  } else if (const auto kept = windows_.find(key); kept != windows_.end()) {
    const Replay& window = kept->second.replay;
    if (has_same_window(window) && window.in >= sa.replay.in) {
      sa.replay.in = window.in;
      sa.replay.bitmap = window.bitmap;
    }
    windows_.erase(kept);
  }
  // A data plane keeps an SA for some time after its removal, and may still have it.
  if (!seals) revoke(sa.settings, outcome);
  Sa& now = sad_.add(std::move(sa));
  notify_sa(XFRM_MSG_NEWSA, now, outcome);
  lend_first(now, outcome);
}

void Manager::revoke(const SaSettings& sa, Outcome& outcome) {
  if (sa.mark != Mark{}) return;  // The data plane uses no SA with a mark.
  outcome.notifications.push_back({PENUMBRA_XFRM_GROUP_DATA_PLANE, {}});
  MessageWriter(outcome.notifications.back().message).revoked(sa.id, 0);
}

void Manager::revoke_unsealed(Outcome& outcome) const {
  for (const auto& [number, sa] : sad_.all()) {
    if (sa.why_unsealed.empty() || sa.settings.mark != Mark{}) continue;
    MessageWriter(outcome.replies.emplace_back()).revoked(sa.settings.id, NLM_F_MULTI);
  }
}

void Manager::drop(const SaId& id, const Mark& mark, Outcome& outcome) {
  if (const Sa* const sa = find_sa(id, mark); sa != nullptr) remove(*sa, outcome);
}

void Manager::remove(const Sa& sa, Outcome& outcome) {
  const Sa removed = sad_.remove(sa);
  if (follows_kernel_ && removed.replay.in != 0) {
    windows_[marks_.fingerprint(removed)] = {.replay = removed.replay, .time = clock_()};
  }
  notify_removed(removed, outcome);
}

void Manager::drop(const PolicyKey& key, Outcome& outcome) {
  if (const Policy* const policy = spd_.find(key); policy != nullptr) remove(*policy, outcome);
}

void Manager::retain_sas(const std::function<bool(const SaSettings&)>& stays, Outcome& outcome) {
  std::vector<std::uint64_t> gone;
  for (const auto& [number, sa] : sad_.all()) {
    if (!sa.larval && !stays(sa.settings)) gone.push_back(number);
  }
  for (const std::uint64_t number : gone) remove(*sad_.find(number), outcome);
}

void Manager::retain_policies(const std::function<bool(const Policy&)>& stays, Outcome& outcome) {
  std::vector<std::uint64_t> gone;
  for (const auto& [number, policy] : spd_.all()) {
    if (!stays(policy)) gone.push_back(number);
  }
  for (const std::uint64_t number : gone) remove(*spd_.find_number(number), outcome);
}

void Manager::ask_for_successor(Sa& sa, Outcome& outcome) {
  if (!successors_asked_.emplace(sa.settings.request, clock_()).second) return;
  expire(sa, false, outcome);
}

Limits Manager::watched_limits(const Sa& sa) const {
  Limits limits = sa.settings.limits;
  // The kernel watches the age of its SAs.
  if (follows_kernel_ && !sa.larval) limits.soft_add_seconds = limits.hard_add_seconds = 0;
  return limits;
}

}  // namespace penumbra::control::xfrm
