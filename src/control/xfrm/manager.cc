// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/manager.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ranges>
#include <system_error>
#include <utility>

#include "control/xfrm/fields.h"
#include "control/xfrm/manager_request.h"

namespace penumbra::control::xfrm {
namespace {

/// Returns the bytes of the fixed part of a request of XFRM or of protocol.h.
std::optional<std::size_t> bytes_of_fixed(std::uint16_t type) {
  switch (type) {
    case PENUMBRA_XFRM_HELLO:
      return sizeof(penumbra_xfrm_hello);
    case PENUMBRA_XFRM_LEND:
      return sizeof(penumbra_xfrm_lend);
    case PENUMBRA_XFRM_USAGE:
      return sizeof(penumbra_xfrm_usage);
    case PENUMBRA_XFRM_ACQUIRE:
      return sizeof(penumbra_xfrm_acquire);
    case PENUMBRA_XFRM_MAPPING:
      return sizeof(xfrm_user_mapping);
    case PENUMBRA_XFRM_REPORT:
      return sizeof(xfrm_user_report);
    case PENUMBRA_XFRM_STATUS:
      return 0;
    default:
      return fixed_bytes(type);
  }
}

/// True if a request changes what the kernel has.
bool changes_state(std::uint16_t type) {
  switch (type) {
    case XFRM_MSG_GETSA:
    case XFRM_MSG_GETPOLICY:
    case XFRM_MSG_GETAE:
    case XFRM_MSG_GETSADINFO:
    case XFRM_MSG_GETSPDINFO:
    case XFRM_MSG_GETDEFAULT:
      return false;
    default:
      return type < PENUMBRA_XFRM_HELLO;
  }
}

constexpr std::size_t kDoneBytes = NLMSG_SPACE(sizeof(int));  // The message that ends a dump.

bool is_private(std::uint16_t type) {
  return type >= PENUMBRA_XFRM_HELLO;
}

/// Returns the bytes where attributes begin.
std::span<const std::uint8_t> after(std::span<const std::uint8_t> payload, std::size_t fixed) {
  return payload.subspan(std::min<std::size_t>(NLMSG_ALIGN(fixed), payload.size()));
}

bool is_dump(const nlmsghdr& head) {
  return (head.nlmsg_type == XFRM_MSG_GETSA || head.nlmsg_type == XFRM_MSG_GETPOLICY) &&
         (head.nlmsg_flags & NLM_F_DUMP) != 0;
}

bool passes(const xfrm_address_filter& filter, const SaSettings& settings) {
  const std::uint16_t family = settings.id.family;
  if (filter.family != family && filter.family != AF_UNSPEC) return false;
  if (filter.splen > address_bits(family) || filter.dplen > address_bits(family)) return false;
  return has_prefix(settings.source, to_address(filter.saddr), filter.splen) &&
         has_prefix(settings.id.destination, to_address(filter.daddr), filter.dplen);
}

}  // namespace

Manager::Manager(HighWaterMarks& marks, Clock clock, uid_t owner)
    : marks_(marks), clock_(std::move(clock)), owner_(owner) {}

Manager::Handler Manager::handler_of(std::uint16_t type) {
  switch (type) {
    case XFRM_MSG_NEWSA:
    case XFRM_MSG_UPDSA:
      return &Manager::add_sa;
    case XFRM_MSG_DELSA:
      return &Manager::remove_sa;
    case XFRM_MSG_GETSA:
      return &Manager::get_sa;
    case XFRM_MSG_NEWPOLICY:
    case XFRM_MSG_UPDPOLICY:
      return &Manager::add_policy;
    case XFRM_MSG_DELPOLICY:
    case XFRM_MSG_GETPOLICY:
      return &Manager::get_policy;
    case XFRM_MSG_ALLOCSPI:
      return &Manager::allocate_spi;
    case XFRM_MSG_EXPIRE:
      return &Manager::expire_sa;
    case XFRM_MSG_POLEXPIRE:
      return &Manager::expire_policy;
    case XFRM_MSG_FLUSHSA:
      return &Manager::flush_sas;
    case XFRM_MSG_FLUSHPOLICY:
      return &Manager::flush_policies;
    case XFRM_MSG_NEWAE:
      return &Manager::set_event;
    case XFRM_MSG_GETAE:
      return &Manager::get_event;
    case XFRM_MSG_MIGRATE:
      return &Manager::migrate;
    case XFRM_MSG_GETSADINFO:
      return &Manager::get_sad_info;
    case XFRM_MSG_NEWSPDINFO:
      return &Manager::set_spd_info;
    case XFRM_MSG_GETSPDINFO:
      return &Manager::get_spd_info;
    case XFRM_MSG_SETDEFAULT:
      return &Manager::set_default;
    case XFRM_MSG_GETDEFAULT:
      return &Manager::get_default;
    case PENUMBRA_XFRM_HELLO:
      return &Manager::hello;
    case PENUMBRA_XFRM_LEND:
      return &Manager::lend;
    case PENUMBRA_XFRM_USAGE:
      return &Manager::take_usage;
    case PENUMBRA_XFRM_ACQUIRE:
      return &Manager::acquire;
    case PENUMBRA_XFRM_MAPPING:
      return &Manager::remap;
    case PENUMBRA_XFRM_REPORT:
      return &Manager::report;
    case PENUMBRA_XFRM_STATUS:
      return &Manager::status;
    default:
      return nullptr;
  }
}

void Manager::handle(Sender& sender, std::span<const std::uint8_t> datagram, Outcome& outcome) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto head = fixed_part<nlmsghdr>(datagram);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > datagram.size()) break;
    handle_one(sender, datagram.first(head.nlmsg_len), outcome);
    datagram = datagram.subspan(std::min<std::size_t>(NLMSG_ALIGN(head.nlmsg_len), datagram.size()));
  }
  save_marks(sender, outcome);
}

void Manager::save_marks(const Sender& sender, Outcome& outcome) {
  try {
    marks_.save(clock_());
  } catch (const std::system_error& failure) {
    for (Notification& one : outcome.notifications) one.lent.clear();
    for (const Lent& lent : std::views::reverse(outcome.lent)) {
      // An acknowledgement follows the reply, if it was asked for.
      if ((lent.request.nlmsg_flags & NLM_F_ACK) != 0) {
        outcome.replies.erase(outcome.replies.begin() + static_cast<std::ptrdiff_t>(lent.reply) + 1);
      }
      Buffer& reply = outcome.replies[lent.reply];
      reply.clear();
      MessageWriter(reply).answer(reinterpret_cast<const std::uint8_t*>(&lent.request), failure.code().value(),
                                  sender.wants_text ? failure.what() : "", {lent.request.nlmsg_seq, sender.port});
    }
  }
  outcome.lent.clear();
}

void Manager::handle_one(Sender& sender, std::span<const std::uint8_t> message, Outcome& outcome) {
  const auto head = fixed_part<nlmsghdr>(message);
  int error = 0;
  std::string reason;
  // Linux acknowledges control messages and messages that are no requests, but does not read them.
  if ((head.nlmsg_flags & NLM_F_REQUEST) != 0 && head.nlmsg_type >= NLMSG_MIN_TYPE) {
    try {
      const Handler handler = handler_of(head.nlmsg_type);
      require(handler != nullptr, EINVAL, "unknown type of message");
      require(!is_private(head.nlmsg_type) || head.nlmsg_type == PENUMBRA_XFRM_HELLO ||
                  head.nlmsg_type == PENUMBRA_XFRM_STATUS || is_trusted(sender),
              EPERM, "only the data plane sends this message");
      require(!follows_kernel_ || sender.is_kernel || !changes_state(head.nlmsg_type), EBUSY,
              "SAs and policies come from the kernel (--follow-kernel); send the request to the kernel");
      const std::span<const std::uint8_t> payload = message.subspan(sizeof head);
      const std::size_t fixed = bytes_of_fixed(head.nlmsg_type).value_or(0);
      if (is_dump(head)) {
        // Some programs leave out the fixed part.
        const Attributes attributes(after(payload, payload.size() < fixed ? 0 : fixed));
        Request request{sender, head, payload, attributes, outcome};
        begin_dump(request);
        return;
      }
      require(payload.size() >= fixed, EINVAL, "the message is too short");
      const bool has_attributes = !is_private(head.nlmsg_type);
      const Attributes attributes(has_attributes ? after(payload, fixed) : std::span<const std::uint8_t>{});
      Request request{sender, head, payload, attributes, outcome};
      (this->*handler)(request);
    } catch (const Refused& refused) {
      error = refused.error();
      reason = refused.what();
    } catch (const std::system_error& failure) {
      error = failure.code().value();
      reason = failure.what();
    } catch (const std::bad_alloc&) {
      error = ENOMEM;
    }
  }
  if (error == 0 && (head.nlmsg_flags & NLM_F_ACK) == 0) return;
  MessageWriter(outcome.replies.emplace_back())
      .answer(message.data(), error, sender.wants_text ? reason : "", {head.nlmsg_seq, sender.port});
}

void Manager::begin_dump(Request& request) {
  auto dump = std::make_unique<Dump>();
  dump->of_policies = request.head.nlmsg_type == XFRM_MSG_GETPOLICY;
  dump->to = request.to();
  dump->protocol = request.attributes.get<std::uint8_t>(XFRMA_PROTO).value_or(0);
  dump->filter = request.attributes.get<xfrm_address_filter>(XFRMA_ADDRESS_FILTER);
  require(request.outcome.dump == nullptr, EBUSY, "a dump is in progress");
  request.outcome.dump = std::move(dump);
}

void Manager::continue_dump(const Sender& sender, Dump& dump, std::size_t room, Buffer& buffer) {
  MessageWriter writer(buffer);
  const auto go_on = [&](const auto& entries, const auto& write) {
    for (auto at = entries.lower_bound(dump.before); at != entries.begin();) {
      --at;
      const std::size_t end = buffer.size();
      write(at->second);
      if (end != 0 && buffer.size() > room) {
        buffer.resize(end);
        return;
      }
      dump.before = at->first;
    }
    dump.is_done = buffer.empty() || buffer.size() + kDoneBytes <= room;
  };
  if (dump.of_policies) {
    go_on(spd_.all(), [&](const Policy& policy) { writer.policy(XFRM_MSG_NEWPOLICY, policy, dump.to, NLM_F_MULTI); });
  } else {
    go_on(sad_.all(), [&](const Sa& sa) {
      if (dump.protocol != 0 && dump.protocol != 255 && dump.protocol != sa.settings.id.protocol) return;
      if (dump.filter && !passes(*dump.filter, sa.settings)) return;
      writer.sa(XFRM_MSG_NEWSA, sa, view_for(sender, sa), dump.to, NLM_F_MULTI);
    });
  }
  if (dump.is_done) writer.done(dump.to);
}

void Manager::tick(Outcome& outcome) {
  const std::uint64_t now = clock_();
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, sa] : sad_.all()) {
    if (expiry_of(watched_limits(sa), sa.usage, sa.dying, now) != Expiry::none) numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) check_limits(*sad_.find(number), outcome);
  tell_mappings(outcome);
  constexpr std::uint64_t kKeptSeconds = 60;
  std::erase_if(windows_, [&](const auto& each) { return now - each.second.time >= kKeptSeconds; });
  std::erase_if(successors_asked_, [&](const auto& each) { return now - each.second >= kKeptSeconds; });
  if (follows_kernel_) return;  // The kernel watches its policies.
  numbers.clear();
  for (const auto& [number, policy] : spd_.all()) {
    if (expiry_of(policy.limits, policy.usage, policy.dying, now) != Expiry::none) numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) {
    Policy& policy = *spd_.find_number(number);
    expire(policy, expiry_of(policy.limits, policy.usage, policy.dying, now) == Expiry::hard, outcome);
  }
}

KeyView Manager::view_for(const Sender& sender, const Sa& sa) const {
  return is_trusted(sender) || sender.user == sa.sender ? KeyView::full : KeyView::zeroed;
}

}  // namespace penumbra::control::xfrm
