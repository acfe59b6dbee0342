// SPDX-License-Identifier: Apache-2.0
//
// Requests about policies.
#include <cerrno>
#include <utility>

#include "control/xfrm/fields.h"
#include "control/xfrm/manager.h"
#include "control/xfrm/manager_request.h"

namespace penumbra::control::xfrm {

void Manager::add_policy(Request& request) {
  const bool is_new = request.head.nlmsg_type == XFRM_MSG_NEWPOLICY;
  require(!request.attributes.has(XFRMA_SEC_CTX), EOPNOTSUPP, "policies for packets with a security label");
  Policy policy = read_policy(request.fixed<xfrm_userpolicy_info>(), request.attributes, clock_());
  const Policy& now = spd_.insert(std::move(policy), !is_new);
  notify_policy(request.head.nlmsg_type, now, request.outcome);
}

void Manager::get_policy(Request& request) {
  const auto raw = request.fixed<xfrm_userpolicy_id>();
  const PolicyKey key = read_policy_key(raw, request.attributes);
  Policy* const policy = raw.index != 0 ? spd_.find(raw.index, key) : spd_.find(key);
  require(policy != nullptr, ENOENT, "there is no such policy");
  if (request.head.nlmsg_type == XFRM_MSG_GETPOLICY) {
    MessageWriter(request.reply()).policy(XFRM_MSG_NEWPOLICY, *policy, request.to());
    return;
  }
  remove(*policy, request.outcome);
}

void Manager::remove(const Policy& policy, Outcome& outcome) {
  const Policy removed = spd_.remove(policy);
  for (const unsigned group : {unsigned{XFRMNLGRP_POLICY}, unsigned{PENUMBRA_XFRM_GROUP_DATA_PLANE}}) {
    outcome.notifications.push_back({group, {}});
    MessageWriter(outcome.notifications.back().message).policy_removed(removed);
  }
}

void Manager::expire_policy(Request& request) {
  const auto raw = request.fixed<xfrm_user_polexpire>();
  require(raw.pol.dir < XFRM_POLICY_MAX, EINVAL, "a direction is in, out or fwd");
  PolicyKey key;
  key.type = read_policy_type(request.attributes);
  key.direction = static_cast<Direction>(raw.pol.dir);
  key.interface_id = request.attributes.get<std::uint32_t>(XFRMA_IF_ID).value_or(0);
  key.mark = read_whole_mark(request.attributes);
  key.selector = to_selector(raw.pol.sel);
  Policy* const policy = raw.pol.index != 0 ? spd_.find(raw.pol.index, key) : spd_.find(key);
  require(policy != nullptr, ENOENT, "there is no such policy");
  expire(*policy, raw.hard != 0, request.outcome);
}

void Manager::flush_policies(Request& request) {
  const std::uint8_t type = read_policy_type(request.attributes);
  if (spd_.flush(type) == 0) return;
  for (const unsigned group : {unsigned{XFRMNLGRP_POLICY}, unsigned{PENUMBRA_XFRM_GROUP_DATA_PLANE}}) {
    MessageWriter(request.notify(group)).flushed_policies(type);
  }
}

void Manager::get_spd_info(Request& request) {
  const auto count = [&](Direction direction) { return static_cast<std::uint32_t>(spd_.count(direction)); };
  MessageWriter(request.reply())
      .spd_info(request.fixed<std::uint32_t>(),
                {count(Direction::in), count(Direction::out), count(Direction::forward)}, request.to());
}

void Manager::set_spd_info(Request& /*request*/) {
  // The request tunes a hash table of Linux that the keeper does not have.
}

void Manager::set_default(Request& request) {
  const auto raw = request.fixed<xfrm_userpolicy_default>();
  const auto take = [](std::uint8_t& action, std::uint8_t wanted) {
    if (wanted == XFRM_USERPOLICY_BLOCK || wanted == XFRM_USERPOLICY_ACCEPT) action = wanted;
  };
  take(default_in_, raw.in);
  take(default_forward_, raw.fwd);
  take(default_out_, raw.out);
  for (const unsigned group : {unsigned{XFRMNLGRP_POLICY}, unsigned{PENUMBRA_XFRM_GROUP_DATA_PLANE}}) {
    MessageWriter(request.notify(group)).default_actions(default_in_, default_forward_, default_out_, {});
  }
}

void Manager::get_default(Request& request) {
  MessageWriter(request.reply()).default_actions(default_in_, default_forward_, default_out_, request.to());
}

void Manager::notify_policy(std::uint16_t type, const Policy& policy, Outcome& outcome) const {
  for (const unsigned group : {unsigned{XFRMNLGRP_POLICY}, unsigned{PENUMBRA_XFRM_GROUP_DATA_PLANE}}) {
    outcome.notifications.push_back({group, {}});
    MessageWriter(outcome.notifications.back().message).policy(type, policy);
  }
}

void Manager::expire(Policy& policy, bool hard, Outcome& outcome) {
  outcome.notifications.push_back({XFRMNLGRP_EXPIRE, {}});
  MessageWriter(outcome.notifications.back().message).policy_expire(policy, hard);
  policy.dying = true;
  if (!hard) return;
  const Policy removed = spd_.remove(policy);
  outcome.notifications.push_back({PENUMBRA_XFRM_GROUP_DATA_PLANE, {}});
  MessageWriter(outcome.notifications.back().message).policy_removed(removed);
}

}  // namespace penumbra::control::xfrm
