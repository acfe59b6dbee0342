// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/kernel_follower.h"

#include <fmt/format.h>
#include <linux/netlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <system_error>
#include <tuple>

#include "control/xfrm/fields.h"
#include "control/xfrm/read_message.h"
#include "control/xfrm/write_message.h"

namespace penumbra::control::xfrm {
namespace {

constexpr int kMostDatagrams = 4096;  // Of one call, so that clients get their turn.
constexpr int kMostDrained = 100'000;
constexpr int kMostDumps = 5;  // In place of one that was interrupted.

std::uint16_t type_of(std::span<const std::uint8_t> message) {
  return fixed_part<nlmsghdr>(message).nlmsg_type;
}

/// Returns the content of a message, or nothing if it is shorter than `Fixed`.
template <class Fixed>
std::optional<Fixed> fixed_of(std::span<const std::uint8_t> message) {
  const auto payload = message.subspan(sizeof(nlmsghdr));
  return payload.size() < sizeof(Fixed) ? std::nullopt : std::optional(fixed_part<Fixed>(payload));
}

std::span<const std::uint8_t> attributes_of(std::span<const std::uint8_t> message, std::size_t fixed) {
  return message.subspan(std::min<std::size_t>(NLMSG_ALIGN(sizeof(nlmsghdr) + fixed), message.size()));
}

/// Returns a message of the kernel as a request.
Buffer as_request(std::span<const std::uint8_t> message, std::uint16_t type) {
  Buffer request(message.begin(), message.end());
  auto head = fixed_part<nlmsghdr>(message);
  head.nlmsg_type = type;
  head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  std::memcpy(request.data(), &head, sizeof head);
  return request;
}

/// Calls `visit` with the type and the bytes of each attribute, with its header. Returns false if the last one is cut
/// off.
template <class Visit>
bool visit_attributes(std::span<const std::uint8_t> rest, const Visit& visit) {
  while (rest.size() >= sizeof(nlattr)) {
    const auto head = fixed_part<nlattr>(rest);
    if (head.nla_len < sizeof head || head.nla_len > rest.size()) return false;
    visit(head.nla_type, rest.first(head.nla_len));
    rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(head.nla_len), rest.size()));
  }
  return rest.empty();
}

/// True for the policies of sockets, whose directions follow those of others.
bool is_of_socket(std::uint8_t direction) {
  return direction >= XFRM_POLICY_MAX;
}

/// Returns the mark of a message about an SA. One that cannot be read is that of no SA here.
Mark mark_of(std::span<const std::uint8_t> message) {
  try {
    return read_whole_mark(Attributes(attributes_of(message, sizeof(xfrm_usersa_info))));
  } catch (const Refused&) {
    return {};
  }
}

/// Returns the key of the policy in a message, or nothing if the policy is not for packets of IP or for a socket.
std::optional<PolicyKey> key_in(std::span<const std::uint8_t> message) {
  const auto raw = fixed_of<xfrm_userpolicy_info>(message);
  if (!raw || is_of_socket(raw->dir)) return std::nullopt;
  xfrm_userpolicy_id id{};
  id.sel = raw->sel;
  id.index = raw->index;
  id.dir = raw->dir;
  try {
    return read_policy_key(id, Attributes(attributes_of(message, sizeof *raw)));
  } catch (const Refused&) {
    return std::nullopt;
  }
}

xfrm_userpolicy_info policy_in(const Buffer& request) {
  return fixed_part<xfrm_userpolicy_info>(std::span(request).subspan(sizeof(nlmsghdr)));
}

/// Calls `change` with the bytes of each template in the request to add a policy.
template <class Change>
void change_templates(Buffer& request, const Change& change) {
  const std::size_t fixed = sizeof(xfrm_userpolicy_info);
  visit_attributes(attributes_of(request, fixed), [&](std::uint16_t type, std::span<const std::uint8_t> bytes) {
    if (type != XFRMA_TMPL) return;
    const auto begin = static_cast<std::size_t>(bytes.data() - request.data());
    const std::size_t end = begin + bytes.size();
    for (std::size_t at = begin + sizeof(nlattr); at + sizeof(xfrm_user_tmpl) <= end; at += sizeof(xfrm_user_tmpl)) {
      change(&request[at]);
    }
  });
}

/// Changes the request to add a policy: the new policy blocks the same packets.
void block_instead(Buffer& request) {
  auto raw = policy_in(request);
  raw.action = XFRM_POLICY_BLOCK;
  raw.share = XFRM_SHARE_ANY;
  Buffer blocking(request.begin(), request.begin() + sizeof(nlmsghdr));
  blocking.resize(NLMSG_ALIGN(sizeof(nlmsghdr) + sizeof raw));
  std::memcpy(&blocking[sizeof(nlmsghdr)], &raw, sizeof raw);
  // The key of the policy stays.
  visit_attributes(attributes_of(request, sizeof raw), [&](std::uint16_t type, std::span<const std::uint8_t> bytes) {
    if (type != XFRMA_MARK && type != XFRMA_IF_ID && type != XFRMA_POLICY_TYPE) return;
    blocking.insert(blocking.end(), bytes.begin(), bytes.end());
    blocking.resize(NLMSG_ALIGN(blocking.size()));
  });
  const auto length = static_cast<std::uint32_t>(blocking.size());
  std::memcpy(blocking.data(), &length, sizeof length);
  request = std::move(blocking);
}

/// True if a policy has the content of a request to add it.
bool is_same(const Policy& known, const Buffer& request) {
  const auto raw = policy_in(request);
  const Policy told = read_policy(raw, Attributes(attributes_of(request, sizeof raw)), 0);
  const auto fields = [](const Policy& policy) {
    return std::tie(policy.index, policy.priority, policy.action, policy.flags, policy.templates, policy.limits);
  };
  return key_of(known) == key_of(told) && fields(known) == fields(told);
}

}  // namespace

KernelFollower::KernelFollower(KernelLink& link, Manager& manager, Takeover::HasOffload has_offload)
    : link_(link), manager_(manager), takeover_(link, manager, std::move(has_offload)) {
  manager_.follow_kernel();
}

KernelFollower::Answer KernelFollower::repeat(Buffer request, Outcome& outcome) {
  Sender kernel{.user = 0, .port = 0, .groups = 0, .wants_text = true, .is_kernel = true};
  outcome.replies.clear();
  manager_.handle(kernel, request, outcome);
  Answer answer;
  for (const Buffer& reply : outcome.replies) {
    const auto raw = fixed_of<nlmsgerr>(reply);
    if (type_of(reply) != NLMSG_ERROR || !raw) continue;
    answer.error = -raw->error;
    visit_attributes(attributes_of(reply, sizeof(nlmsgerr)),
                     [&](std::uint16_t type, std::span<const std::uint8_t> bytes) {
                       if (type != NLMSGERR_ATTR_MSG) return;
                       const auto text = bytes.subspan(sizeof(nlattr));
                       answer.reason.assign(text.begin(), std::ranges::find(text, 0));
                     });
  }
  outcome.replies.clear();
  return answer;
}

void KernelFollower::repeat_removal(Buffer request, Outcome& outcome) {
  const int error = repeat(std::move(request), outcome).error;
  if (error != 0 && error != ESRCH && error != ENOENT) needs_synchronization_ = true;
}

void KernelFollower::take(std::span<const std::uint8_t> message, Outcome& outcome) {
  switch (type_of(message)) {
    case XFRM_MSG_NEWSA:
    case XFRM_MSG_UPDSA: {
      // The message of an update has what the daemon sent, and the kernel may have kept something else.
      const auto raw = fixed_of<xfrm_usersa_info>(message);
      if (!raw) return;
      pending_.emplace_back(to_id(*raw), mark_of(message));
      return;
    }
    case XFRM_MSG_DELSA:
      takeover_.note_deleted(message);
      [[fallthrough]];
    case XFRM_MSG_FLUSHSA:
    case XFRM_MSG_EXPIRE:
      take_pending(outcome);
      return repeat_removal(as_request(message, type_of(message)), outcome);
    case XFRM_MSG_MIGRATE:
      take_pending(outcome);
      return migrate(message, outcome);
    case XFRM_MSG_NEWPOLICY:
    case XFRM_MSG_UPDPOLICY:
      return put_policy(message, outcome);
    case XFRM_MSG_DELPOLICY:
      return remove_policy(message, outcome);
    case XFRM_MSG_FLUSHPOLICY:
    case XFRM_MSG_POLEXPIRE:
      return repeat_removal(as_request(message, type_of(message)), outcome);
    case XFRM_MSG_GETDEFAULT:
      repeat(as_request(message, XFRM_MSG_SETDEFAULT), outcome);
      return;
    default:
      return;
  }
}

void KernelFollower::take_pending(Outcome& outcome) {
  if (pending_.empty()) return;
  takeover_.take_changed(std::exchange(pending_, {}), outcome);
  if (takeover_.take_incomplete()) needs_synchronization_ = true;
}

KernelFollower::Wanted KernelFollower::want(const xfrm_userpolicy_info& raw, std::span<const std::uint8_t> message) {
  Wanted wanted{.request = as_request(message, XFRM_MSG_UPDPOLICY), .reason = {}, .is_left_out = false};
  try {
    const bool is_whole = visit_attributes(attributes_of(message, sizeof raw), [](std::uint16_t, const auto&) {});
    require(is_whole, EINVAL, "its attributes are cut off");
    const Attributes attributes(attributes_of(message, sizeof raw));
    const Policy policy = read_policy(raw, attributes, 0);
    const bool is_bypass = policy.action == Action::allow && policy.templates.empty();
    if (is_conditional_bypass(policy) || (is_bypass && attributes.has(XFRMA_SEC_CTX))) {
      wanted.reason = "packets in clear depend on a mark, an interface, a user, a label or a sub-policy";
      wanted.is_left_out = true;
      return wanted;
    }
    require(!attributes.has(XFRMA_SEC_CTX), EOPNOTSUPP, "it is for packets with a security label");
    require(policy.type == XFRM_POLICY_TYPE_MAIN, EOPNOTSUPP, "it is a sub-policy");
  } catch (const Refused& refused) {
    wanted.reason = refused.what();
    block_instead(wanted.request);
    return wanted;
  }
  if (raw.dir != XFRM_POLICY_OUT) return wanted;
  // The kernel may have an SA that is not used here. Packets then must not leave in clear.
  change_templates(wanted.request, [](std::uint8_t* bytes) { bytes[offsetof(xfrm_user_tmpl, optional)] = 0; });
  return wanted;
}

void KernelFollower::put_policy(std::span<const std::uint8_t> message, Outcome& outcome) {
  const auto raw = fixed_of<xfrm_userpolicy_info>(message);
  if (!raw || is_of_socket(raw->dir)) return;
  Wanted wanted = want(*raw, message);
  if (!wanted.reason.empty()) {
    const std::string text = fmt::format("the kernel's policy with index {} is not used{}: {}", raw->index,
                                         wanted.is_left_out ? "" : ", and its packets are dropped", wanted.reason);
    if (takeover_.warn(text)) ++manager_.kernel().refused_policies;
  }
  if (wanted.is_left_out) {
    if (const auto key = key_in(message)) manager_.drop(*key, outcome);
    return;
  }
  const Answer answer = repeat(std::move(wanted.request), outcome);
  if (answer.error == 0) return;
  // Packets that the policy protects must not pass in clear.
  throw std::system_error(
      answer.error, std::generic_category(),
      fmt::format("xfrm: the kernel's policy with index {} cannot be followed: {}", raw->index, answer.reason));
}

void KernelFollower::remove_policy(std::span<const std::uint8_t> message, Outcome& outcome) {
  auto id = fixed_of<xfrm_userpolicy_id>(message);
  if (!id || is_of_socket(id->dir)) return;
  Buffer request = as_request(message, XFRM_MSG_DELPOLICY);
  visit_attributes(attributes_of(message, sizeof *id), [&](std::uint16_t type, std::span<const std::uint8_t> bytes) {
    if (type != XFRMA_POLICY || bytes.size() < sizeof(nlattr) + sizeof(xfrm_userpolicy_info)) return;
    id->index = fixed_part<xfrm_userpolicy_info>(bytes.subspan(sizeof(nlattr))).index;
    std::memcpy(&request[sizeof(nlmsghdr)], &*id, sizeof *id);
  });
  repeat_removal(std::move(request), outcome);
}

void KernelFollower::migrate(std::span<const std::uint8_t> message, Outcome& outcome) {
  if (!fixed_of<xfrm_userpolicy_id>(message)) return;
  // Each move is an attribute here, and a request has one attribute with all moves.
  const std::size_t fixed = NLMSG_ALIGN(sizeof(nlmsghdr) + sizeof(xfrm_userpolicy_id));
  Buffer request = as_request(message.first(std::min(fixed, message.size())), XFRM_MSG_MIGRATE);
  Buffer moves(sizeof(nlattr));
  visit_attributes(attributes_of(message, sizeof(xfrm_userpolicy_id)),
                   [&](std::uint16_t type, std::span<const std::uint8_t> bytes) {
                     if (type == XFRMA_MIGRATE) {
                       moves.insert(moves.end(), bytes.begin() + sizeof(nlattr), bytes.end());
                       return;
                     }
                     request.insert(request.end(), bytes.begin(), bytes.end());
                     request.resize(NLMSG_ALIGN(request.size()));
                   });
  const nlattr head{.nla_len = static_cast<std::uint16_t>(moves.size()), .nla_type = XFRMA_MIGRATE};
  std::memcpy(moves.data(), &head, sizeof head);
  request.insert(request.end(), moves.begin(), moves.end());
  const auto length = static_cast<std::uint32_t>(request.size());
  std::memcpy(request.data(), &length, sizeof length);
  repeat(std::move(request), outcome);
  // The kernel may move fewer SAs than the manager.
  needs_synchronization_ = true;
}

bool KernelFollower::read(int most, Outcome& outcome) {
  bool is_empty = false;
  for (int i = 0; i < most && !is_empty; ++i) {
    const auto received = link_.receive([&](std::span<const std::uint8_t> message) { take(message, outcome); });
    is_empty = received == KernelLink::Received::nothing;
    if (received != KernelLink::Received::overrun) continue;
    ++manager_.kernel().overruns;
    needs_synchronization_ = true;
  }
  take_pending(outcome);
  return is_empty;
}

void KernelFollower::receive(Outcome& outcome) {
  read(kMostDatagrams, outcome);
  if (needs_synchronization_) return synchronize(outcome);
  manager_.save_marks({}, outcome);
}

void KernelFollower::synchronize(Outcome& outcome) {
  // Earlier notifications must not undo what the later dumps tell. Until a socket that has lost some is empty, the
  // kernel does not report further losses.
  const bool is_empty = read(kMostDrained, outcome);
  needs_synchronization_ = !is_empty;
  put_defaults(outcome);
  put_sas(outcome);
  put_policies(outcome);
  if (takeover_.take_incomplete()) needs_synchronization_ = true;
  if (was_synchronized_) ++manager_.kernel().resyncs;
  was_synchronized_ = true;
  manager_.save_marks({}, outcome);
}

std::vector<Buffer> KernelFollower::dump(std::uint16_t type) {
  Buffer request;
  MessageWriter writer(request);
  writer.begin(type, NLM_F_REQUEST | NLM_F_DUMP, {});
  if (type == XFRM_MSG_GETSA) {
    writer.put(xfrm_usersa_id{});
  } else {
    writer.put(xfrm_userpolicy_id{});
  }
  writer.end();
  std::vector<Buffer> found;
  int error = EINTR;
  for (int i = 0; i < kMostDumps && (error == EINTR || error == ENOBUFS); ++i) {
    found.clear();
    error = link_.ask(
        request, [&](std::span<const std::uint8_t> message) { found.emplace_back(message.begin(), message.end()); });
  }
  if (error != 0) {
    throw std::system_error(error, std::generic_category(), "xfrm: the kernel does not list its SAs and policies");
  }
  // A dump lists the newest entry first.
  std::ranges::reverse(found);
  return found;
}

void KernelFollower::put_defaults(Outcome& outcome) {
  Buffer request;
  MessageWriter writer(request);
  writer.begin(XFRM_MSG_GETDEFAULT, NLM_F_REQUEST | NLM_F_ACK, {});
  writer.put(xfrm_userpolicy_default{});
  writer.end();
  // Kernels before 5.15 have no defaults, and let pass what no policy is for.
  const int error = link_.ask(request, [&](std::span<const std::uint8_t> message) { take(message, outcome); });
  if (error == 0 || error == EINVAL) return;
  throw std::system_error(error, std::generic_category(), "xfrm: the kernel does not tell its default policies");
}

void KernelFollower::put_sas(Outcome& outcome) {
  const std::vector<Buffer> dumped = dump(XFRM_MSG_GETSA);
  std::set<std::pair<SaId, Mark>> ids;
  for (const Buffer& message : dumped) {
    if (const auto raw = fixed_of<xfrm_usersa_info>(message)) ids.emplace(to_id(*raw), mark_of(message));
  }
  manager_.retain_sas([&](const SaSettings& sa) { return ids.contains({sa.id, sa.mark}); }, outcome);
  takeover_.take_dumped(dumped, outcome);
}

void KernelFollower::put_policies(Outcome& outcome) {
  const std::vector<Buffer> dumped = dump(XFRM_MSG_GETPOLICY);
  std::set<std::uint64_t> listed;
  std::uint64_t newest = 0;
  for (const Buffer& message : dumped) {
    const auto raw = fixed_of<xfrm_userpolicy_info>(message);
    const auto key = key_in(message);
    if (!raw || !key) {
      put_policy(message, outcome);
      continue;
    }
    const Wanted wanted = want(*raw, message);
    const Policy* known = manager_.find_policy(*key);
    // The older one of two policies with the same priority is first.
    const bool is_kept =
        known != nullptr && !wanted.is_left_out && known->number > newest && is_same(*known, wanted.request);
    // A policy that replaces another one has its index.
    if (known != nullptr && known->index != raw->index) manager_.drop(*key, outcome);
    if (!is_kept) put_policy(message, outcome);
    known = manager_.find_policy(*key);
    if (known == nullptr) continue;
    newest = known->number;
    listed.insert(newest);
  }
  // Packets stay protected until all other policies are there. A policy that the kernel replaces during the dump may
  // not be listed, and its notification follows.
  manager_.retain_policies(
      [&](const Policy& policy) { return listed.contains(policy.number) || has_in_kernel(policy); }, outcome);
}

bool KernelFollower::has_in_kernel(const Policy& policy) {
  Buffer request;
  MessageWriter(request).get_policy(policy);
  bool is_found = false;
  const int error = link_.ask(request, [&](std::span<const std::uint8_t> message) {
    if (type_of(message) == XFRM_MSG_NEWPOLICY) is_found = key_in(message) == key_of(policy);
  });
  // An unknown answer takes no protection away.
  if (error != 0 && error != ENOENT) needs_synchronization_ = is_found = true;
  return is_found;
}

void KernelFollower::forward(const std::vector<Notification>& notifications) {
  for (const Notification& one : notifications) {
    const std::uint16_t type = type_of(one.message);
    if (type != XFRM_MSG_EXPIRE && type != XFRM_MSG_ACQUIRE) continue;
    const int error = link_.ask(as_request(one.message, type), [](std::span<const std::uint8_t>) {});
    // The daemon may have deleted the SA in the meantime.
    if (error == 0 || error == ENOENT || error == ESRCH) continue;
    takeover_.warn(fmt::format("the kernel does not pass on {} to the daemon: {}",
                               type == XFRM_MSG_EXPIRE ? "an expiry" : "a request for an SA", std::strerror(error)));
  }
}

}  // namespace penumbra::control::xfrm
