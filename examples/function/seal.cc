// SPDX-License-Identifier: Apache-2.0
//
// An example of a function with jobs on payload: it enciphers frames, holds them, creates others, and uses time. The
// bytes after the MAC header become a counter, ciphertext and a tag. Sealed frames leave in groups, so that nobody sees
// when a frame came: eight at once, or what is there after 2 ms. docs/add-a-function.md explains it.
#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <array>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "crypto/jobs/cipher_keys.h"
#include "penumbra/function.h"

namespace penumbra::seal {
namespace {

constexpr std::uint32_t kKeyBytes = 16, kTagBytes = 16, kCounterBytes = 8, kNonceBytes = 12;
constexpr std::uint16_t kMacBytes = RTE_ETHER_HDR_LEN, kEthertype = 0x88B5;  // IEEE: local experimental
constexpr std::uint64_t kMostHold = 2'000'000;                               // nanoseconds
constexpr std::size_t kGroup = 8;                                            // frames
constexpr std::uint16_t kLargestFrame = 1500 + kMacBytes;

std::array<std::uint8_t, kKeyBytes> read_key(const ConfigNode& config) {
  config.require_map({"key", "engine"});
  const std::string text = config.get("key").text();
  std::array<std::uint8_t, kKeyBytes> key;
  if (text.size() != 2 * kKeyBytes || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw config.get("key").error("the key must have 32 hexadecimal digits, 0-9 and a-f");
  }
  for (std::size_t i = 0; auto& byte : key) {
    byte = static_cast<std::uint8_t>(std::stoul(text.substr(2 * i++, 2), nullptr, 16));
  }
  return key;
}

/// The control half: the key.
class Seal final : public Function {
 public:
  Seal(const std::array<std::uint8_t, kKeyBytes>& key, const FunctionContext& context)
      : keys_(1, context.grace_periods) {
    key_ = keys_.add({.cipher = CIPHER_AES_GCM, .secret = key, .tag_bytes = kTagBytes});
  }
  const std::vector<Reason>& reasons() const override {
    static const std::vector<Reason> kReasons{
        {"not_sealed", Verdict::Kind::drop, "the frame is a chain, too short or too long, or no memory was left"}};
    return kReasons;
  }
  std::vector<FunctionShader> shaders() override { return {{"cipher_jobs", &keys_.table()}}; }
  void bind(std::span<const PortInfo> /*ports*/) override {}
  std::unique_ptr<FunctionWorker> open_worker(const WorkerContext& context) override;
  std::vector<std::string> differences(const Function& /*next*/, const ConfigNode& /*config*/) const override {
    return {};
  }
  void exchange(Function& /*next*/) override {}
  nlohmann::ordered_json show(std::string_view /*topic*/, std::span<const std::string> /*arguments*/) const override {
    return {{"keys", keys_.size()}};
  }

  std::uint32_t key() const { return key_; }

 private:
  CipherKeys keys_;
  std::uint32_t key_ = 0;
};

/// The data half: the frames that it holds, each with its sealed frame.
class SealWorker final : public FunctionWorker {
 public:
  SealWorker(Seal& function, const WorkerContext& context)
      : function_(function), worker_(context.index), emitter_(context.emitter) {
    held_.reserve(kGroup);
  }

  /// Writes a job for each frame: from the packet into a new one.
  void process(Chunk& chunk) noexcept override {
    auto* const jobs = chunk.columns.take<cipher_job>(chunk.size);
    auto* const from = chunk.columns.take<std::uint64_t>(chunk.size);
    auto* const lengths = chunk.columns.take<std::uint32_t>(chunk.size);
    auto* const to = chunk.columns.take<std::uint64_t>(chunk.size);
    auto* const rooms = chunk.columns.take<std::uint32_t>(chunk.size);
    auto* const sealed = chunk.columns.take<rte_mbuf*>(chunk.size);
    std::uint32_t items = 0;
    for (std::uint16_t i = 0; i < chunk.size; ++i) {
      if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
      const rte_mbuf& packet = *chunk.packets[i];
      const bool fits = packet.nb_segs == 1 && packet.data_len >= kMacBytes && packet.data_len <= kLargestFrame;
      rte_mbuf* const made = fits && !chunk.is_dry_run ? emitter_.allocate() : nullptr;
      if (made == nullptr) {
        chunk.verdicts[i] = function_.drop(0);
        continue;
      }
      lengths[items] = packet.data_len - kMacBytes;
      rooms[items] = kCounterBytes + lengths[items] + kTagBytes;
      from[items] = position_of(rte_pktmbuf_mtod_offset(&packet, const void*, kMacBytes), chunk.batch.source);
      to[items] = position_of(rte_pktmbuf_mtod_offset(made, const void*, kMacBytes), chunk.batch.destination);
      jobs[items] = next_job();
      sealed[items] = made;
      chunk.packet_of_item[items++] = static_cast<std::uint8_t>(i);
    }
    chunk.batch.inputs = {jobs, from, lengths, to, rooms};
    chunk.batch.outputs = {chunk.columns.take<std::uint32_t>(chunk.size), chunk.columns.take<std::uint8_t>(chunk.size)};
    chunk.batch.items = items;
    chunk.stage_scratch = sealed;
  }

  /// Holds each frame that was sealed, until its group leaves.
  bool resume(Chunk& chunk) noexcept override {
    auto* const sealed = static_cast<rte_mbuf**>(chunk.stage_scratch);
    const auto* const lengths = static_cast<const std::uint32_t*>(chunk.batch.outputs[0]);
    for (std::uint32_t item = 0; item < chunk.batch.items; ++item) {
      const std::uint8_t i = chunk.packet_of_item[item];
      rte_mbuf* const packet = chunk.packets[i];
      // The key takes any frame, and there is room for it, so that the status is CIPHER_DONE.
      auto* const header = reinterpret_cast<rte_ether_hdr*>(
          rte_pktmbuf_append(sealed[item], static_cast<std::uint16_t>(kMacBytes + lengths[item])));
      *header = *rte_pktmbuf_mtod(packet, const rte_ether_hdr*);
      header->ether_type = rte_cpu_to_be_16(kEthertype);
      sealed[item]->port = packet->port;
      if (held_.empty()) leave_at_ = chunk.now + kMostHold;
      held_.push_back({packet, sealed[item], chunk.batch.is_still_written});
      emitter_.hold(chunk, i);
      if (held_.size() == kGroup) leave();
    }
    return false;
  }

  std::uint64_t tick(std::uint64_t now) noexcept override {
    if (!held_.empty() && now >= leave_at_) leave();
    return held_.empty() ? kNever : leave_at_;
  }
  bool finish() noexcept override {
    if (!held_.empty()) leave();
    return true;
  }
  std::string trace(const Chunk& /*chunk*/, std::uint16_t /*packet*/) const override { return "sealed and held"; }

 private:
  struct Held {
    rte_mbuf* packet;
    rte_mbuf* sealed;
    bool is_still_written;  ///< By a lost GPU: Batch::is_still_written
  };

  /// Returns a job with a nonce that no job had before: the worker and a counter.
  cipher_job next_job() noexcept {
    cipher_job job{};
    job.key = function_.key();
    job.direction = CIPHER_SEAL;
    job.nonce_bytes = kNonceBytes;
    job.prefix_bytes = kCounterBytes;
    const std::uint64_t counter = rte_cpu_to_be_64(std::uint64_t{worker_} << 48 | counter_++);
    std::memcpy(job.nonce + kNonceBytes - kCounterBytes, &counter, sizeof counter);
    std::memcpy(job.prefix, &counter, sizeof counter);
    return job;
  }
  /// Puts the sealed frames in the place of those that are held.
  void leave() noexcept {
    for (const Held& each : held_) {
      if (each.is_still_written) {  // Then this memory must never be used again. It costs a lost GPU two packets a job.
        rte_mbuf_refcnt_update(each.sealed, 1);
        rte_mbuf_refcnt_update(each.packet, 1);
      }
      emitter_.absorb(1);
      emitter_.emit(each.sealed, {});
      rte_pktmbuf_free(each.packet);
    }
    held_.clear();
  }

  Seal& function_;
  const std::uint16_t worker_;
  Emitter& emitter_;
  std::uint64_t counter_ = 0, leave_at_ = 0;
  std::vector<Held> held_;
};

std::unique_ptr<FunctionWorker> Seal::open_worker(const WorkerContext& context) {
  return std::make_unique<SealWorker>(*this, context);
}

[[maybe_unused]] const bool kSeal = register_function(
    {.name = "seal",
     .summary = "enciphers frames, which leave in groups",
     .topics = {{"seal", "how many keys there are"}},
     .create = [](const ConfigNode& config, const FunctionContext& context) -> std::unique_ptr<Function> {
       return std::make_unique<Seal>(read_key(config), context);
     },
     .has_ticks = true,
     .creates_packets = true});

}  // namespace
}  // namespace penumbra::seal
