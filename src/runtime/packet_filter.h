// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

struct bpf_program;
struct rte_mbuf;

namespace penumbra::runtime {

/// Filters Ethernet frames by a compiled pcap expression (pcap-filter(7)).
class PacketFilter {
 public:
  /// Compiles the expression. Throws std::invalid_argument with the expression and libpcap's message.
  explicit PacketFilter(const std::string& expression);
  PacketFilter(const PacketFilter&) = delete;
  PacketFilter& operator=(const PacketFilter&) = delete;
  ~PacketFilter();

  /// Returns true if the packet's first segment, which has the headers, matches. Any number of threads may call it.
  bool matches(const rte_mbuf& packet) const noexcept;

 private:
  std::unique_ptr<bpf_program> program_;
};

}  // namespace penumbra::runtime
