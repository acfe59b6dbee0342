// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "io/packet_pool.h"
#include "io/port.h"
#include "io/replay.h"
#include "io/sinks.h"

namespace penumbra::io {

/// A port without a device. The port receives packets from memory, or none, and sends packets to a capture or a
/// counter.
class BuiltinPort final : public Port {
 public:
  /// Reads the whole source into memory. Throws InputError or std::runtime_error. Only reads files.
  BuiltinPort(const control::PortConfig& config, std::uint16_t workers);

  std::uint32_t largest_frame() const { return replay_.largest_frame(); }
  /// Completes the port: creates the sink's file. Throws std::system_error.
  void open(const PacketPool& pool);

  const PortInfo& info() const override { return info_; }
  std::uint16_t rx_queues() const override { return replay_.queues(); }
  RxQueue& rx_queue(std::uint16_t queue) override { return replay_.queue(queue); }
  TxQueue& tx_queue(std::uint16_t worker) override { return *tx_queues_[worker]; }
  bool spreads_by_flow() const override { return true; }
  void start() override;
  void stop() noexcept override {}
  Loss ring_loss() const noexcept override { return {}; }
  std::shared_ptr<void> memory() const override { return pool_; }
  nlohmann::ordered_json show() const override;
  std::string failure() const override;

 private:
  std::uint64_t unwritten() const noexcept;

  PortInfo info_;
  control::Sink sink_;
  std::string driver_;
  std::uint16_t workers_;
  Replay replay_;
  PacketPool pool_;
  std::optional<CaptureFile> file_;
  std::vector<std::unique_ptr<TxQueue>> tx_queues_;
};

}  // namespace penumbra::io
