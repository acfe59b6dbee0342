// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

struct bpf_program;
struct rte_mbuf;

namespace penumbra::runtime {

/// A compiled pcap filter expression (pcap-filter(7)) over Ethernet frames.
class PacketFilter {
 public:
  /// Throws std::invalid_argument with the expression and what libpcap says of it.
  explicit PacketFilter(const std::string& expression);
  PacketFilter(const PacketFilter&) = delete;
  PacketFilter& operator=(const PacketFilter&) = delete;
  ~PacketFilter();

  /// Looks at the packet's first segment, which has the headers. Any number of threads at once.
  bool matches(const rte_mbuf& packet) const noexcept;

 private:
  std::unique_ptr<bpf_program> program_;
};

}  // namespace penumbra::runtime
