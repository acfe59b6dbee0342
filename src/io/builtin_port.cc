// SPDX-License-Identifier: Apache-2.0
#include "io/builtin_port.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "io/traffic.h"

namespace penumbra::io {
namespace {

/// Bytes of synthetic frames that are kept in memory; then the frames repeat.
constexpr std::size_t kSynthBytes = 64U << 20;
constexpr std::uint64_t kNanosecondsApart = 1000;  ///< Nanoseconds between the timestamps of synthetic frames.

Frames synthesise(const control::SynthSource& source, MacAddress destination) {
  const Traffic traffic(source, TrafficMix{.odd_share = 0, .destination = destination});
  Frames frames;
  frames.bytes.reserve(kSynthBytes);
  std::vector<std::uint8_t> frame(control::SynthSource::kLargestFrame);
  for (std::uint64_t i = 0; source.count == 0 || i < source.count; ++i) {
    const std::size_t size = traffic.fill(i, frame);
    if (frames.bytes.size() + size > kSynthBytes) break;
    frames.add(i * kNanosecondsApart, {frame.data(), size});
  }
  return frames;
}

Frames frames_of(const control::PortConfig& config) {
  if (const auto* capture = std::get_if<control::PcapSource>(&config.device)) return load_capture(capture->file);
  if (const auto* synth = std::get_if<control::SynthSource>(&config.device)) return synthesise(*synth, config.info.mac);
  return {};
}

ReplayPlan plan_of(const control::Device& device, std::uint64_t frames) {
  if (const auto* capture = std::get_if<control::PcapSource>(&device)) return {capture->loop, frames, capture->rate};
  if (const auto* synth = std::get_if<control::SynthSource>(&device))
    return {synth->count == 0, synth->count, synth->rate};
  return {};
}

Replay make_replay(const control::PortConfig& config, std::uint16_t workers) {
  Frames frames = frames_of(config);
  const ReplayPlan plan = plan_of(config.device, frames.entries.size());
  return {std::move(frames), config.queues == 0 ? workers : config.queues, plan};
}

const char* driver_of(const control::Device& device) {
  if (std::holds_alternative<control::PcapSource>(device)) return "pcap";
  if (std::holds_alternative<control::SynthSource>(device)) return "synth";
  return "none";
}

}  // namespace

BuiltinPort::BuiltinPort(const control::PortConfig& config, std::uint16_t workers)
    : info_(config.info),
      sink_(config.sink),
      driver_(driver_of(config.device)),
      workers_(workers),
      replay_(make_replay(config, workers)) {}

void BuiltinPort::open(const PacketPool& pool) {
  pool_ = pool;
  replay_.use_pool(pool);
  if (const auto* capture = std::get_if<control::CaptureSink>(&sink_)) file_.emplace(capture->file);
  for (std::uint16_t worker = 0; worker < workers_; ++worker) {
    if (file_) {
      tx_queues_.push_back(std::make_unique<CaptureTxQueue>(*file_));
    } else {
      tx_queues_.push_back(std::make_unique<CountingTxQueue>());
    }
  }
}

void BuiltinPort::start() {
  if (file_) file_->begin();
  replay_.start();
}

std::uint64_t BuiltinPort::unwritten() const noexcept {
  std::uint64_t packets = 0;
  for (const auto& queue : tx_queues_) packets += queue->unwritten().packets;
  return packets;
}

nlohmann::ordered_json BuiltinPort::show() const {
  nlohmann::ordered_json shown{{"driver", driver_}, {"sink", file_ ? file_->path().string() : "count"}};
  if (!file_) return shown;
  shown["unwritten"] = unwritten();
  if (file_->error() != 0) shown["error"] = std::strerror(file_->error());
  return shown;
}

std::string BuiltinPort::failure() const {
  if (!file_ || file_->error() == 0) return "";
  return fmt::format("{}: {}; {} packets not written", file_->path().string(), std::strerror(file_->error()),
                     unwritten());
}

}  // namespace penumbra::io
