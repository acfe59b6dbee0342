// SPDX-License-Identifier: Apache-2.0
//
// Joins the fragments of a datagram, so that later functions see whole packets. See docs/functions/reassembly.md.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "functions/reassembly/settings.h"
#include "packet/checksum.h"
#include "packet/fragment_chain.h"
#include "packet/mbuf_metadata.h"
#include "penumbra/function.h"
#include "penumbra/per_worker.h"

namespace penumbra::reassembly {
namespace {

/// Index of the only reason that is no ReassemblyReason. The others have their enumerators' values.
constexpr std::uint16_t kBadChecksum = static_cast<std::uint16_t>(ReassemblyReason::none);

constexpr std::array<const char*, kReassemblyReasons> kHelp{
    "a fragment whose IPv4 header has a wrong checksum",
    "a packet with a fragment header that the router does not reach",
    "an IP header that contradicts itself or the frame",
    "a fragment without payload, or one that is not the last and no multiple of 8 bytes long",
    "a fragment that ends after the longest possible datagram",
    "a fragment that is not the last and shorter than least_payload",
    "the first fragment of IPv6 does not have all headers (RFC 7112)",
    "another packet shares the fragment's memory",
    "the same fragment a second time",
    "other fragments give all its bytes, by the policy",
    "its datagram has overlapping fragments, and the policy is to drop it (IPv6: RFC 5722)",
    "the fragments of its datagram disagree on the datagram's end",
    "its datagram has more parts than `fragments`",
    "a fragment of its datagram has CE, and another is not ECN-capable (RFC 3168)",
    "its datagram is longer than an IP packet can be",
    "its datagram was not complete in time",
    "evicted: the oldest datagram when too many were incomplete",
    "evicted: the oldest datagram when `memory` was used up, or one that takes all of it",
    "no memory for a copy that an overlap requires",
    "its datagram was incomplete when the router stopped"};

enum Count : std::uint8_t { kFragments, kDatagrams, kOverlaps, kConflicts, kHeld, kIncomplete, kMemory, kCounts };
using WorkerCounts = std::array<Counter, kCounts>;

/// True for a packet that is a part of a datagram or has an IPv6 fragment header.
bool has_fragment_fields(const PacketHeaders& headers) {
  return headers.has(PacketHeaders::kFragment) || (headers.extensions & ipv6_extension::kFragmentBit) != 0;
}

class ReassemblyFunction final : public Function {
 public:
  ReassemblyFunction(Settings settings, const FunctionContext& context)
      : settings_(std::move(settings)),
        key_(random_siphash_key()),
        grace_periods_(context.grace_periods),
        policies_(std::make_unique<const Policies>(settings_.policies)),
        current_policies_(policies_.get()),
        counts_(context.workers) {}

  const std::vector<Reason>& reasons() const override {
    static const std::vector<Reason> kReasons = [] {
      std::vector<Reason> reasons{{"bad_checksum", Verdict::Kind::drop, kHelp[kBadChecksum]}};
      for (std::size_t i = 1; i < kReassemblyReasons; ++i) {
        reasons.push_back({std::string(to_string(static_cast<ReassemblyReason>(i))), Verdict::Kind::drop, kHelp[i]});
      }
      return reasons;
    }();
    return kReasons;
  }
  void bind(std::span<const PortInfo> /*ports*/) override {}
  std::unique_ptr<FunctionWorker> open_worker(const WorkerContext& context) override;
  std::size_t most_held() const override { return settings_.memory / kLeastBytesOfFragment; }

  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override {
    const Settings& other = dynamic_cast<const ReassemblyFunction&>(next).settings_;
    if (other.memory != settings_.memory || other.limits != settings_.limits || other.to != settings_.to) {
      throw config.error("other limits or destinations of reassembly take a restart");
    }
    if (other.policies == settings_.policies) return {};
    return {fmt::format("policies: {}, were {}", other.policies.text(), settings_.policies.text())};
  }
  /// Exchanges the policies.
  void exchange(Function& next) override {
    auto& other = dynamic_cast<ReassemblyFunction&>(next);
    std::swap(settings_.policies, other.settings_.policies);
    auto policies = std::make_unique<const Policies>(settings_.policies);
    current_policies_.store(policies.get(), std::memory_order_release);
    grace_periods_.elapsed(grace_periods_.start(), true);
    policies_ = std::move(policies);
  }

  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override {
    if (topic != "reassembly") {
      throw std::invalid_argument("there is nothing to show under '" + std::string(topic) + "'");
    }
    if (!arguments.empty()) throw std::invalid_argument("reassembly takes no arguments");
    return {{"fragments", sum(kFragments)},
            {"datagrams", sum(kDatagrams)},
            {"with_overlap", sum(kOverlaps)},
            {"with_conflict", sum(kConflicts)},
            {"held_fragments", sum(kHeld)},
            {"incomplete_datagrams", sum(kIncomplete)},
            {"memory", sum(kMemory)},
            {"most_memory", settings_.memory},
            {"timeout", fmt::format("{}", std::chrono::milliseconds(settings_.limits.timeout / 1'000'000))},
            {"policies", settings_.policies.text()}};
  }
  std::vector<FunctionMetric> metrics() const override {
    constexpr auto kGauge = FunctionMetric::Kind::gauge;
    return {{.name = "reassembly_fragments", .help = "Fragments received.", .value = sum(kFragments)},
            {.name = "reassembly_datagrams", .help = "Datagrams completed.", .value = sum(kDatagrams)},
            {.name = "reassembly_overlaps",
             .help = "Completed datagrams whose fragments overlapped or were repeated.",
             .value = sum(kOverlaps)},
            {.name = "reassembly_conflicts",
             .help = "Completed datagrams whose overlapping fragments had different bytes.",
             .value = sum(kConflicts)},
            {.name = "reassembly_held_fragments",
             .help = "Fragments that wait for the rest of their datagrams.",
             .kind = kGauge,
             .value = sum(kHeld)},
            {.name = "reassembly_memory_bytes",
             .help = "Memory of tables and held fragments.",
             .kind = kGauge,
             .value = sum(kMemory)}};
  }

  const ReassemblyLimits& limits() const { return settings_.limits; }
  const Destinations& to() const { return settings_.to; }
  const SipHashKey& key() const { return key_; }
  const Policies& policies() const { return *current_policies_.load(std::memory_order_acquire); }
  WorkerCounts& counts_of(std::size_t worker) { return counts_.of(worker); }

 private:
  /// A held fragment takes at least this memory, because no packet pool has smaller buffers.
  static constexpr std::size_t kLeastBytesOfFragment = RTE_MBUF_DEFAULT_BUF_SIZE;

  std::uint64_t sum(Count count) const {
    std::uint64_t sum = 0;
    for (const auto& line : counts_) sum += line.part[count].get();
    return sum;
  }

  Settings settings_;
  const SipHashKey key_;
  GracePeriods& grace_periods_;
  std::unique_ptr<const Policies> policies_;
  std::atomic<const Policies*> current_policies_;
  PerWorker<WorkerCounts> counts_;
};

class ReassemblyWorker final : public FunctionWorker {
 public:
  ReassemblyWorker(ReassemblyFunction& function, const WorkerContext& context)
      : function_(function), emitter_(context.emitter) {
    if (context.pool == nullptr) return;
    reassembly_ = std::make_unique<Reassembly>(function.limits(), function.key(), *context.pool);
    counts_ = &function.counts_of(context.index);
    note_use();
  }

  void process(Chunk& chunk) noexcept override {
    const Policies& policies = function_.policies();
    bool any = false;
    completed_ = 0;
    for (std::uint16_t i = 0; i < chunk.size; ++i) {
      if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
      const PacketHeaders& headers = headers_of(*chunk.packets[i]);
      if (!has_fragment_fields(headers)) [[likely]]
        continue;
      if (!function_.to().is_all() && !is_chosen(*chunk.packets[i], headers)) continue;
      add(chunk, i, headers, policies);
      any = true;
    }
    if (any && reassembly_ != nullptr) note_use();
  }

  std::uint64_t tick(std::uint64_t now) noexcept override {
    constexpr std::uint64_t kInterval = 10'000'000;  // nanoseconds
    if (reassembly_->datagrams() == 0) return kNever;
    reassembly_->expire(now, hand_back_);
    note_use();
    return now + kInterval;
  }
  bool finish() noexcept override {
    reassembly_->flush(hand_back_);
    note_use();
    return true;
  }

  std::string trace(const Chunk& chunk, std::uint16_t packet) const override {
    switch (chunk.verdicts[packet].kind) {
      case Verdict::Kind::hold:
        if (chunk.verdicts[packet].value != 0) return "completes a datagram";
        return "a fragment that waits for the rest of its datagram";
      case Verdict::Kind::drop:
        return "a fragment that cannot be used";
      default:
        return (completed_ >> packet & 1) != 0 ? "completes a datagram" : "goes on unchanged";
    }
  }
  nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const override {
    if (chunk.verdicts[packet].kind != Verdict::Kind::hold) return nlohmann::ordered_json::object();
    rte_mbuf& fragment = *chunk.packets[packet];
    const PacketHeaders& headers = headers_of(fragment);
    nlohmann::ordered_json explained{{"offset", headers.fragment_offset},
                                     {"more_fragments", headers.has(PacketHeaders::kMoreFragments)}};
    if (headers.has(PacketHeaders::kIpv4)) {
      explained["policy"] = to_string(policy_of(fragment, headers, function_.policies()));
    }
    return explained;
  }

 private:
  static constexpr std::uint32_t kDestinationAt = 16, kIpv6DestinationAt = 24;

  /// True for a fragment to one of the destinations that the configuration names.
  bool is_chosen(const rte_mbuf& packet, const PacketHeaders& headers) const noexcept {
    if (headers.has(PacketHeaders::kIpv6)) {
      std::array<std::uint8_t, 16> destination{};
      return read_chain(packet, headers.network + kIpv6DestinationAt, destination) &&
             function_.to().contains(
                 Ipv6Address{load_be64(destination.data()), load_be64(destination.data() + sizeof(std::uint64_t))});
    }
    std::array<std::uint8_t, 4> destination{};
    return read_chain(packet, headers.network + kDestinationAt, destination) &&
           function_.to().contains(Ipv4Address{load_be32(destination.data())});
  }

  static OverlapPolicy policy_of(const rte_mbuf& packet, const PacketHeaders& headers, const Policies& policies) {
    std::array<std::uint8_t, 4> destination{};
    if (!headers.has(PacketHeaders::kIpv4) || !read_chain(packet, headers.network + kDestinationAt, destination)) {
      return OverlapPolicy::drop;
    }
    return policies.of({load_be32(destination.data())});
  }

  static bool has_wrong_checksum(const rte_mbuf& packet, const PacketHeaders& headers) {
    return headers.has(PacketHeaders::kIpv4) && headers.transport > headers.network &&
           !is_right_sum(ones_sum(packet, headers.network, std::size_t{headers.transport} - headers.network));
  }

  void add(Chunk& chunk, std::uint16_t index, const PacketHeaders& headers, const Policies& policies) noexcept {
    rte_mbuf& packet = *chunk.packets[index];
    if (has_wrong_checksum(packet, headers)) {
      chunk.verdicts[index] = function_.drop(kBadChecksum);
      return;
    }
    if (reassembly_ == nullptr) {
      emitter_.hold(chunk, index);
      return;
    }
    (*counts_)[kFragments].add(1);
    const PacketHeaders parsed = headers;
    const ReassemblyResult result =
        reassembly_->add(packet, parsed, chunk.now, policy_of(packet, parsed, policies), hand_back_);
    switch (result.kind) {
      case ReassemblyResult::Kind::refused:
        chunk.verdicts[index] = function_.drop(static_cast<std::uint16_t>(result.reason));
        break;
      case ReassemblyResult::Kind::held:
        emitter_.hold(chunk, index);
        break;
      case ReassemblyResult::Kind::completed:
        (*counts_)[kDatagrams].add(1);
        completed_ |= std::uint64_t{1} << index;
        if (result.had_overlap) (*counts_)[kOverlaps].add(1);
        if (result.had_conflict) (*counts_)[kConflicts].add(1);
        emitter_.replace(chunk, index, result.packet, result.fragments - std::size_t{1});
        break;
    }
  }

  void note_use() noexcept {
    (*counts_)[kHeld].set(reassembly_->held());
    (*counts_)[kIncomplete].set(reassembly_->datagrams());
    (*counts_)[kMemory].set(reassembly_->memory());
  }

  struct Dropper {
    ReassemblyWorker* worker;
    void operator()(rte_mbuf* fragment, ReassemblyReason reason) const {
      worker->emitter_.release(fragment, worker->function_.drop(static_cast<std::uint16_t>(reason)));
    }
  };

  ReassemblyFunction& function_;
  Emitter& emitter_;
  std::unique_ptr<Reassembly> reassembly_;  ///< Null in a dry run.
  WorkerCounts* counts_ = nullptr;          ///< Null in a dry run.
  std::uint64_t completed_ = 0;             ///< A bit for each packet of the last chunk that completed a datagram.
  Dropper dropper_{this};
  HandBack hand_back_{dropper_};
};

std::unique_ptr<FunctionWorker> ReassemblyFunction::open_worker(const WorkerContext& context) {
  return std::make_unique<ReassemblyWorker>(*this, context);
}

std::unique_ptr<Function> create(const ConfigNode& config, const FunctionContext& context) {
  return std::make_unique<ReassemblyFunction>(read_settings(config, context.workers), context);
}

[[maybe_unused]] const bool kRegistered = register_function(
    {.name = "reassembly",
     .summary = "joins fragments, so that later functions see whole IPv4 and IPv6 packets",
     .topics = {{"reassembly", "fragments and datagrams: how many came, were completed, and wait", {}}},
     .create = create,
     .has_ticks = true,
     .creates_packets = true,
     .hands_over = true});

}  // namespace
}  // namespace penumbra::reassembly
