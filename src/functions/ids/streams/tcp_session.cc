// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/streams/tcp_session.h"

#include <algorithm>

#include "penumbra/bytes.h"

namespace penumbra::ids {
namespace {

constexpr std::uint64_t kSecond = 1000000;
/// RFC 7323 limits the scaled window to 2^30 bytes.
constexpr std::uint64_t kMostWindow = std::uint64_t{1} << 30;

}  // namespace

TcpSegment read_tcp_segment(std::span<const std::uint8_t> header, std::span<const std::uint8_t> payload) {
  TcpSegment segment{.sequence = load_be32(header.data() + 4),
                     .acknowledgement = load_be32(header.data() + 8),
                     .window = load_be16(header.data() + 14),
                     .flags = header[13],
                     .payload = payload};
  if (!segment.has(TcpSegment::kSyn)) return segment;
  constexpr std::uint8_t kEnd = 0, kNothing = 1, kWindowScale = 3;
  constexpr std::uint8_t kMostScale = 14;  // RFC 7323, section 2.3
  std::span<const std::uint8_t> options = header.subspan(20);
  while (!options.empty() && options[0] != kEnd) {
    const std::size_t size = options[0] == kNothing ? 1 : options.size() < 2 ? 0 : options[1];
    if (size == 0 || size > options.size() || (size == 1 && options[0] != kNothing)) break;
    if (options[0] == kWindowScale && size == 3) {
      segment.window_scale = static_cast<std::int8_t>(std::min(options[2], kMostScale));
    }
    options = options.subspan(size);
  }
  return segment;
}

std::int64_t TcpSession::place_of(const Half& half, std::uint32_t sequence) {
  // The place nearest to the farthest byte: sequence numbers wrap after 4 GiB.
  const auto expected = static_cast<std::uint32_t>(half.first_sequence + half.sent);
  return static_cast<std::int64_t>(half.sent) + static_cast<std::int32_t>(sequence - expected);
}

void TcpSession::report(const Call& call, bool to_server, StreamEvent event) {
  ++call.context.counters.events[static_cast<std::size_t>(event)];
  call.consumer.on_event(to_server, event);
}

void TcpSession::begin_half(Half& half, std::uint32_t first_sequence) {
  half.first_sequence = first_sequence;
  half.known = true;
}

bool TcpSession::is_replaced_by(const TcpSegment& segment, bool to_server) const {
  if (!segment.has(TcpSegment::kSyn) || segment.has(TcpSegment::kReset)) return false;
  if (state_ == State::closed) return true;
  const Half& sender = half(to_server);
  return state_ >= State::established && !segment.has(TcpSegment::kAck) && sender.fin != Half::kNone &&
         segment.sequence + 1 != sender.first_sequence;
}

std::uint64_t TcpSession::timeout() const {
  switch (state_) {
    case State::none:
    case State::syn_sent:
    case State::syn_received:
      return 60 * kSecond;
    case State::established:
      return 600 * kSecond;
    case State::closing:
      return 60 * kSecond;
    case State::closed:
      return 10 * kSecond;
  }
  return 0;
}

void TcpSession::follow_syn(const TcpSegment& segment, bool to_server, const Call& call) {
  Half& sender = half(to_server);
  Half& receiver = half(!to_server);
  const std::uint32_t first = segment.sequence + 1;
  if (segment.has(TcpSegment::kAck)) {
    if (receiver.known) {
      const std::int64_t place = place_of(receiver, segment.acknowledgement);
      if (place < 0 || place > static_cast<std::int64_t>(receiver.sent)) {
        return report(call, to_server, StreamEvent::synack_wrong_ack);
      }
    } else {
      begin_half(receiver, segment.acknowledgement);
      is_midstream_ = true;
      report(call, to_server, StreamEvent::midstream);
    }
  }
  if (sender.known && sender.first_sequence != first) {
    if (state_ > State::syn_received || sender.sent > 0) {
      return report(call, to_server, StreamEvent::syn_resend_different);
    }
    report(call, to_server, StreamEvent::syn_resend_different);
  }
  begin_half(sender, first);
  sender.scale = segment.window_scale;
  receiver.window = segment.window;
  if (state_ == State::none) {
    state_ = segment.has(TcpSegment::kAck) ? State::syn_received : State::syn_sent;
  } else if (state_ == State::syn_sent && receiver.known) {
    if (!segment.has(TcpSegment::kAck)) report(call, to_server, StreamEvent::four_way_handshake);
    state_ = State::syn_received;
  }
}

/// RFC 5961: a RST counts if it has the next sequence number. Other numbers within the window are taken as well,
/// because older hosts take them.
void TcpSession::follow_reset(const TcpSegment& segment, bool to_server, const Call& call) {
  Half& sender = half(to_server);
  if (state_ == State::none || state_ == State::closed) return;
  bool valid = true;
  if (sender.known) {
    const std::int64_t place = place_of(sender, segment.sequence);
    const std::int64_t end = static_cast<std::int64_t>(std::max(sender.sent, sender.acked) + sender.window);
    valid = place >= static_cast<std::int64_t>(sender.acked) && place <= end;
  } else if (segment.has(TcpSegment::kAck)) {
    // A refused connection: the RST acknowledges the SYN (RFC 9293, section 3.10.7.3).
    const Half& receiver = half(!to_server);
    valid = receiver.known &&
            segment.acknowledgement == static_cast<std::uint32_t>(receiver.first_sequence + receiver.sent);
  } else {
    valid = false;
  }
  if (!valid) return report(call, to_server, StreamEvent::rst_invalid);
  for (const bool direction : {false, true}) {
    hand_on(direction, call, true);
    end_half(direction, call);
  }
  state_ = State::closed;
}

/// Takes up a connection whose beginning was not seen.
void TcpSession::take_up(const TcpSegment& segment, bool to_server, const Call& call) {
  Half& sender = half(to_server);
  Half& receiver = half(!to_server);
  begin_half(sender, segment.sequence);
  if (segment.has(TcpSegment::kAck)) begin_half(receiver, segment.acknowledgement);
  // The scale is not known, so no segment can be said to lie outside the window.
  sender.window = receiver.window = kMostWindow;
  state_ = State::established;
  is_midstream_ = was_established_ = true;
  report(call, to_server, StreamEvent::midstream);
}

bool TcpSession::follows(const TcpSegment& segment, bool to_server, const StreamOptions& options) const {
  const bool knows_sender = half(to_server).known, knows_receiver = half(!to_server).known;
  if (segment.has(TcpSegment::kReset)) return state_ != State::none;
  if (segment.has(TcpSegment::kSyn)) {
    return !segment.has(TcpSegment::kAck) || knows_receiver || options.midstream || options.one_sided;
  }
  if (state_ == State::none) return options.midstream;
  return (knows_sender || options.midstream || options.one_sided) && (knows_receiver || options.one_sided);
}

/// Follows a segment without SYN.
void TcpSession::follow_handshake(const TcpSegment& segment, bool to_server, const Call& call) {
  if (state_ == State::none) return take_up(segment, to_server, call);
  Half& sender = half(to_server);
  Half& receiver = half(!to_server);
  if (!sender.known) {
    // The SYN of this side was lost, or it is on another path.
    begin_half(sender, segment.sequence);
    sender.window = receiver.window = kMostWindow;
  }
  if (!receiver.known) {
    begin_half(receiver, segment.acknowledgement);
    sender.window = receiver.window = kMostWindow;
  }
  if (state_ == State::syn_sent && receiver.known && sender.known) state_ = State::syn_received;
  if (state_ == State::syn_received && segment.has(TcpSegment::kAck)) {
    const std::int64_t place = place_of(receiver, segment.acknowledgement);
    if (place >= 0 && place <= static_cast<std::int64_t>(receiver.sent)) {
      state_ = State::established;
      was_established_ = true;
    }
  }
}

void TcpSession::follow_ack(const TcpSegment& segment, bool to_server, const Call& call) {
  if (!segment.has(TcpSegment::kAck)) return;
  Half& acked = half(!to_server);
  if (!acked.known) return;
  std::int64_t place = place_of(acked, segment.acknowledgement);
  const std::uint64_t fin_bytes = acked.fin != Half::kNone && place > static_cast<std::int64_t>(acked.fin) ? 1 : 0;
  place -= static_cast<std::int64_t>(fin_bytes);
  if (place < 0 || place > static_cast<std::int64_t>(acked.sent + kMostWindow)) {
    return report(call, to_server, StreamEvent::invalid_ack);
  }
  const Half& sender = half(to_server);
  const bool is_scaled = sender.scale >= 0 && acked.scale >= 0 && !segment.has(TcpSegment::kSyn);
  const std::uint64_t window = std::uint64_t{segment.window} << (is_scaled ? sender.scale : 0);
  if (static_cast<std::uint64_t>(place) >= acked.acked) {
    acked.acked = static_cast<std::uint64_t>(place);
    if (acked.window != kMostWindow) acked.window = window;
  }
  acked.sent = std::max(acked.sent, acked.acked);
}

/// Returns how many bytes are kept of what was handed on. The receiver may still take another version of the bytes that
/// it has not acknowledged, so they are kept to compare.
std::size_t TcpSession::context_of(const Half& half, const StreamOptions& options) {
  const std::uint64_t next = half.buffer.next();
  if (!options.immediate || next <= half.acked) return options.context;
  return std::max(options.context,
                  static_cast<std::size_t>(std::min<std::uint64_t>(next - half.acked, options.flow_limit)));
}

bool TcpSession::is_repetition(const TcpSegment& segment, bool to_server) const {
  const Half& sender = half(to_server);
  return sender.known && !segment.payload.empty() &&
         place_of(sender, segment.sequence) < static_cast<std::int64_t>(sender.sent);
}

bool TcpSession::impose(const TcpSegment& segment, std::span<std::uint8_t> payload, bool to_server,
                        StreamContext& context, StreamConsumer& consumer) {
  const Half& sender = half(to_server);
  if (!sender.known || payload.empty()) return false;
  const std::size_t syn = segment.has(TcpSegment::kSyn) ? 1 : 0;
  const std::int64_t place = place_of(sender, static_cast<std::uint32_t>(segment.sequence + syn));
  const std::size_t before = place < 0 ? static_cast<std::size_t>(-place) : 0;
  if (before >= payload.size()) return false;
  if (!sender.buffer.impose(static_cast<std::uint64_t>(std::max<std::int64_t>(place, 0)), payload.subspan(before))) {
    return false;
  }
  report({context, consumer}, to_server, StreamEvent::overlap_conflict);
  return true;
}

void TcpSession::insert(std::int64_t place, std::span<const std::uint8_t> payload, bool to_server, const Call& call) {
  if (call.context.memory.is_exceeded()) return report(call, to_server, StreamEvent::memory_limit);
  Half& sender = half(to_server);
  const StreamOptions& options = call.context.options;
  const StreamPolicy policy = options.immediate ? StreamPolicy::first : policies_[to_server ? 1 : 0];
  const StreamBuffer::Inserted inserted =
      sender.buffer.insert(call.context.memory, static_cast<std::uint64_t>(place), payload, policy, options.flow_limit,
                           context_of(sender, options));
  if (inserted.conflict) report(call, to_server, StreamEvent::overlap_conflict);
  if (inserted.over_limit) report(call, to_server, StreamEvent::flow_limit);
  if (inserted.no_memory) report(call, to_server, StreamEvent::memory_limit);
  if (inserted.too_many) report(call, to_server, StreamEvent::too_many_segments);
}

void TcpSession::store(const TcpSegment& segment, bool to_server, const Call& call) {
  Half& sender = half(to_server);
  const std::size_t syn = segment.has(TcpSegment::kSyn) ? 1 : 0;
  std::int64_t place = place_of(sender, static_cast<std::uint32_t>(segment.sequence + syn));
  std::span<const std::uint8_t> payload = segment.payload;
  const std::int64_t end = place + static_cast<std::int64_t>(payload.size());
  // A keep-alive repeats the last byte, or a byte before the first.
  if (payload.size() <= 1 && end == static_cast<std::int64_t>(sender.acked)) payload = {};
  if (!payload.empty()) {
    ++call.context.counters.segments;
    if (end <= 0) return report(call, to_server, StreamEvent::segment_before_base);
    if (place < 0) {
      payload = payload.subspan(static_cast<std::size_t>(-place));
      place = 0;
    }
    const std::uint64_t right = sender.acked + std::max<std::uint64_t>(sender.window, 1);
    const bool can_tell = half(!to_server).seen && !syn;
    if (can_tell && static_cast<std::uint64_t>(place) > right) {
      return report(call, to_server, StreamEvent::out_of_window);
    }
    if (static_cast<std::uint64_t>(end) > sender.fin) {
      report(call, to_server, StreamEvent::data_after_fin);
      if (static_cast<std::uint64_t>(place) >= sender.fin) return;
      payload = payload.first(static_cast<std::size_t>(sender.fin - static_cast<std::uint64_t>(place)));
    }
    sender.sent = std::max(sender.sent, static_cast<std::uint64_t>(place) + payload.size());
    if (!sender.depth_reached && !sender.ended) insert(place, payload, to_server, call);
  }
  if (segment.has(TcpSegment::kFin) && end >= 0 && sender.fin == Half::kNone) {
    sender.fin = static_cast<std::uint64_t>(end);
    sender.sent = std::max(sender.sent, sender.fin);
    if (state_ == State::established) state_ = State::closing;
  }
}

void TcpSession::hand_on_text(bool to_server, const Call& call, std::uint64_t until) {
  Half& sender = half(to_server);
  const StreamOptions& options = call.context.options;
  const std::uint64_t depth = options.depth[to_server ? 1 : 0];
  if (depth != 0) until = std::min(until, depth);
  const StreamText text = sender.buffer.ready(until, options.context);
  const std::size_t fresh = text.bytes.size() - text.fresh;
  if (fresh > 0) {
    call.context.counters.bytes += fresh;
    call.consumer.on_text(to_server, text);
    sender.buffer.consume(sender.buffer.next() + fresh);
  }
  if (depth != 0 && sender.buffer.next() >= depth && !sender.depth_reached) {
    sender.depth_reached = true;
    sender.buffer.release(call.context.memory);
    report(call, to_server, StreamEvent::depth_reached);
  }
}

/// Leaves out a hole before the place `until`.
void TcpSession::skip_gap(bool to_server, const Call& call, std::uint64_t until) {
  Half& sender = half(to_server);
  const std::uint64_t end = sender.buffer.is_empty() ? until : std::min(until, sender.buffer.first_held());
  const std::uint64_t lost = end - sender.buffer.next();
  sender.buffer.skip(end);
  call.context.counters.lost += lost;
  report(call, to_server, StreamEvent::gap);
  call.consumer.on_gap(to_server, lost);
}

/// Hands on what the receiver has acknowledged, or all that was sent if `everything` is set.
void TcpSession::hand_on(bool to_server, const Call& call, bool everything) {
  Half& sender = half(to_server);
  if (!sender.known || sender.ended) return;
  const StreamOptions& options = call.context.options;
  const bool waits_for_ack = !options.immediate && !everything && (!options.one_sided || half(!to_server).seen);
  while (!sender.depth_reached) {
    hand_on_text(to_server, call, waits_for_ack ? sender.acked : Half::kNone);
    if (sender.depth_reached) break;
    const std::uint64_t next = sender.buffer.next();
    const bool is_hole = sender.buffer.is_empty() || sender.buffer.first_held() > next;
    std::uint64_t lost_before = sender.acked;
    if (everything && !sender.buffer.is_empty()) lost_before = std::max(lost_before, sender.buffer.first_held());
    if (!is_hole || lost_before <= next) break;
    skip_gap(to_server, call, lost_before);
  }
  const std::uint64_t done = sender.depth_reached ? sender.acked : sender.buffer.next();
  if (sender.fin != Half::kNone && done >= sender.fin) end_half(to_server, call);
}

void TcpSession::end_half(bool to_server, const Call& call) {
  Half& sender = half(to_server);
  sender.buffer.release(call.context.memory);
  if (sender.ended) return;
  sender.ended = true;
  call.consumer.on_end(to_server);
}

bool TcpSession::add(const TcpSegment& segment, bool to_server, StreamContext& context, StreamConsumer& consumer) {
  if (!follows(segment, to_server, context.options)) return false;
  follow(segment, to_server, {context, consumer});
  return true;
}

void TcpSession::follow(const TcpSegment& segment, bool to_server, const Call& call) {
  half(to_server).seen = true;
  if (segment.has(TcpSegment::kReset)) {
    return follow_reset(segment, to_server, call);
  }
  if (segment.has(TcpSegment::kSyn)) {
    follow_syn(segment, to_server, call);
    if (half(to_server).first_sequence != segment.sequence + 1) return;
    if (state_ == State::none) return;
  } else {
    follow_handshake(segment, to_server, call);
  }
  follow_ack(segment, to_server, call);
  store(segment, to_server, call);
  // Data of a SYN wait for the handshake's end, so that rules see them in an established connection.
  if (segment.has(TcpSegment::kSyn) && state_ == State::syn_received && !call.context.options.immediate) return;
  // The acknowledgement is for bytes that preceded this segment, so they come first.
  hand_on(!to_server, call, false);
  hand_on(to_server, call, false);
  if (half(false).ended && half(true).ended) state_ = State::closed;
}

void TcpSession::finish(StreamContext& context, StreamConsumer& consumer) {
  const Call call{context, consumer};
  for (const bool direction : {true, false}) {
    hand_on(direction, call, true);
    if (half(direction).known) end_half(direction, call);
    half(direction).buffer.release(context.memory);
  }
}

void TcpSession::release(StreamContext& context) {
  for (Half& each : halves_) each.buffer.release(context.memory);
}

}  // namespace penumbra::ids
