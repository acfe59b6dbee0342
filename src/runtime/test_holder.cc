// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <cstring>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <vector>

#include "packet/mbuf_metadata.h"
#include "penumbra/function.h"
#include "penumbra/per_worker.h"
#include "runtime/test_support.h"

namespace penumbra::runtime::test {
namespace {

constexpr std::uint64_t kHoldTime = 2'000'000;  // nanoseconds

/// Treats each packet by its role: the sequence number modulo kRoles, unless the configuration gives a role.
class Holder final : public Function {
 public:
  Holder(std::optional<HolderRole> role, const FunctionContext& context)
      : role_(role), stage_(context.stage), released_(context.workers), table_("test_holder") {
    static constexpr std::uint32_t kHolderView = 0x5A5AA5A5;
    table_.publish(kHolderView, std::vector<TableRegion>{});
  }
  const std::vector<Reason>& reasons() const override {
    static const std::vector<Reason> kList{{"wrong_answer", Verdict::Kind::drop, "the shader erred"}};
    return kList;
  }
  std::vector<FunctionShader> shaders() override { return {{"test_shader", &table_}, {"test_shader", &table_}}; }
  std::unique_ptr<FunctionWorker> open_worker(const WorkerContext& context) override;
  void bind(std::span<const PortInfo> /*ports*/) override {}
  std::vector<std::string> differences(const Function& /*next*/, const ConfigNode& /*config*/) const override {
    return {};
  }
  void exchange(Function& /*next*/) override {}
  nlohmann::ordered_json show(std::string_view /*topic*/, std::span<const std::string> /*arguments*/) const override {
    return {{"released_by_ticks", released_.begin()->part.get()}};
  }

  HolderRole role_of(const Frame& frame) const {
    return role_.value_or(static_cast<HolderRole>(frame.sequence % kHolderRoles));
  }
  std::uint16_t stage() const { return stage_; }
  Counter& released(std::size_t worker) { return released_.of(worker); }

 private:
  const std::optional<HolderRole> role_;
  const std::uint16_t stage_;
  PerWorker<Counter> released_;  ///< packets that tick() released
  Table table_;
};

class HolderWorker final : public FunctionWorker {
 public:
  HolderWorker(Holder& function, const WorkerContext& context)
      : function_(function), worker_(context.index), emitter_(context.emitter) {}
  ~HolderWorker() override {
    EXPECT_TRUE(held_.empty());
    EXPECT_EQ(half_, nullptr);
  }

  void process(Chunk& chunk) noexcept override {
    auto* in = chunk.columns.take<std::uint32_t>(chunk.size);
    auto* out = chunk.columns.take<std::uint32_t>(chunk.size);
    std::uint32_t items = 0;
    for (std::uint16_t i = 0; i < chunk.size; ++i) {
      if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
      const Frame& frame = frame_of(chunk.packets[i]);
      switch (function_.role_of(frame)) {
        case HolderRole::pass:
          break;
        case HolderRole::hold:
          held_.push_back({chunk.packets[i], chunk.now + kHoldTime});
          emitter_.hold(chunk, i);
          break;
        case HolderRole::emit:
          emit_copy(*chunk.packets[i], chunk.rx_port);
          break;
        case HolderRole::go_on:
          emitter_.go_to(chunk, i, static_cast<std::uint16_t>(function_.stage() + 1));
          break;
        case HolderRole::go_round:
          emitter_.go_to(chunk, i, function_.stage());
          break;
        case HolderRole::join:
          emitter_.hold(chunk, i);
          join(*chunk.packets[i], chunk.rx_port);
          break;
        case HolderRole::shade_twice:
          in[items] = frame.flow + frame.sequence;
          chunk.packet_of_item[items++] = static_cast<std::uint8_t>(i);
          break;
      }
    }
    set_job(chunk, in, out, items);
    chunk.stage_scratch = nullptr;
  }

  bool resume(Chunk& chunk) noexcept override {
    const auto* const in = static_cast<const std::uint32_t*>(chunk.batch.inputs[0]);
    auto* const out = static_cast<std::uint32_t*>(chunk.batch.outputs[0]);
    if (chunk.stage_scratch == nullptr && chunk.batch.items > 0) {  // The second job takes the answers of the first.
      auto* const again = chunk.columns.take<std::uint32_t>(chunk.size);
      chunk.stage_scratch = const_cast<std::uint32_t*>(in);
      set_job(chunk, out, again, chunk.batch.items);
      chunk.shader = 1;
      return true;
    }
    const auto* const first = static_cast<const std::uint32_t*>(chunk.stage_scratch);
    for (std::uint32_t item = 0; item < chunk.batch.items; ++item) {
      if (out[item] != first[item]) chunk.verdicts[chunk.packet_of_item[item]] = function_.drop(0);
    }
    return false;
  }

  std::uint64_t tick(std::uint64_t now) noexcept override {
    for (; !held_.empty() && held_.front().until <= now; release_first()) function_.released(worker_).add(1);
    return held_.empty() ? kNever : held_.front().until;
  }
  bool finish() noexcept override {
    while (!held_.empty() && emitter_.room() > 0) release_first();
    if (half_ != nullptr && emitter_.room() > 0) emitter_.release(std::exchange(half_, nullptr), {});
    return held_.empty() && half_ == nullptr;
  }

  std::string trace(const Chunk& /*chunk*/, std::uint16_t /*packet*/) const override { return "holds"; }

 private:
  struct Held {
    rte_mbuf* packet;
    std::uint64_t until;
  };

  static void set_job(Chunk& chunk, std::uint32_t* in, std::uint32_t* out, std::uint32_t items) noexcept {
    chunk.batch.inputs[0] = in;
    chunk.batch.outputs[0] = out;
    chunk.batch.items = items;
  }
  void emit_copy(const rte_mbuf& packet, std::uint16_t port) noexcept {
    rte_mbuf* const copy = emitter_.allocate();
    if (copy == nullptr) return;
    char* const bytes = rte_pktmbuf_append(copy, sizeof(Frame));
    if (bytes == nullptr) {
      emitter_.discard(copy);
      return;
    }
    std::memcpy(bytes, &frame_of(&packet), sizeof(Frame));
    copy->port = port;
    emitter_.emit(copy, {});
  }
  /// Makes one packet of two.
  void join(rte_mbuf& packet, std::uint16_t port) noexcept {
    if (half_ == nullptr) {
      half_ = &packet;
      return;
    }
    emitter_.absorb(2);
    emit_copy(packet, port);
    rte_pktmbuf_free(&packet);
    rte_pktmbuf_free(std::exchange(half_, nullptr));
  }
  void release_first() noexcept {
    rte_mbuf* const packet = held_.front().packet;
    EXPECT_EQ(received_at(*packet, 0) + kHoldTime, held_.front().until);
    held_.pop_front();
    emitter_.release(packet, {});
  }

  Holder& function_;
  const std::uint16_t worker_;
  Emitter& emitter_;
  std::deque<Held> held_;
  rte_mbuf* half_ = nullptr;
};

std::unique_ptr<FunctionWorker> Holder::open_worker(const WorkerContext& context) {
  return std::make_unique<HolderWorker>(*this, context);
}

[[maybe_unused]] const bool kHolder = register_function(
    {.name = "test_holder",
     .summary = "holds, makes, joins and redirects packets",
     .topics = {{"holder", "how many packets the ticks of the first worker released"}},
     .create = [](const ConfigNode& config, const FunctionContext& context) -> std::unique_ptr<Function> {
       std::optional<HolderRole> role;
       if (const ConfigNode node = config.get("role"); node.present()) {
         role = static_cast<HolderRole>(node.integer(0, kHolderRoles - 1));
       }
       return std::make_unique<Holder>(role, context);
     },
     .has_ticks = true,
     .creates_packets = true});

}  // namespace
}  // namespace penumbra::runtime::test
