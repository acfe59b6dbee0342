// SPDX-License-Identifier: Apache-2.0
//
// Transmit queues that end inside the program.
#pragma once

#include <cstdint>

#include "io/capture_writer.h"
#include "io/mbuf_time.h"
#include "io/port.h"

namespace penumbra::io {

/// Forgets packets. The runtime has counted them.
class CountingTxQueue final : public TxQueue {
 public:
  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept override;
  void close() noexcept override {}
};

/// Writes packets to a capture that it shares with other workers' queues. A packet keeps the time at which it was
/// captured, or else gets that of sending. A file that has failed loses what is sent. The file outlives it.
class CaptureTxQueue final : public TxQueue {
 public:
  explicit CaptureTxQueue(CaptureFile& file) : writer_(file) {}

  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept override;
  void write_out() noexcept override { writer_.flush(); }
  void close() noexcept override { writer_.flush(); }
  Loss unwritten() const noexcept override { return writer_.lost(); }

 private:
  CaptureWriter writer_;
  MbufTime time_;
};

}  // namespace penumbra::io
