// SPDX-License-Identifier: Apache-2.0
//
// SAs and policies of the kernel (kernel_follower.h).
#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "control/xfrm/algorithms.h"
#include "control/xfrm/fields.h"
#include "control/xfrm/manager.h"
#include "control/xfrm/read_message.h"

namespace penumbra::control::xfrm {
namespace {

bool is_zero(const std::uint8_t* key, const std::optional<Algorithm>& algorithm) {
  if (!algorithm || algorithm->key_bits == 0) return false;
  return std::ranges::all_of(std::span(key, algorithm->key_bits / 8), [](std::uint8_t byte) { return byte == 0; });
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

const Sa* Manager::find_sa(const SaId& id, const Mark& mark) {
  const Sa* const found = sad_.find(id, mark.value & mark.mask);
  return found != nullptr && found->settings.mark == mark ? found : nullptr;
}

void Manager::add_marks(const std::vector<const Sa*>& sas) {
  for (const Sa* const sa : sas) {
    marks_.raise(marks_.fingerprint(*sa), sa->replay.out, !has_hard_limit(sa->settings.limits), clock_());
  }
  marks_.save(clock_());
}

void Manager::adopt(Sa sa, Outcome& outcome) {
  const KeyFingerprint key = marks_.fingerprint(sa);
  sa.replay.out = std::max(sa.replay.out, marks_.find(key));
  const Sa* const old = find_sa(sa.settings.id, sa.settings.mark);
  const bool has_same_key = old != nullptr && !old->larval && marks_.fingerprint(*old) == key;
  if (has_same_key && marks_.find(key) != 0 && old->why_unsealed.empty() && !sa.why_unsealed.empty()) {
    // A data plane may have numbers, and must not use them.
    remove(*old, outcome);
    return;
  }
  if (has_same_key && old->settings == sa.settings) {
    sad_.find(old->number)->why_unsealed = std::move(sa.why_unsealed);
    return;
  }
  const auto has_same_window = [&](const Replay& other) { return other.bitmap.size() == sa.replay.bitmap.size(); };
  if (has_same_key) {
    if (has_same_window(old->replay)) sa.replay = old->replay;
    sa.usage = old->usage;
    sa.counters = old->counters;
    sa.dying = old->dying && old->settings.limits == sa.settings.limits;
    sad_.remove(*old);
  } else if (old != nullptr) {
    remove(*old, outcome);
  } else if (const auto kept = windows_.find(key); kept != windows_.end()) {
    const Replay& window = kept->second.replay;
    if (has_same_window(window) && window.in >= sa.replay.in) {
      sa.replay.in = window.in;
      sa.replay.bitmap = window.bitmap;
    }
    windows_.erase(kept);
  }
  Sa& now = sad_.add(std::move(sa));
  notify_sa(has_same_key ? XFRM_MSG_UPDSA : XFRM_MSG_NEWSA, now, outcome);
  lend_first(now, outcome);
}

void Manager::remove(const Sa& sa, Outcome& outcome) {
  const Sa removed = sad_.remove(sa);
  if (follows_kernel_ && removed.replay.in != 0) {
    windows_[marks_.fingerprint(removed)] = {.replay = removed.replay, .time = clock_()};
  }
  notify_removed(removed, outcome);
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
