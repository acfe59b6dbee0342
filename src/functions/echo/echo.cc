// SPDX-License-Identifier: Apache-2.0
//
// Sends each frame out of port `X mod P` (Echo in G-Opt, NSDI 2015, section 4). X is a 32-bit integer of the payload,
// and P is the number of ports. The function only exchanges the MAC addresses of the frame, so that a benchmark
// measures the cost of everything else.
#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "penumbra/lookup_function.h"
#include "tables/echo/echo.shader.h"

namespace penumbra::echo {
namespace {

enum : std::uint16_t { kTruncated };

/// The default offset of the integer follows the Ethernet, IPv4 and UDP headers.
constexpr std::uint64_t kDefaultOffset = 14 + 20 + 8;
constexpr std::uint64_t kMostOffset = 9000;

std::uint64_t read_offset(const ConfigNode& config) {
  config.require_map({"offset", "engine"});
  const ConfigNode node = config.get("offset");
  return node.present() ? node.integer(0, kMostOffset) : kDefaultOffset;
}

class Echo final : public LookupFunction {
 public:
  Echo(std::uint32_t offset, std::uint32_t ports)
      : offset_(offset),
        least_bytes_(std::max<std::size_t>(offset + sizeof(std::uint32_t), RTE_ETHER_HDR_LEN)),
        view_{ports},
        table_("echo") {
    table_.publish(view_, {});
  }

  const std::vector<Reason>& reasons() const override {
    static const std::vector<Reason> kReasons{
        {"truncated", Verdict::Kind::drop,
         "the frame ends within its MAC header or the integer that chooses the port"}};
    return kReasons;
  }
  std::string shader() const override { return "echo"; }
  Table* table() override { return &table_; }
  void bind(std::span<const PortInfo> ports) override {
    view_.ports = static_cast<std::uint32_t>(ports.size());
    table_.publish(view_, {});
  }

  void pre_shade(Chunk& chunk) noexcept override {
    auto* integers = chunk.columns.take<std::uint32_t>(Chunk::kCapacity);
    std::uint32_t items = 0;
    for (std::uint16_t i = 0; i < chunk.size; ++i) {
      if (chunk.verdicts[i].kind != Verdict::Kind::pass) continue;
      const rte_mbuf* packet = chunk.packets[i];
      if (packet->pkt_len < least_bytes_ || packet->data_len < RTE_ETHER_HDR_LEN) {
        chunk.verdicts[i] = drop(kTruncated);
        continue;
      }
      std::uint32_t integer = 0, in_segments = 0;
      std::memcpy(&integer, rte_pktmbuf_read(packet, offset_, sizeof integer, &in_segments), sizeof integer);
      integers[items] = rte_be_to_cpu_32(integer);
      chunk.packet_of_item[items++] = static_cast<std::uint8_t>(i);
    }
    chunk.batch.items = items;
    chunk.batch.inputs[0] = integers;
    chunk.batch.outputs[0] = chunk.columns.take<std::uint16_t>(Chunk::kCapacity);
  }

  void post_shade(Chunk& chunk) noexcept override {
    const auto* ports = static_cast<const std::uint16_t*>(chunk.batch.outputs[0]);
    for (std::uint32_t item = 0; item < chunk.batch.items; ++item) {
      const std::uint8_t i = chunk.packet_of_item[item];
      auto* ethernet = rte_pktmbuf_mtod(chunk.packets[i], rte_ether_hdr*);
      std::swap(ethernet->src_addr, ethernet->dst_addr);
      chunk.verdicts[i] = Verdict::send(ports[item]);
    }
  }

  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override {
    if (dynamic_cast<const Echo&>(next).offset_ != offset_) throw config.error("another offset takes a restart");
    return {};
  }
  void exchange(Function& /*next*/) override {}

  std::string trace(const Chunk& chunk, std::uint16_t packet) const override {
    const Verdict verdict = chunk.verdicts[packet];
    return verdict.kind == Verdict::Kind::send ? "port " + std::to_string(verdict.value) : "too short";
  }

 private:
  std::uint32_t offset_;
  std::size_t least_bytes_;  ///< minimum size of a frame, bytes: both MAC addresses and the integer
  echo_view view_;
  Table table_;
};

std::unique_ptr<Function> create(const ConfigNode& config, const FunctionContext& context) {
  return std::make_unique<Echo>(static_cast<std::uint32_t>(read_offset(config)),
                                static_cast<std::uint32_t>(context.ports.size()));
}

[[maybe_unused]] const bool kRegistered =
    register_function({.name = "echo",
                       .summary = "sends each frame out of the port that an integer of its payload names",
                       .topics = {},
                       .create = create,
                       .passes_on = PassesOn::nothing});

}  // namespace
}  // namespace penumbra::echo
