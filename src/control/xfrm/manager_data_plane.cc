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
constexpr std::size_t kMostLarval = 4096;  // Waiting SAs of ACQUIRE, so that scans of addresses stay harmless.

/// Returns the last sequence number that an SA may send.
std::uint64_t last_number(const Sa& sa) {
  return (sa.settings.flags & XFRM_STATE_ESN) != 0 ? kUnlimited - 1 : kLastShortNumber;
}

bool has_hard_limit(const Limits& limits) {
  return limits.hard_add_seconds != 0 || limits.hard_use_seconds != 0 || limits.hard_bytes != kUnlimited ||
         limits.hard_packets != kUnlimited;
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
}

void Manager::lend(Request& request) {
  auto raw = request.fixed<penumbra_xfrm_lend>();
  Sa* const sa = sad_.find(to_id(raw.id), raw.mark);
  require(sa != nullptr && !sa->larval, ESRCH, "there is no such SA");
  constexpr std::uint32_t kMostLent = 1 << 24;
  require(raw.count != 0 && raw.count <= kMostLent, EINVAL, "a block has 1 to 2^24 numbers");
  require(marks_.why_lost().empty(), EKEYREJECTED, "the high-water marks are lost");
  const auto key = marks_.fingerprint(*sa);
  const std::uint64_t used = std::max(sa->replay.out, marks_.find(key)), last = last_number(*sa);
  if (used >= last) {
    expire(*sa, true, request.outcome);
    throw Refused(EOVERFLOW, "the SA has no sequence number left");
  }
  const std::uint64_t count = std::min<std::uint64_t>(raw.count, last - used);
  marks_.raise(key, used + count, !has_hard_limit(sa->settings.limits), clock_());
  sa->replay.out = used + count;
  raw.first = used + 1;
  raw.count = static_cast<std::uint32_t>(count);
  request.outcome.lent.push_back({request.outcome.replies.size(), request.head});
  MessageWriter writer(request.reply());
  writer.begin(PENUMBRA_XFRM_LEND, 0, request.to());
  writer.put(raw);
  writer.end();
  // A new SA must be negotiated before the numbers end.
  if (!sa->dying && sa->replay.out > last - last / 16) expire(*sa, false, request.outcome);
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
  const auto waiting = static_cast<std::size_t>(
      std::ranges::count_if(sad_.all(), [](const auto& entry) { return entry.second.larval; }));
  require(waiting < kMostLarval, ENOBUFS, "too many SAs wait for their keys");
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
  const std::uint64_t now = clock_();
  const std::uint64_t pause = std::max<std::uint64_t>(sa->settings.mapping_threshold, 1);
  if (sa->mapping_time != 0 && now - sa->mapping_time < pause) return;
  sa->mapping_time = now;
  MessageWriter(request.notify(XFRMNLGRP_MAPPING)).mapping(*sa, to_address(raw.new_saddr), ntohs(raw.new_sport));
}

void Manager::report(Request& request) {
  const auto raw = request.fixed<xfrm_user_report>();
  MessageWriter(request.notify(XFRMNLGRP_REPORT)).report(raw.proto, to_selector(raw.sel));
}

void Manager::status(Request& request) {
  std::size_t larval = 0, dying = 0;
  for (const auto& [number, sa] : sad_.all()) {
    larval += sa.larval ? 1 : 0;
    dying += sa.dying ? 1 : 0;
  }
  nlohmann::ordered_json state{{"sas", sad_.all().size() - larval},
                               {"larval_sas", larval},
                               {"dying_sas", dying},
                               {"policies",
                                {{"in", spd_.count(Direction::in)},
                                 {"out", spd_.count(Direction::out)},
                                 {"fwd", spd_.count(Direction::forward)}}},
                               {"keys", keys_.used()},
                               {"high_water_marks", marks_.size()},
                               {"marks_lost", marks_.why_lost()}};
  const std::string text = state.dump();
  MessageWriter writer(request.reply());
  writer.begin(PENUMBRA_XFRM_STATUS, 0, request.to());
  for (const char letter : text) writer.put(letter);
  writer.end();
}

}  // namespace penumbra::control::xfrm
