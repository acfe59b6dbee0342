// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "functions/ids/streams/stream_settings.h"
#include "packet/reassembly.h"
#include "penumbra/packet.h"

namespace penumbra::cli {

/// Reassembles the fragmented datagrams of captures as their receivers do. Starts the EAL.
class CaptureReassembly {
 public:
  /// `policies` are those of the receivers; the last that has the address counts. Others have that of BSD. They must
  /// outlive the object.
  CaptureReassembly(const ReassemblyLimits& limits, const ids::StreamPolicies& policies);
  ~CaptureReassembly();
  CaptureReassembly(const CaptureReassembly&) = delete;
  CaptureReassembly& operator=(const CaptureReassembly&) = delete;

  struct Added {
    /// The frame of the datagram that the packet completes, with the link-layer header of the first fragment. May be
    /// empty.
    std::vector<std::uint8_t> datagram;
    bool lacks_memory = false;  ///< There is no memory for the fragment.
  };
  /// Adds a fragment. `now` is in microseconds.
  Added add(const PacketHeaders& headers, std::span<const std::uint8_t> frame, std::uint64_t now);
  /// Gives up all datagrams that lack parts: at the end of a capture.
  void flush();

  std::uint64_t datagrams() const { return datagrams_; }  ///< Completed.
  /// Fragments that were not used: malformed, in conflict with others, over a limit, or of a datagram that lacks parts.
  /// Final after flush().
  std::uint64_t unused() const { return unused_; }

 private:
  struct Memory;
  OverlapPolicy policy_of(const PacketHeaders& headers, std::span<const std::uint8_t> frame) const;

  const ids::StreamPolicies& policies_;
  std::uint64_t datagrams_ = 0, unused_ = 0;
  std::unique_ptr<Memory> memory_;
};

}  // namespace penumbra::cli
