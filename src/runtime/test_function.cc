// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "packet/mbuf_metadata.h"
#include "penumbra/lookup_function.h"
#include "runtime/test_support.h"

namespace penumbra::runtime::test {
namespace {

constexpr std::uint32_t kView = 0x5A5AA5A5;
GracePeriods* last_grace_periods = nullptr;
std::atomic<std::uint64_t> ahead{0}, prepared{0}, unprepared{0};
std::mutex lost_links_mutex;
std::vector<std::uint16_t> lost_links;

/// Treats each packet as the order in its frame for this stage requires.
class Judge final : public LookupFunction {
 public:
  Judge(std::size_t stage, std::uint64_t revision, std::size_t ports)
      : stage_(stage), revision_(revision), table_("test_table") {
    count_ports(ports);
    table_.publish(kView, std::vector<TableRegion>{});
  }

  const std::vector<Reason>& reasons() const override {
    static const std::vector<Reason> kList{{"dropped", Verdict::Kind::drop, "dropped before the shader"},
                                           {"late_dropped", Verdict::Kind::drop, "dropped after it"},
                                           {"late_punted", Verdict::Kind::punt, "punted after it"},
                                           {"wrong_answer", Verdict::Kind::drop, "the shader erred"}};
    return kList;
  }
  std::string shader() const override { return "test_shader"; }
  Table* table() override { return &table_; }
  void bind(std::span<const PortInfo> ports) override {
    const bool refuses = stage_ == 1 && std::ranges::find(ports, kRefusedMtu, &PortInfo::mtu) != ports.end();
    if (refuses) throw std::invalid_argument("no port may have this MTU");
    count_ports(ports.size());
  }
  void prepare(std::uint16_t worker) noexcept override {
    prepared_.fetch_or(std::uint64_t{1} << worker);
    ++prepared;
  }
  void link_down(std::uint16_t port) override {
    const std::lock_guard lock(lost_links_mutex);
    lost_links.push_back(port);
  }

  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override {
    const std::uint64_t revision = dynamic_cast<const Judge&>(next).revision_;
    if (revision == kTakesRestart) throw config.error("takes a restart");
    if (revision == revision_) return {};
    return {"revision " + std::to_string(revision)};
  }
  void exchange(Function& next) override {
    auto& other = dynamic_cast<Judge&>(next);
    if (other.revision_ == kDoesNotFit) throw std::length_error("does not fit");
    std::swap(revision_, other.revision_);
  }
  void pre_shade(Chunk& chunk) noexcept override {
    if (chunk.fetch_ahead) ahead.fetch_add(1);
    if ((prepared_.load() >> chunk.worker & 1) == 0) unprepared.fetch_add(1);
    auto* in = chunk.columns.take<std::uint32_t>(chunk.size);
    auto* out = chunk.columns.take<std::uint32_t>(chunk.size);
    std::uint32_t items = 0;
    for (std::uint16_t i = 0; i < chunk.size; ++i) {
      if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
      const Frame& frame = frame_of(chunk.packets[i]);
      switch (frame.orders[stage_]) {
        case Order::pass:
          break;
        case Order::send:
          chunk.verdicts[i] = Verdict::send(egress(frame));
          break;
        case Order::drop:
          chunk.verdicts[i] = drop(kDropped);
          break;
        case Order::replicate:
          chunk.replications[i] = {.ports = all_};
          chunk.verdicts[i] = Verdict::replicate();
          break;
        case Order::replicate_other:
          chunk.replications[i] = {.ports = even_, .other = header_variant(*chunk.packets[i]), .other_ports = odd_};
          chunk.verdicts[i] = Verdict::replicate();
          break;
        case Order::replicate_some:
          chunk.replications[i] = {.ports = even_, .dropped = 2, .reason = drop(kLateDropped).value};
          chunk.verdicts[i] = Verdict::replicate();
          break;
        case Order::replicate_nowhere:
          chunk.replications[i] = {.ports = nowhere_, .other = header_variant(*chunk.packets[i])};
          chunk.verdicts[i] = Verdict::replicate();
          break;
        default:
          in[items] = key(frame);
          chunk.packet_of_item[items++] = static_cast<std::uint8_t>(i);
      }
    }
    chunk.batch.inputs[0] = in;
    chunk.batch.outputs[0] = out;
    chunk.batch.items = items;
  }

  void post_shade(Chunk& chunk) noexcept override {
    const auto* out = static_cast<const std::uint32_t*>(chunk.batch.outputs[0]);
    for (std::uint32_t item = 0; item < chunk.batch.items; ++item) {
      const std::uint16_t i = chunk.packet_of_item[item];
      const Frame& frame = frame_of(chunk.packets[i]);
      chunk.verdicts[i] = out[item] == (key(frame) ^ kView) ? late_verdict(frame) : drop(kWrongAnswer);
    }
  }

  std::string trace(const Chunk& chunk, std::uint16_t packet) const override {
    const Frame& frame = frame_of(chunk.packets[packet]);
    // Copies, because packed members may be misaligned and fmt takes references.
    return fmt::format("flow {} sequence {}", std::uint32_t{frame.flow}, std::uint32_t{frame.sequence});
  }

  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override {
    if (!arguments.empty()) throw std::invalid_argument("judges take no arguments");
    return {{"topic", topic}, {"stage", stage_}, {"revision", revision_}};
  }

 private:
  void count_ports(std::size_t ports) {
    ports_ = ports;
    nowhere_ = {static_cast<std::uint16_t>(ports)};
    for (auto* list : {&all_, &even_, &odd_}) list->clear();
    for (std::size_t i = 0; i < ports; ++i) {
      for (auto* list : {&all_, i % 2 == 0 ? &even_ : &odd_}) list->push_back(static_cast<std::uint16_t>(i));
    }
  }
  static rte_mbuf* header_variant(rte_mbuf& packet) { return copy_packet(packet, *packet.pool); }

  static std::uint32_t key(const Frame& frame) { return frame.flow * 0x9E3779B9U + frame.sequence; }
  std::uint16_t egress(const Frame& frame) const { return static_cast<std::uint16_t>(frame.egress[stage_] % ports_); }

  Verdict late_verdict(const Frame& frame) const {
    switch (frame.orders[stage_]) {
      case Order::late_send:
        return Verdict::send(egress(frame));
      case Order::late_drop:
        return drop(kLateDropped);
      case Order::late_punt:
        return punt(kLatePunted);
      case Order::misdirect:
        return Verdict::send(static_cast<std::uint16_t>(ports_));
      default:
        return {};
    }
  }

  std::size_t stage_;
  std::uint64_t revision_;
  std::atomic<std::uint64_t> prepared_{0};  ///< one bit for each worker
  std::size_t ports_ = 0;
  std::vector<std::uint16_t> all_, even_, odd_, nowhere_;
  Table table_;
};

[[maybe_unused]] const bool kTestFunction = register_function(
    {.name = "test_judge",
     .summary = "does with each packet what the packet says",
     .topics = {{"judges", "what this judge is"}},
     .create = [](const ConfigNode& config, const FunctionContext& context) -> std::unique_ptr<Function> {
       last_grace_periods = &context.grace_periods;
       const ConfigNode revision = config.get("revision");
       return std::make_unique<Judge>(config.at("stage").integer(0, kMostStages - 1),
                                      revision.present() ? revision.integer(0, kMostRevision) : 0,
                                      context.ports.size());
     }});

}  // namespace

GracePeriods& grace_periods() {
  return *last_grace_periods;
}
std::vector<std::uint16_t> links_lost() {
  const std::lock_guard lock(lost_links_mutex);
  return std::exchange(lost_links, {});
}
std::uint64_t chunks_fetched_ahead() {
  return ahead.load();
}

std::uint64_t preparations() {
  return prepared;
}

std::uint64_t chunks_of_unprepared_workers() {
  return unprepared.load();
}

}  // namespace penumbra::runtime::test
