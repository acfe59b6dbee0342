// SPDX-License-Identifier: Apache-2.0
#include "runtime/trace.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "packet/mbuf_metadata.h"
#include "penumbra/errors.h"
#include "runtime/frame_text.h"
#include "runtime/in_flight_chunk.h"

namespace penumbra::runtime {
namespace {

/// Returns the time with microseconds, as is usual for captures.
std::string time_of_day() {
  const auto now = std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(now);
  return fmt::format("{:%H:%M:%S}.{:06}", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     (now - seconds).count());
}

std::string describe_packet(const rte_mbuf& packet) {
  return describe_frame({rte_pktmbuf_mtod(&packet, const std::uint8_t*), rte_pktmbuf_data_len(&packet)},
                        rte_pktmbuf_pkt_len(&packet));
}

}  // namespace

Tracer::Tracer(const Pipeline& pipeline, std::vector<std::string> ports)
    : pipeline_(pipeline), ports_(std::move(ports)) {}

Tracer::~Tracer() = default;

nlohmann::ordered_json Tracer::command(std::string_view action, std::span<const std::string> arguments) {
  if (action == "add") {
    Request request = parse_request(arguments);
    const std::lock_guard lock(mutex_);
    const std::uint64_t given_up = request_.packets;
    request_ = std::move(request);
    armed_.store(true, std::memory_order_relaxed);
    return {{"waiting_for", request_.packets}, {"replaced", given_up}};
  }
  if (action != "show" && action != "clear") {
    throw std::invalid_argument(fmt::format("trace knows add, show and clear, not '{}'", action));
  }
  if (!arguments.empty()) throw std::invalid_argument(fmt::format("trace {} takes no arguments", action));
  const std::lock_guard lock(mutex_);
  if (action == "show") return done_as_json();
  armed_.store(false, std::memory_order_relaxed);
  request_ = {};
  const std::size_t cleared = done_.size();
  done_.clear();
  parts_.clear();
  cleared_ = last_number_;
  return {{"cleared", cleared}};
}

Tracer::Request Tracer::parse_request(std::span<const std::string> arguments) const {
  static constexpr std::string_view kUsage = "trace add N [--port PORT] [--filter EXPRESSION]";
  if (arguments.empty() || arguments.size() % 2 == 0) throw std::invalid_argument(fmt::format("usage: {}", kUsage));
  Request request;
  const std::string& number = arguments[0];
  const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), request.packets);
  if (failure != std::errc{} || end != number.data() + number.size() || request.packets == 0 ||
      request.packets > kMost) {
    throw std::invalid_argument(
        fmt::format("expected a number of packets from 1 to {}, found '{}'; usage: {}", kMost, number, kUsage));
  }
  for (std::size_t at = 1; at < arguments.size(); at += 2) {
    const std::string& option = arguments[at];
    const std::string& value = arguments[at + 1];
    if (option == "--filter") {
      request.filter = std::make_unique<PacketFilter>(value);
    } else if (option == "--port") {
      const auto found = std::find(ports_.begin(), ports_.end(), value);
      if (found == ports_.end() || found->empty()) {
        throw std::invalid_argument(
            fmt::format("there is no port '{}'; {}", value, did_you_mean_or_list(value, ports_)));
      }
      request.port = static_cast<std::uint16_t>(found - ports_.begin());
    } else {
      throw std::invalid_argument(fmt::format("unknown option '{}'; usage: {}", option, kUsage));
    }
  }
  return request;
}

std::vector<PacketTrace> Tracer::select(const Chunk& chunk) {
  std::vector<PacketTrace> traces;
  const std::lock_guard lock(mutex_);
  if (request_.port && *request_.port != chunk.rx_port) return traces;
  for (std::uint16_t i = 0; i < chunk.size && request_.packets > 0; ++i) {
    const rte_mbuf* packet = chunk.packets[i];
    if (request_.filter != nullptr && !request_.filter->matches(*packet)) continue;
    --request_.packets;
    PacketTrace trace;
    trace.packet = i;
    trace.number = ++last_number_;
    trace.time = time_of_day();
    trace.worker = chunk.worker;
    trace.port = ports_[chunk.rx_port];
    trace.frame = describe_packet(*packet);
    traces.push_back(std::move(trace));
  }
  if (request_.packets == 0) armed_.store(false, std::memory_order_relaxed);
  return traces;
}

void Tracer::note_stage(const Chunk& chunk, const FunctionWorker& function, std::vector<PacketTrace>& traces) const {
  const Stage& stage = pipeline_.stages()[chunk.stage];
  for (auto& trace : traces) {
    if (!trace.undecided) continue;
    const Verdict verdict = chunk.verdicts[trace.packet];
    const Verdict redirected = pipeline_.redirected(chunk.stage, verdict);
    const std::string then = redirected == verdict ? "" : ", " + in_words(redirected);
    trace.lines.push_back(
        fmt::format("{}: {} -> {}{}", stage.name, function.trace(chunk, trace.packet), in_words(verdict), then));
    trace.undecided = redirected.kind == Verdict::Kind::pass;
  }
}

void Tracer::note_verdict(PacketTrace& trace, Verdict verdict) const {
  trace.lines.push_back(in_words(verdict));
}

PacketTrace Tracer::go_on(rte_mbuf& packet, std::uint16_t worker) {
  const PacketMetadata& journey = journey_of(packet, 0);
  PacketTrace trace;
  trace.number = journey.trace;
  trace.part = journey.trace_part;
  trace.worker = worker;
  trace.lines.push_back(fmt::format("worker {}: {}", worker, describe_packet(packet)));
  return trace;
}

void Tracer::finish(std::vector<PacketTrace>& traces) {
  const std::lock_guard lock(mutex_);
  for (auto& trace : traces) {
    if (trace.part == 0 && !trace.goes_on) {
      keep(std::move(trace));
    } else if (trace.number > cleared_) {
      add_part(std::move(trace));
    }
  }
  traces.clear();
}

/// Joins the parts of a trace when all are there. They come in any order, because each worker finishes its own chunks.
void Tracer::add_part(PacketTrace&& part) {
  const auto place = parts_.try_emplace(part.number).first;
  std::vector<PacketTrace>& parts = place->second;
  parts.push_back(std::move(part));
  std::ranges::sort(parts, {}, &PacketTrace::part);
  if (parts.back().goes_on || parts.size() != parts.back().part + 1U) return;
  PacketTrace whole = std::move(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) std::ranges::move(parts[i].lines, std::back_inserter(whole.lines));
  parts_.erase(place);
  keep(std::move(whole));
}

void Tracer::keep(PacketTrace&& trace) {
  if (done_.size() == kMost) done_.pop_front();
  done_.push_back(std::move(trace));
}

std::string Tracer::in_words(Verdict verdict) const {
  switch (verdict.kind) {
    case Verdict::Kind::pass:
      return "pass";
    case Verdict::Kind::send:
      return "send " + (verdict.value < ports_.size() && !ports_[verdict.value].empty()
                            ? ports_[verdict.value]
                            : std::to_string(verdict.value));
    case Verdict::Kind::replicate:
      return "replicate";
    case Verdict::Kind::hold:
      return verdict != kHandedOver ? "hold" : "hand over to the worker of its flow";
    case Verdict::Kind::go_to:
      return "go to " + (verdict.value < pipeline_.stages().size() ? pipeline_.stages()[verdict.value].name
                                                                   : std::to_string(verdict.value));
    case Verdict::Kind::drop:
      return "drop " + pipeline_.reason_name(verdict.value);
    case Verdict::Kind::punt:
      return "punt " + pipeline_.reason_name(verdict.value);
  }
  return "?";
}

nlohmann::ordered_json Tracer::done_as_json() const {
  auto list = nlohmann::ordered_json::array();
  for (const auto& trace : done_) {
    list.push_back({{"packet", trace.number},
                    {"time", trace.time},
                    {"worker", trace.worker},
                    {"port", trace.port},
                    {"frame", trace.frame},
                    {"lines", trace.lines}});
  }
  return list;
}

}  // namespace penumbra::runtime
