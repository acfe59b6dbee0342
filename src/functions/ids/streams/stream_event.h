// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penumbra::ids {

/// Anomalies of a TCP connection.
enum class StreamEvent : std::uint8_t {
  overlap_conflict,      ///< A segment overlaps another with different bytes.
  gap,                   ///< Bytes were acknowledged that were never seen.
  segment_before_base,   ///< A segment ends before the first byte of the stream.
  out_of_window,         ///< A segment lies outside the receiver's window.
  invalid_ack,           ///< An acknowledgement lies outside the window.
  synack_wrong_ack,      ///< A SYN and ACK does not acknowledge the SYN.
  syn_resend_different,  ///< A SYN was sent again with another sequence number.
  four_way_handshake,    ///< The server answered SYN with SYN.
  rst_invalid,           ///< A RST has a sequence number that the receiver does not take.
  data_after_fin,        ///< Bytes lie after the FIN.
  depth_reached,         ///< Later bytes of this direction are not inspected.
  flow_limit,            ///< A segment was refused: its flow holds too much.
  memory_limit,          ///< A segment was refused: all flows hold too much.
  too_many_segments,     ///< A segment was refused: its flow holds too many pieces.
  midstream,             ///< The first packet is no SYN, and the connection is followed from here.
};
inline constexpr std::size_t kStreamEvents = static_cast<std::size_t>(StreamEvent::midstream) + 1;

/// The names of the events, in the order of StreamEvent. Where Suricata has the event, it has this name.
inline constexpr std::array<std::string_view, kStreamEvents> kStreamEventNames{
    "stream.reassembly_overlap_different_data",
    "stream.reassembly_seq_gap",
    "stream.reassembly_segment_before_base_seq",
    "stream.est_packet_out_of_window",
    "stream.est_invalid_ack",
    "stream.3whs_synack_with_wrong_ack",
    "stream.3whs_syn_resend_diff_seq_on_syn_recv",
    "stream.4whs_syn",
    "stream.rst_invalid_ack",
    "stream.data_after_fin",
    "stream.reassembly_depth_reached",
    "stream.reassembly_flow_limit",
    "stream.reassembly_memory_limit",
    "stream.reassembly_too_many_segments",
    "stream.midstream",
};

constexpr std::string_view to_string(StreamEvent event) {
  return kStreamEventNames[static_cast<std::size_t>(event)];
}

struct StreamCounters {
  std::array<std::uint64_t, kStreamEvents> events{};
  std::uint64_t segments = 0;  ///< With payload.
  std::uint64_t bytes = 0;     ///< Handed on.
  std::uint64_t lost = 0;      ///< Bytes in gaps.

  std::uint64_t of(StreamEvent event) const { return events[static_cast<std::size_t>(event)]; }
};

}  // namespace penumbra::ids
