// SPDX-License-Identifier: Apache-2.0
#include "runtime/explain.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/null_emitter.h"
#include "io/eal.h"
#include "penumbra/errors.h"
#include "runtime/emission.h"
#include "runtime/frame_text.h"
#include "runtime/frame_words.h"

namespace penumbra::runtime {
namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t kPoolPackets = 15;  // A frame, its header variant, and spare packets.

std::span<const std::uint8_t> bytes_of(const rte_mbuf& packet) {
  return {rte_pktmbuf_mtod(&packet, const std::uint8_t*), rte_pktmbuf_data_len(&packet)};
}

std::string hex_of(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const auto byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

const char* name_of(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::pass:
      return "pass";
    case Verdict::Kind::send:
      return "send";
    case Verdict::Kind::replicate:
      return "replicate";
    case Verdict::Kind::hold:
      return "hold";
    case Verdict::Kind::go_to:
      return "go_to";
    case Verdict::Kind::drop:
      return "drop";
    case Verdict::Kind::punt:
      return "punt";
  }
  return "?";
}

}  // namespace

/// The chunk owns the header variant of a replicated packet too.
struct Explainer::Packets {
  explicit Packets(rte_mbuf* packet) {
    chunk.size = 1;
    chunk.is_dry_run = true;
    chunk.packets[0] = packet;
    chunk.verdicts[0] = {};
    chunk.replications[0] = {};
    chunk.batch.items = 0;
  }
  Packets(const Packets&) = delete;
  Packets& operator=(const Packets&) = delete;
  ~Packets() {
    if (chunk.verdicts[0].kind == Verdict::Kind::replicate && chunk.replications[0].other != nullptr) {
      rte_pktmbuf_free(chunk.replications[0].other);
    }
    rte_pktmbuf_free(chunk.packets[0]);
  }

  Chunk chunk;
  std::string trace;                             ///< Trace of the last stage.
  ordered_json sent = ordered_json::array();     ///< Outputs of the packet and its copies.
  ordered_json dropped = ordered_json::array();  ///< Copies that are not made or not sent, by reason.
  bool is_port_gone = false;                     ///< A copy was for a port without a device.
};

Explainer::Explainer(const Pipeline& pipeline, Reading reading) : pipeline_(pipeline), reading_(std::move(reading)) {}

Explainer::~Explainer() = default;

ordered_json Explainer::command(std::span<const ExplainedPort> ports, std::string_view port,
                                std::span<const std::string> arguments) {
  ports_ = ports;
  const auto found =
      std::ranges::find_if(ports_, [port](const auto& each) { return !each.info.removed && each.info.name == port; });
  if (found == ports_.end()) {
    std::vector<std::string> names;
    for (const auto& each : ports_) {
      if (!each.info.removed) names.push_back(each.info.name);
    }
    throw std::invalid_argument(
        fmt::format("there is no port '{}'; {}", port, did_you_mean_or_list(std::string(port), names)));
  }
  std::vector<std::uint8_t> frame;
  if (!arguments.empty() && arguments[0] == "--hex") {
    if (arguments.size() != 2) throw std::invalid_argument("expected --hex and the bytes of one frame");
    frame = parse_hex(arguments[1]);
  } else if (arguments.empty()) {
    throw std::invalid_argument("expected a header, for instance: src 192.0.2.1 dst 198.51.100.1 proto tcp dport 80");
  } else {
    frame = build_frame(arguments, found->info.mac);
  }
  if (pool_ == nullptr) {
    pool_ = io::create_small_pool({kPoolPackets, static_cast<std::uint16_t>(kLargestExplained + RTE_PKTMBUF_HEADROOM)});
  }
  rte_mbuf* const packet = rte_pktmbuf_alloc(pool_.get());
  if (packet == nullptr) throw std::runtime_error("no memory for a packet");
  const auto packets = std::make_unique<Packets>(packet);
  std::ranges::copy(frame, rte_pktmbuf_append(packet, static_cast<std::uint16_t>(frame.size())));
  packet->port = found->info.index;
  packets->chunk.rx_port = found->info.index;
  return explain(*packets);
}

ordered_json Explainer::explain(Packets& packets) {
  Chunk& chunk = packets.chunk;
  const auto frame = bytes_of(*chunk.packets[0]);
  ordered_json answer{{"port", ports_[chunk.rx_port].info.name},
                      {"frame", describe_frame(frame, frame.size())},
                      {"hex", hex_of(frame)},
                      {"stages", ordered_json::array()}};
  const auto& stages = pipeline_.stages();
  unsigned visits = 0;
  for (std::size_t i = 0; i < stages.size() && chunk.verdicts[0].kind == Verdict::Kind::pass; ++i) {
    chunk.stage = static_cast<std::uint16_t>(i);
    ordered_json& stage = answer["stages"].emplace_back(explain_stage(packets, stages[i]));
    if (chunk.verdicts[0].kind != Verdict::Kind::go_to) continue;
    // A function's own redirections are limited. Those of the configuration make no loop.
    if (stage["verdict"] == name_of(Verdict::Kind::go_to) && ++visits > StageEmitter::kMostVisits) {
      chunk.verdicts[0] = drop_as(RuntimeReason::too_many_visits);
      break;
    }
    i = std::size_t{chunk.verdicts[0].value} - 1;  // The loop adds 1. An invalid stage ends it.
    chunk.verdicts[0] = {};
  }
  Verdict verdict = chunk.verdicts[0];
  const bool leaves = verdict.kind == Verdict::Kind::send || verdict.kind == Verdict::Kind::replicate;
  if (verdict.kind == Verdict::Kind::pass || (leaves && packets.sent.empty())) {
    const auto reason = leaves && packets.is_port_gone ? RuntimeReason::port_gone : RuntimeReason::undecided;
    verdict = {Verdict::Kind::drop, static_cast<std::uint16_t>(reason)};
  }
  answer["verdict"] = name_of(verdict.kind);
  const bool has_reason = verdict.kind == Verdict::Kind::drop || verdict.kind == Verdict::Kind::punt;
  answer["reason"] = has_reason ? ordered_json(pipeline_.reason_name(verdict.value)) : ordered_json();
  if (has_reason) answer["help"] = pipeline_.reasons()[verdict.value].reason.help;
  if (verdict.kind == Verdict::Kind::punt) {
    const std::string& twin = ports_[chunk.rx_port].twin;
    answer["twin"] = twin.empty() ? ordered_json() : ordered_json(twin);
  }
  answer["sent"] = packets.sent;
  if (verdict.kind == Verdict::Kind::replicate && !packets.dropped.empty()) answer["dropped_copies"] = packets.dropped;
  return answer;
}

ordered_json Explainer::explain_stage(Packets& packets, const Stage& stage) {
  Chunk& chunk = packets.chunk;
  FunctionWorker& function = data_half(chunk.stage);
  // The table's contents may be freed when the reading ends, so all output is copied before.
  reading_([&] {
    chunk.columns.clear();
    chunk.batch.items = 0;
    chunk.batch.source = chunk.batch.destination = payload_base();
    chunk.shader = 0;
    function.process(chunk);
    bool has_job = chunk.batch.items > 0;
    do {
      if (has_job && !stage.shaders.empty()) run_job(chunk, stage.shaders[chunk.shader]);
      has_job = function.resume(chunk);
    } while (has_job);
    packets.trace = function.trace(chunk, 0);
    note_outputs(packets);
  });
  const Verdict verdict = chunk.verdicts[0];
  const bool has_reason = verdict.kind == Verdict::Kind::drop || verdict.kind == Verdict::Kind::punt;
  ordered_json answer{{"stage", stage.name},
                      {"verdict", name_of(verdict.kind)},
                      {"reason", has_reason ? ordered_json(pipeline_.reason_name(verdict.value)) : ordered_json()},
                      {"trace", packets.trace},
                      {"tables", function.explain(chunk, 0)}};
  chunk.verdicts[0] = pipeline_.redirected(chunk.stage, verdict);
  const Verdict then = chunk.verdicts[0];
  if (then.kind == Verdict::Kind::go_to && then.value < pipeline_.stages().size()) {
    answer["go_to"] = pipeline_.stages()[then.value].name;
  }
  return answer;
}

/// Records the outputs of the packet and its copies. Invalid ports are ignored, as in the router.
void Explainer::note_outputs(Packets& packets) const {
  const Chunk& chunk = packets.chunk;
  std::size_t gone = 0;
  const auto add = [&](std::uint16_t port, const rte_mbuf& packet) {
    if (port >= ports_.size()) return;
    if (ports_[port].info.removed || !ports_[port].has_device) {
      ++gone;
      return;
    }
    const auto frame = bytes_of(packet);
    packets.sent.push_back(
        {{"port", ports_[port].info.name}, {"frame", describe_frame(frame, frame.size())}, {"hex", hex_of(frame)}});
  };
  const Replication& replication = chunk.replications[0];
  if (chunk.verdicts[0].kind == Verdict::Kind::send) {
    add(chunk.verdicts[0].value, *chunk.packets[0]);
  } else if (chunk.verdicts[0].kind == Verdict::Kind::replicate) {
    for (const std::uint16_t port : replication.ports) {
      if (port != chunk.rx_port) add(port, *chunk.packets[0]);
    }
    for (const std::uint16_t port : replication.other_ports) {
      if (port != chunk.rx_port) add(port, *replication.other);
    }
    const auto drop = [&](std::size_t copies, std::uint16_t reason) {
      if (copies > 0) packets.dropped.push_back({{"copies", copies}, {"reason", pipeline_.reason_name(reason)}});
    };
    drop(replication.dropped, replication.reason);
    drop(gone, static_cast<std::uint16_t>(RuntimeReason::port_gone));
  }
  packets.is_port_gone = gone > 0;
}

void Explainer::run_job(Chunk& chunk, const StageShader& shader) {
  CpuEngine& cpu = cpu_engine_for(shader.shader->name);
  chunk.batch.shader = cpu.shader;
  chunk.batch.table = shader.table;
  if (cpu.queue->submit(chunk.batch) != EngineQueue::Submitted::done) {
    throw std::logic_error("a CPU engine did not answer at once");
  }
}

FunctionWorker& Explainer::data_half(std::size_t stage) {
  if (functions_.empty()) functions_.resize(pipeline_.stages().size());
  if (functions_[stage] == nullptr) {
    static NullEmitter emitter;
    const WorkerContext context{
        .index = pipeline_.workers(), .count = pipeline_.workers(), .core = 0, .emitter = emitter};
    functions_[stage] = pipeline_.stages()[stage].function->open_worker(context);
  }
  return *functions_[stage];
}

Explainer::CpuEngine& Explainer::cpu_engine_for(const std::string& shader) {
  CpuEngine& own = engines_[shader];
  if (own.queue == nullptr) {
    own.engine = create_engine(engine_at_once(shader));
    own.shader = own.engine->find_shader(shader);
    own.queue = own.engine->open_queue();
  }
  return own;
}

ordered_json explain_offline(const control::RouterConfig& config, std::string_view port,
                             std::span<const std::string> arguments) {
  io::start_eal({}, 1);
  SparePipeline spare(config);
  std::vector<ExplainedPort> ports;
  ports.reserve(config.ports.size());
  for (const auto& each : config.ports) ports.push_back({.info = each.info, .twin = each.twin});
  Explainer explainer(spare.pipeline(), [](const auto& action) { action(); });
  return explainer.command(ports, port, arguments);
}

}  // namespace penumbra::runtime
