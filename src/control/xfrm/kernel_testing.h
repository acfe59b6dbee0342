// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "control/xfrm/fields.h"
#include "control/xfrm/kernel_link.h"
#include "control/xfrm/message_testing.h"
#include "control/xfrm/netlink_link.h"
#include "control/xfrm/read_message.h"

namespace penumbra::control::xfrm::testing {

/// An SA as a kernel has it: the message that tells it, and what changes.
struct KernelSa {
  std::function<Message(const xfrm_usersa_info&)> describe;  ///< Adds what does not change.
  xfrm_usersa_info raw;
  std::uint64_t sent = 0;  ///< Outbound sequence number.
  std::vector<std::uint32_t> window{0};
  bool is_extended = false;
};

/// Stands for a kernel: it has SAs and policies, answers requests, and tells what tests queue.
class FakeKernel final : public KernelLink {
 public:
  int descriptor() const override { return -1; }

  Received receive(const Visit& visit) override {
    if (events.empty()) return Received::nothing;
    const Bytes event = std::move(events.front());
    events.pop_front();
    if (event.empty()) return Received::overrun;
    visit_messages(event, visit);
    return Received::messages;
  }

  int ask(std::span<const std::uint8_t> request, const Visit& visit) override {
    const auto head = fixed_part<nlmsghdr>(request);
    const auto payload = request.subspan(sizeof head);
    asked.push_back(head.nlmsg_type);
    if (before_answer) before_answer(head.nlmsg_type);
    if (const auto error = errors.find(head.nlmsg_type); error != errors.end() && errors_left != 0) {
      --errors_left;
      return error->second;
    }
    switch (head.nlmsg_type) {
      case XFRM_MSG_GETSA:
        if ((head.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP) {
          for (const KernelSa& sa : sas) visit(told(sa).bytes());
          return 0;
        }
        if (const KernelSa* const sa = find(fixed_part<xfrm_usersa_id>(payload).spi); sa != nullptr) {
          visit(told(*sa).bytes());
          return 0;
        }
        return ESRCH;
      case XFRM_MSG_GETPOLICY:
        if ((head.nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP) return get_policy(payload, visit);
        for (const Message& policy : policies) visit(policy.bytes());
        return 0;
      case XFRM_MSG_NEWAE:
        return set_replay(payload, (head.nlmsg_flags & NLM_F_REPLACE) != 0);
      case XFRM_MSG_GETDEFAULT:
        return EINVAL;
      case XFRM_MSG_EXPIRE:
        expired.push_back(fixed_part<xfrm_user_expire>(payload));
        return 0;
      default:
        return 0;
    }
  }

  /// Adds an SA, as the newest.
  KernelSa& add(std::uint32_t spi, std::function<Message(const xfrm_usersa_info&)> describe) {
    sas.push_front({.describe = std::move(describe), .raw = esp_sa(spi)});
    return sas.front();
  }
  void remove(std::uint32_t spi) {
    sas.remove_if([&](const KernelSa& sa) { return sa.raw.id.spi == htonl(spi); });
  }
  KernelSa* find(std::uint32_t raw_spi) {
    for (KernelSa& sa : sas) {
      if (sa.raw.id.spi == raw_spi) return &sa;
    }
    return nullptr;
  }
  KernelSa& at(std::uint32_t spi) { return *find(htonl(spi)); }
  /// Queues the notification of an SA, as it is now.
  void tell(std::uint32_t spi, std::uint16_t type = XFRM_MSG_NEWSA) { events.push_back(told(at(spi), type).bytes()); }
  void tell(const Message& message) { events.push_back(message.bytes()); }
  void overrun() { events.emplace_back(); }
  /// Seals packets, as long as the numbers last.
  void seal(std::uint32_t spi, int packets) {
    KernelSa& sa = at(spi);
    const std::uint64_t end = (sa.raw.flags & XFRM_STATE_ESN) != 0 ? kUnlimited : 0xFFFFFFFF;
    for (int i = 0; i < packets && sa.sent != end; ++i) {
      ++sa.sent;
      ++sa.raw.curlft.packets;
    }
  }

  std::list<KernelSa> sas;      ///< The newest first.
  std::list<Message> policies;  ///< The newest first.
  std::deque<Bytes> events;     ///< An empty one stands for a loss.
  std::vector<std::uint16_t> asked;
  std::vector<xfrm_user_expire> expired;
  std::map<std::uint16_t, int> errors;  ///< By type of request.
  int errors_left = -1;                 ///< Requests that fail; below 0: all of them.
  std::list<Message> unlisted;          ///< Policies that were replaced during the dump.
  std::function<void(std::uint16_t)> before_answer;

 private:
  static Message told(const KernelSa& sa, std::uint16_t type = XFRM_MSG_NEWSA) {
    Message message = sa.describe(sa.raw);
    message.set_type(type);
    if (!sa.is_extended) {
      message.attribute(
          XFRMA_REPLAY_VAL,
          xfrm_replay_state{.oseq = static_cast<std::uint32_t>(sa.sent), .seq = 9, .bitmap = sa.window[0]});
      return message;
    }
    xfrm_replay_state_esn state{};
    state.bmp_len = static_cast<std::uint32_t>(sa.window.size());
    state.oseq = static_cast<std::uint32_t>(sa.sent);
    state.oseq_hi = static_cast<std::uint32_t>(sa.sent >> 32U);
    state.seq = 9;
    state.replay_window = state.bmp_len * 32;
    Bytes content(sizeof state + sa.window.size() * sizeof(std::uint32_t));
    std::memcpy(content.data(), &state, sizeof state);
    std::memcpy(content.data() + sizeof state, sa.window.data(), content.size() - sizeof state);
    return message.attribute_bytes(XFRMA_REPLAY_ESN_VAL, content);
  }

  int get_policy(std::span<const std::uint8_t> payload, const Visit& visit) {
    const std::uint32_t index = fixed_part<xfrm_userpolicy_id>(payload).index;
    for (const std::list<Message>* const list : {&policies, &unlisted}) {
      for (const Message& policy : *list) {
        const Bytes bytes = policy.bytes();
        if (fixed_part<xfrm_userpolicy_info>(std::span(bytes).subspan(sizeof(nlmsghdr))).index != index) continue;
        visit(bytes);
        return 0;
      }
    }
    return ENOENT;
  }

  int set_replay(std::span<const std::uint8_t> payload, bool replaces) {
    KernelSa* const sa = find(fixed_part<xfrm_aevent_id>(payload).sa_id.spi);
    const Attributes attributes(payload.subspan(sizeof(xfrm_aevent_id)));
    if (!replaces || attributes.has(XFRMA_LTIME_VAL)) return EINVAL;
    if (sa == nullptr) return ESRCH;
    if (!sa->is_extended) {
      const auto state = attributes.get<xfrm_replay_state>(XFRMA_REPLAY_VAL);
      if (!state || state->seq != 9 || state->bitmap != sa->window[0]) return EINVAL;
      sa->sent = state->oseq;
      return 0;
    }
    xfrm_replay_state_esn state{};
    if (!attributes.read(XFRMA_REPLAY_ESN_VAL, state)) return EINVAL;
    if (state.seq != 9 || state.bmp_len != sa->window.size()) return EINVAL;
    sa->sent = std::uint64_t{state.oseq_hi} << 32U | state.oseq;
    return 0;
  }
};

}  // namespace penumbra::control::xfrm::testing
