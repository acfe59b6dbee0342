// SPDX-License-Identifier: Apache-2.0
//
// Defines transmit queues that end inside the program.
#pragma once

#include <cstdint>
#include <vector>

#include "io/capture_writer.h"
#include "io/mbuf_time.h"
#include "io/port.h"

namespace penumbra::io {

/// Frees packets. The runtime has already counted them.
class CountingTxQueue final : public TxQueue {
 public:
  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept override;
  bool takes_chains() const noexcept override { return true; }
  void close() noexcept override {}
};

/// Writes packets to a capture file shared with other workers' queues. A packet keeps its capture time or gets the time
/// of sending. If the file has failed, packets are lost. The file must outlive the queue.
class CaptureTxQueue final : public TxQueue {
 public:
  explicit CaptureTxQueue(CaptureFile& file) : writer_(file) {}

  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept override;
  bool takes_chains() const noexcept override { return true; }
  void write_out() noexcept override { writer_.flush(); }
  void close() noexcept override { writer_.flush(); }
  Loss unwritten() const noexcept override { return writer_.lost(); }

 private:
  CaptureWriter writer_;
  std::vector<std::uint8_t> chain_ = std::vector<std::uint8_t>(kMostFrameBytes);  ///< Bytes of a packet of segments.
  MbufTime time_;
};

}  // namespace penumbra::io
