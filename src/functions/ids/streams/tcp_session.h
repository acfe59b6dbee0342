// SPDX-License-Identifier: Apache-2.0
//
// Follows a TCP connection and hands on the bytes of both directions in order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "functions/ids/streams/stream_buffer.h"
#include "functions/ids/streams/stream_event.h"
#include "functions/ids/streams/stream_memory.h"
#include "functions/ids/streams/stream_policy.h"

namespace penumbra::ids {

/// The fields of a TCP segment that a session needs.
struct TcpSegment {
  static constexpr std::uint8_t kFin = 0x01, kSyn = 0x02, kReset = 0x04, kAck = 0x10;
  static constexpr std::int8_t kNoScale = -1;

  std::uint32_t sequence = 0, acknowledgement = 0;
  std::uint16_t window = 0;
  std::uint8_t flags = 0;
  std::int8_t window_scale = kNoScale;  ///< The option of RFC 7323, which only SYN has.
  std::span<const std::uint8_t> payload;

  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
};

/// Reads the segment of a TCP header with options, and of its payload. Precondition: `header` has 20 bytes at least.
TcpSegment read_tcp_segment(std::span<const std::uint8_t> header, std::span<const std::uint8_t> payload);

struct StreamOptions {
  std::size_t memory = std::size_t{64} << 20;       ///< Of all flows of a worker, bytes.
  std::size_t flow_limit = std::size_t{256} << 10;  ///< Bytes that wait in one direction of a flow.
  /// Bytes that are inspected, by direction: to the client, to the server. 0: all.
  std::array<std::uint64_t, 2> depth{std::uint64_t{1} << 20, std::uint64_t{1} << 20};
  std::size_t context = StreamBuffer::kContext;  ///< Bytes before new text, at least kContext.
  bool midstream = false;                        ///< Connections are followed whose SYN was not seen.
  bool one_sided = false;                        ///< Connections are followed of which only one direction is seen.
  /// Bytes are handed on when they arrive, not when they are acknowledged: what an inline system lets pass was
  /// inspected before. The bytes that came first count, whatever the policies of receivers are.
  bool immediate = false;

  bool operator==(const StreamOptions&) const = default;
};

/// Takes what a session finds. `to_server` is the direction.
class StreamConsumer {
 public:
  virtual ~StreamConsumer() = default;
  /// New bytes in order. `text` is valid during the call.
  virtual void on_text(bool to_server, const StreamText& text) = 0;
  /// The next `bytes` bytes of the stream are lost.
  virtual void on_gap(bool to_server, std::uint64_t bytes) = 0;
  /// No bytes follow in this direction.
  virtual void on_end(bool to_server) = 0;
  virtual void on_event(bool to_server, StreamEvent event) = 0;
};

/// What the sessions of a worker share.
struct StreamContext {
  explicit StreamContext(const StreamOptions& wanted) : options(wanted), memory(wanted.memory) {}

  StreamOptions options;
  StreamMemory memory;
  StreamCounters counters;
};

class TcpSession {
 public:
  enum class State : std::uint8_t {
    none,  ///< No segment, or none that a connection begins with.
    syn_sent,
    syn_received,
    established,
    closing,  ///< One side has sent FIN.
    closed,   ///< Both sides have sent FIN, or one has sent RST.
  };

  /// `policies` are those of the receivers, by direction: the client's, the server's.
  explicit TcpSession(std::array<StreamPolicy, 2> policies = {StreamPolicy::bsd, StreamPolicy::bsd})
      : policies_(policies) {}

  /// Follows a segment, and hands bytes on to `consumer`. Takes no lock; allocates only where StreamMemory must grow.
  /// Returns false, and does nothing, unless follows().
  bool add(const TcpSegment& segment, bool to_server, StreamContext& context, StreamConsumer& consumer);
  /// Returns true if the segment belongs to a connection that is followed, or begins one.
  bool follows(const TcpSegment& segment, bool to_server, const StreamOptions& options) const;
  /// Returns true if bytes of the segment may have been received before.
  bool is_repetition(const TcpSegment& segment, bool to_server) const;
  /// Call before add() if bytes are handed on immediately: writes the bytes that were received before over the payload
  /// of a segment that repeats them, so that the receiver gets the bytes that were inspected. Bytes that the receiver
  /// has acknowledged may differ, as it ignores them. Returns true if a byte has changed, which is an event.
  bool impose(const TcpSegment& segment, std::span<std::uint8_t> payload, bool to_server, StreamContext& context,
              StreamConsumer& consumer);
  /// Hands on everything that is held, also bytes that were not acknowledged, and ends both directions: after a timeout
  /// or at the end of a capture.
  void finish(StreamContext& context, StreamConsumer& consumer);
  /// Gives the memory back without handing on. Call it, or finish(), before destruction.
  void release(StreamContext& context);

  State state() const { return state_; }
  bool is_midstream() const { return is_midstream_; }
  /// Returns true if both directions were seen to agree on the connection, or it was taken up midstream.
  bool was_established() const { return was_established_; }
  /// Returns true if a SYN begins a new connection with the same ends, so that the session should be replaced.
  bool is_replaced_by(const TcpSegment& segment, bool to_server) const;
  /// Bytes of the direction that were sent, as far as sequence numbers tell.
  std::uint64_t sent(bool to_server) const { return half(to_server).sent; }
  bool is_ended(bool to_server) const { return half(to_server).ended; }
  /// Microseconds without a packet after which the session ends.
  std::uint64_t timeout() const;
  std::size_t memory() const { return halves_[0].buffer.memory() + halves_[1].buffer.memory(); }

 private:
  /// One direction: its sender's bytes.
  struct Half {
    static constexpr std::uint64_t kNone = ~std::uint64_t{0};
    StreamBuffer buffer;
    std::uint32_t first_sequence = 0;          ///< Of the byte at place 0.
    std::uint64_t acked = 0;                   ///< The receiver has acknowledged the bytes before.
    std::uint64_t sent = 0;                    ///< The end of the farthest segment.
    std::uint64_t fin = kNone;                 ///< The place of the FIN.
    std::uint64_t window = 0;                  ///< Bytes that the receiver offers to take.
    std::int8_t scale = TcpSegment::kNoScale;  ///< Window scale of the sender's SYN.
    bool known = false;                        ///< first_sequence is valid.
    bool seen = false;                         ///< The sender has sent a segment.
    bool depth_reached = false;
    bool ended = false;
  };
  struct Call {
    StreamContext& context;
    StreamConsumer& consumer;
  };

  Half& half(bool to_server) { return halves_[to_server ? 1 : 0]; }
  const Half& half(bool to_server) const { return halves_[to_server ? 1 : 0]; }
  void follow(const TcpSegment& segment, bool to_server, const Call& call);
  void report(const Call& call, bool to_server, StreamEvent event);
  void begin_half(Half& half, std::uint32_t first_sequence);
  void follow_syn(const TcpSegment& segment, bool to_server, const Call& call);
  void follow_reset(const TcpSegment& segment, bool to_server, const Call& call);
  void follow_handshake(const TcpSegment& segment, bool to_server, const Call& call);
  void take_up(const TcpSegment& segment, bool to_server, const Call& call);
  void follow_ack(const TcpSegment& segment, bool to_server, const Call& call);
  void store(const TcpSegment& segment, bool to_server, const Call& call);
  void insert(std::int64_t place, std::span<const std::uint8_t> payload, bool to_server, const Call& call);
  void hand_on(bool to_server, const Call& call, bool everything);
  void hand_on_text(bool to_server, const Call& call, std::uint64_t until);
  void skip_gap(bool to_server, const Call& call, std::uint64_t until);
  void end_half(bool to_server, const Call& call);
  static std::int64_t place_of(const Half& half, std::uint32_t sequence);
  static std::size_t context_of(const Half& half, const StreamOptions& options);

  std::array<Half, 2> halves_;  ///< To the client, to the server.
  std::array<StreamPolicy, 2> policies_;
  State state_ = State::none;
  bool is_midstream_ = false, was_established_ = false;
};

}  // namespace penumbra::ids
