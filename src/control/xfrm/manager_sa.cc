// SPDX-License-Identifier: Apache-2.0
//
// Requests about SAs.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "control/xfrm/algorithms.h"
#include "control/xfrm/fields.h"
#include "control/xfrm/manager.h"
#include "control/xfrm/manager_request.h"

namespace penumbra::control::xfrm {
namespace {

/// Checks that a protocol identifies an SA by its SPI. SAs of other protocols need a source address, and there is none.
void check_protocol(std::uint8_t protocol, const Attributes& attributes) {
  constexpr std::uint8_t kAh = 51, kCompression = 108;
  if (protocol == kProtocolEsp || protocol == kAh || protocol == kCompression) return;
  require(attributes.has(XFRMA_SRCADDR), EINVAL, "an SA without SPI needs a source address");
  throw Refused(ESRCH, "there is no such SA");
}

}  // namespace

Sa* Manager::find_sa(const Request& request, const SaId& id) {
  if (!request.sender.is_kernel) return sad_.find(id, read_mark(request.attributes));
  return sad_.find_exact(id, read_whole_mark(request.attributes));
}

Sa& Manager::require_sa(Request& request, const SaId& id) {
  Sa* const sa = id.spi == 0 ? nullptr : find_sa(request, id);
  if (sa == nullptr) throw Refused(ESRCH, "there is no such SA");
  return *sa;
}

void Manager::take_mark(Sa& sa) const {
  if (!needs_unique_iv(sa.settings.algorithms)) return;
  if (!marks_.why_lost().empty()) {
    throw Refused(EKEYREJECTED, "this key may have been used: " + marks_.why_lost());
  }
  sa.replay.out = std::max(sa.replay.out, marks_.find(marks_.fingerprint(sa)));
}

void Manager::add_sa(Request& request) {
  Sa sa = read_sa(request.fixed<xfrm_usersa_info>(), request.attributes, keys_, clock_());
  sa.sender = request.sender.user;
  take_mark(sa);
  const bool is_new = request.head.nlmsg_type == XFRM_MSG_NEWSA;
  Sa& now = is_new ? sad_.add(std::move(sa)) : sad_.update(std::move(sa));
  notify_sa(request.head.nlmsg_type, now, request.outcome);
  lend_first(now, request.outcome);
}

void Manager::remove_sa(Request& request) {
  const SaId id = to_id(request.fixed<xfrm_usersa_id>());
  check_protocol(id.protocol, request.attributes);
  remove(require_sa(request, id), request.outcome);
}

void Manager::get_sa(Request& request) {
  const SaId id = to_id(request.fixed<xfrm_usersa_id>());
  check_protocol(id.protocol, request.attributes);
  const Sa& sa = require_sa(request, id);
  MessageWriter(request.reply()).sa(XFRM_MSG_NEWSA, sa, view_for(request.sender, sa), request.to());
}

void Manager::allocate_spi(Request& request) {
  const auto raw = request.fixed<xfrm_userspi_info>();
  Sa wanted = read_larval(raw, request.attributes, clock_());
  wanted.sender = request.sender.user;
  wanted.settings.limits.hard_add_seconds = larval_seconds_;
  const Sa& larval = sad_.allocate_spi(wanted, raw.min, raw.max);
  MessageWriter(request.reply()).sa(XFRM_MSG_NEWSA, larval, KeyView::none, request.to());
}

void Manager::flush_sas(Request& request) {
  const std::uint8_t protocol = request.fixed<xfrm_usersa_flush>().proto;
  if (sad_.flush(protocol) == 0) return;
  for (const unsigned group : {unsigned{XFRMNLGRP_SA}, unsigned{PENUMBRA_XFRM_GROUP_DATA_PLANE}}) {
    MessageWriter(request.notify(group)).flushed_sas(protocol);
  }
}

void Manager::get_event(Request& request) {
  const auto raw = request.fixed<xfrm_aevent_id>();
  const Sa& sa = require_sa(request, to_id(raw.sa_id));
  MessageWriter(request.reply()).event(sa, raw.flags, request.to());
}

void Manager::set_event(Request& request) {
  const auto raw = request.fixed<xfrm_aevent_id>();
  require((request.head.nlmsg_flags & NLM_F_REPLACE) != 0, EINVAL, "NEWAE needs the flag REPLACE");
  Sa& sa = require_sa(request, to_id(raw.sa_id));
  require(!sa.larval, EINVAL, "the SA is larval");
  apply_event(request.attributes, sa);
  MessageWriter(request.notify(XFRMNLGRP_AEVENTS)).event(sa, XFRM_AE_CU);
}

void Manager::expire_sa(Request& request) {
  const auto raw = request.fixed<xfrm_user_expire>();
  Sa* const sa = find_sa(request, to_id(raw.state));
  require(sa != nullptr, ENOENT, "there is no such SA");
  require(!sa->larval, EINVAL, "the SA is larval");
  // The kernel repeats a soft expiry that came from here.
  if (request.sender.is_kernel && raw.hard == 0 && sa->dying) return;
  expire(*sa, raw.hard != 0, request.outcome);
}

void Manager::get_sad_info(Request& request) {
  MessageWriter(request.reply())
      .sad_info(request.fixed<std::uint32_t>(), static_cast<std::uint32_t>(sad_.all().size()), request.to());
}

void Manager::notify_sa(std::uint16_t type, const Sa& sa, Outcome& outcome) const {
  outcome.notifications.push_back({XFRMNLGRP_SA, {}});
  MessageWriter(outcome.notifications.back().message).sa(type, sa, KeyView::none);
  outcome.notifications.push_back({PENUMBRA_XFRM_GROUP_DATA_PLANE, {}});
  MessageWriter(outcome.notifications.back().message).sa(type, sa, KeyView::full);
}

void Manager::notify_removed(const Sa& sa, Outcome& outcome) const {
  for (const unsigned group : {unsigned{XFRMNLGRP_SA}, unsigned{PENUMBRA_XFRM_GROUP_DATA_PLANE}}) {
    outcome.notifications.push_back({group, {}});
    MessageWriter(outcome.notifications.back().message).sa_removed(sa, KeyView::none);
  }
}

void Manager::expire(Sa& sa, bool hard, Outcome& outcome) {
  outcome.notifications.push_back({XFRMNLGRP_EXPIRE, {}});
  MessageWriter(outcome.notifications.back().message).expire(sa, hard);
  sa.dying = true;
  if (!hard) return;
  const Sa removed = sad_.remove(sa);
  outcome.notifications.push_back({PENUMBRA_XFRM_GROUP_DATA_PLANE, {}});
  MessageWriter(outcome.notifications.back().message).sa_removed(removed, KeyView::none);
}

void Manager::check_limits(Sa& sa, Outcome& outcome) {
  const Expiry expiry = expiry_of(watched_limits(sa), sa.usage, sa.dying, clock_());
  if (expiry != Expiry::none) expire(sa, expiry == Expiry::hard, outcome);
}

}  // namespace penumbra::control::xfrm
