// SPDX-License-Identifier: Apache-2.0
//
// Requests of the data plane and of the preload library (protocol.h).
#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "control/xfrm/algorithms.h"
#include "control/xfrm/fields.h"
#include "control/xfrm/manager.h"
#include "control/xfrm/manager_request.h"
#include "penumbra/bytes.h"

namespace penumbra::control::xfrm {
namespace {

constexpr std::uint64_t kLastShortNumber = 0xFFFFFFFF;
constexpr std::size_t kMostLentBytes = 32768;  // After one message.
constexpr std::size_t kMostLarval = 4096;      // Waiting SAs of ACQUIRE, so that scans of addresses stay harmless.

/// Returns the last sequence number that an SA may send.
std::uint64_t last_number(const Sa& sa) {
  return (sa.settings.flags & XFRM_STATE_ESN) != 0 ? kUnlimited - 1 : kLastShortNumber;
}

/// True if the daemon may be told of another mapping at `now`.
bool may_tell_mapping(const Sa& sa, std::uint64_t now) {
  const std::uint64_t pause = std::max<std::uint64_t>(sa.settings.mapping_threshold, 1);
  return sa.mapping_time == 0 || now - sa.mapping_time >= pause;
}

}  // namespace

void Manager::hello(Request& request) {
  const auto raw = request.fixed<penumbra_xfrm_hello>();
  constexpr std::uint32_t kDataPlane = 1U << (PENUMBRA_XFRM_GROUP_DATA_PLANE - 1);
  const bool is_data_plane = (raw.options & PENUMBRA_XFRM_DATA_PLANE) != 0;
  require(!is_data_plane || is_trusted(request.sender), EPERM, "only the data plane gets keys");
  request.sender.port = raw.port;
  request.sender.groups = (raw.groups & (kDataPlane - 1)) | (is_data_plane ? kDataPlane : 0);
  request.sender.wants_text = (raw.options & PENUMBRA_XFRM_TEXT) != 0;
  if (is_data_plane) revoke_unsealed(request.outcome);
}

penumbra_xfrm_lend Manager::reserve(Sa& sa, std::uint32_t count, Outcome& outcome) {
  const auto key = marks_.fingerprint(sa);
  const std::uint64_t used = std::max(sa.replay.out, marks_.find(key)), last = last_number(sa);
  if (used >= last) {
    expire(sa, true, outcome);
    throw Refused(EOVERFLOW, "the SA has no sequence number left");
  }
  const std::uint64_t taken = std::min<std::uint64_t>(count, last - used);
  marks_.raise(key, used + taken, !has_hard_limit(sa.settings.limits), clock_());
  sa.replay.out = used + taken;
  penumbra_xfrm_lend block{};
  block.id = raw_id(sa.settings.id);
  block.mark = sa.settings.mark.value;
  block.mask = sa.settings.mark.mask;
  block.first = used + 1;
  std::ranges::copy(fingerprint_of(sa, KeySalt{}), block.key);
  block.count = static_cast<std::uint32_t>(taken);
  return block;
}

void Manager::lend(Request& request) {
  const auto raw = request.fixed<penumbra_xfrm_lend>();
  Sa* const sa = sad_.find(to_id(raw.id), raw.mark);
  require(sa != nullptr && !sa->larval, ESRCH, "there is no such SA");
  constexpr std::uint32_t kMostLent = 1 << 24;
  require(raw.count != 0 && raw.count <= kMostLent, EINVAL, "a block has 1 to 2^24 numbers");
  require(marks_.why_lost().empty(), EKEYREJECTED, "the high-water marks are lost");
  if (!sa->why_unsealed.empty()) {
    ask_for_successor(*sa, request.outcome);
    throw Refused(EKEYREJECTED, sa->why_unsealed);
  }
  const penumbra_xfrm_lend block = reserve(*sa, raw.count, request.outcome);
  request.outcome.lent.push_back({request.outcome.replies.size(), request.head});
  MessageWriter writer(request.reply());
  writer.begin(PENUMBRA_XFRM_LEND, 0, request.to());
  writer.put(block);
  writer.end();
  // A new SA must be negotiated before the numbers end.
  const std::uint64_t last = last_number(*sa);
  if (!sa->dying && sa->replay.out > last - last / 16) expire(*sa, false, request.outcome);
}

void Manager::lend_first(Sa& sa, Outcome& outcome) {
  if (!has_data_plane_ || !marks_.why_lost().empty() || !sa.why_unsealed.empty()) return;
  if (!spd_.wants(sa.settings)) return;
  // The data plane asks for the last numbers, so that it hears of their end.
  const std::uint64_t used = std::max(sa.replay.out, marks_.find(marks_.fingerprint(sa)));
  if (used > last_number(sa) - PENUMBRA_XFRM_FIRST_BLOCK) return;
  Buffer& lent = outcome.notifications.back().lent;
  // The data plane takes datagrams of 64 KiB, and asks for the numbers of further SAs.
  if (lent.size() >= kMostLentBytes) return;
  MessageWriter writer(lent);
  writer.begin(PENUMBRA_XFRM_FIRST_NUMBERS, 0, {});
  writer.put(reserve(sa, PENUMBRA_XFRM_FIRST_BLOCK, outcome));
  writer.end();
}

void Manager::take_usage(Request& request) {
  const auto raw = request.fixed<penumbra_xfrm_usage>();
  Sa* const sa = sad_.find(to_id(raw.id), raw.mark);
  require(sa != nullptr && !sa->larval, ESRCH, "there is no such SA");
  const std::span<const std::uint8_t> words = request.payload.subspan(sizeof raw);
  require(raw.words <= kMostReplayWindow / 32 && words.size() >= raw.words * sizeof(std::uint32_t), EINVAL,
          "the bitmap is shorter than announced");
  const std::size_t expected = sa->settings.has_extended_replay ? sa->replay.bitmap.size() : 1;
  require(raw.words == 0 || raw.words == expected, EINVAL, "the SA has a window of another size");
  sa->usage.bytes += raw.bytes;
  sa->usage.packets += raw.packets;
  if (sa->usage.use_time == 0) sa->usage.use_time = raw.use_time;
  sa->counters.late += raw.late;
  sa->counters.replayed += raw.replayed;
  sa->counters.bad_icv += raw.bad_icv;
  if (raw.words != 0 && raw.received >= sa->replay.in) {
    sa->replay.in = raw.received;
    sa->replay.bitmap.resize(raw.words);
    for (std::size_t i = 0; i < raw.words; ++i) {
      sa->replay.bitmap[i] = load<std::uint32_t>(words.data() + i * sizeof(std::uint32_t));
    }
  }
  check_limits(*sa, request.outcome);
}

void Manager::acquire(Request& request) {
  const auto raw = request.fixed<penumbra_xfrm_acquire>();
  require(raw.direction < XFRM_POLICY_MAX, EINVAL, "a direction is in, out or fwd");
  PolicyKey key;
  key.direction = static_cast<Direction>(raw.direction);
  key.type = raw.type;
  key.interface_id = raw.interface_id;
  const Policy* const policy = spd_.find(raw.policy_index, key);
  require(policy != nullptr && !policy->templates.empty(), ENOENT, "there is no such policy with a template");
  const Selector flow = to_selector(raw.flow);
  if (sad_.waiting() >= kMostLarval) {
    ++acquires_refused_;
    throw Refused(ENOBUFS, "too many SAs wait for their keys");
  }
  const Template& wanted = policy->templates.front();
  Sa larval;
  SaSettings& settings = larval.settings;
  settings.id = wanted.id;
  settings.id.spi = 0;
  settings.id.family = wanted.family;
  settings.source = wanted.source;
  if (wanted.mode == Mode::transport || wanted.id.destination.is_any()) settings.id.destination = flow.destination;
  if (wanted.mode == Mode::transport || wanted.source.is_any()) settings.source = flow.source;
  settings.selector = flow;
  settings.request = wanted.request;
  settings.mode = wanted.mode;
  settings.mark = policy->mark;
  settings.interface_id = policy->interface_id;
  settings.sequence = acquires_ + 1;
  settings.limits.hard_add_seconds = larval_seconds_;
  larval.usage.add_time = clock_();
  const Sa* const inserted = sad_.acquire(std::move(larval));
  if (inserted == nullptr) return;
  ++acquires_;
  MessageWriter(request.notify(XFRMNLGRP_ACQUIRE)).acquire(*inserted, *policy, flow);
}

void Manager::remap(Request& request) {
  const auto raw = request.fixed<xfrm_user_mapping>();
  Sa* const sa = sad_.find(to_id(raw.id), 0);
  require(sa != nullptr && !sa->larval, ESRCH, "there is no such SA");
  require(sa->settings.encapsulation.has_value(), EINVAL, "the SA has no encapsulation");
  const Address source = to_address(raw.new_saddr);
  const std::uint16_t port = ntohs(raw.new_sport);
  if (may_tell_mapping(*sa, clock_())) {
    tell_mapping(*sa, source, port, request.outcome);
  } else {
    sa->moved_to.emplace(source, port);
  }
}

void Manager::tell_mapping(Sa& sa, const Address& source, std::uint16_t port, Outcome& outcome) const {
  sa.mapping_time = clock_();
  sa.moved_to.reset();
  outcome.notifications.push_back({XFRMNLGRP_MAPPING, {}});
  MessageWriter(outcome.notifications.back().message).mapping(sa, source, port);
}

void Manager::tell_mappings(Outcome& outcome) {
  for (auto& [number, sa] : sad_.all()) {
    if (!sa.moved_to || !may_tell_mapping(sa, clock_())) continue;
    const auto [source, port] = *sa.moved_to;
    tell_mapping(sa, source, port, outcome);
  }
}

void Manager::report(Request& request) {
  const auto raw = request.fixed<xfrm_user_report>();
  MessageWriter(request.notify(XFRMNLGRP_REPORT)).report(raw.proto, to_selector(raw.sel));
}

void Manager::status(Request& request) {
  std::size_t larval = 0, dying = 0, unsealed = 0;
  for (const auto& [number, sa] : sad_.all()) {
    larval += sa.larval ? 1 : 0;
    dying += sa.dying ? 1 : 0;
    unsealed += sa.why_unsealed.empty() ? 0 : 1;
  }
  nlohmann::ordered_json state{{"sas", sad_.all().size() - larval},
                               {"larval_sas", larval},
                               {"dying_sas", dying},
                               {"policies",
                                {{"in", spd_.count(Direction::in)},
                                 {"out", spd_.count(Direction::out)},
                                 {"fwd", spd_.count(Direction::forward)}}},
                               {"acquires_refused", acquires_refused_},
                               {"notifications_lost", notifications_lost_},
                               {"keys", keys_.used()},
                               {"high_water_marks", marks_.size()},
                               {"marks_lost", marks_.why_lost()},
                               {"source", follows_kernel_ ? "kernel" : "daemons"}};
  if (follows_kernel_) {
    state["unsealed_sas"] = unsealed;
    state["locks"] = kernel_.locks;
    state["lock_failures"] = kernel_.lock_failures;
    state["refused_sas"] = kernel_.refused_sas;
    state["refused_policies"] = kernel_.refused_policies;
    state["resyncs"] = kernel_.resyncs;
    state["overruns"] = kernel_.overruns;
  }
  const std::string text = state.dump();
  MessageWriter writer(request.reply());
  writer.begin(PENUMBRA_XFRM_STATUS, 0, request.to());
  for (const char letter : text) writer.put(letter);
  writer.end();
}

}  // namespace penumbra::control::xfrm
