// SPDX-License-Identifier: Apache-2.0
#include "runtime/packet_filter.h"

#include <fmt/format.h>
#include <pcap/pcap.h>
#include <rte_mbuf.h>

#include <stdexcept>

namespace penumbra::runtime {

PacketFilter::PacketFilter(const std::string& expression) : program_(std::make_unique<bpf_program>()) {
  constexpr int kSnapshot = 65535;
  const std::unique_ptr<pcap_t, decltype(&pcap_close)> pcap(pcap_open_dead(DLT_EN10MB, kSnapshot), &pcap_close);
  if (pcap_compile(pcap.get(), program_.get(), expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) {
    throw std::invalid_argument(fmt::format("filter '{}': {}", expression, pcap_geterr(pcap.get())));
  }
}

PacketFilter::~PacketFilter() {
  pcap_freecode(program_.get());
}

bool PacketFilter::matches(const rte_mbuf& packet) const noexcept {
  pcap_pkthdr header{};
  header.caplen = rte_pktmbuf_data_len(&packet);
  header.len = rte_pktmbuf_pkt_len(&packet);
  return pcap_offline_filter(program_.get(), &header, rte_pktmbuf_mtod(&packet, const u_char*)) != 0;
}

}  // namespace penumbra::runtime
