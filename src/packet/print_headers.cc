// SPDX-License-Identifier: Apache-2.0
//
// Prints the headers of all frames of a capture, a line each, for tests/test_parser_tshark.py. A field that the frame
// does not have is empty.
#include <pcap/pcap.h>

#include <array>
#include <cstdio>

#include "packet/parse.h"

namespace penumbra {
namespace {

void print_bytes(const std::uint8_t* bytes, unsigned count) {
  for (unsigned i = 0; i < count; ++i) std::printf("%02x", bytes[i]);
}

void print_addresses(const PacketHeaders& headers, const std::uint8_t* frame) {
  const bool is_ipv4 = headers.has(PacketHeaders::kIpv4);
  const unsigned bytes = is_ipv4 ? 4 : 16;
  const std::uint8_t* const addresses = frame + headers.network + (is_ipv4 ? 12 : 8);
  std::printf("%u\t", headers.network);
  print_bytes(addresses, bytes);
  std::printf("\t");
  print_bytes(addresses + bytes, bytes);
}

void print(const PacketHeaders& headers, const std::uint8_t* frame) {
  std::printf("%u\t", static_cast<unsigned>(headers.fault));
  if (headers.network != 0) std::printf("%u", headers.ethertype);
  std::printf("\t%u\t", headers.tags);
  if (headers.tags != 0) std::printf("%u", headers.tci);
  std::printf("\t");
  if (headers.is_ip()) {
    print_addresses(headers, frame);
  } else {
    std::printf("\t\t");
  }
  std::printf("\t");
  const bool has_transport = !headers.is_unparsable() || headers.fault >= HeaderFault::transport_cut;
  if (headers.is_ip() && has_transport) {
    std::printf("%u\t%u\t%u", headers.protocol, headers.transport, headers.end);
  } else {
    std::printf("\t\t");
  }
  std::printf("\t");
  if (headers.has(PacketHeaders::kFragment)) {
    std::printf("%u%s", headers.fragment_offset, headers.has(PacketHeaders::kMoreFragments) ? "+" : "");
  }
  std::printf("\t");
  if (headers.has(PacketHeaders::kPorts)) std::printf("%u,%u", headers.source_port, headers.destination_port);
  if (headers.has(PacketHeaders::kIcmp)) std::printf("%u,%u", headers.icmp_type, headers.icmp_code);
  std::printf("\t");
  if (headers.protocol == ip_protocol::kTcp && headers.payload > headers.transport) std::printf("%u", headers.payload);
  std::printf("\n");
}

}  // namespace
}  // namespace penumbra

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: print_headers CAPTURE\n");
    return 2;
  }
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  pcap_t* const capture = pcap_open_offline(argv[1], error.data());
  if (capture == nullptr) {
    std::fprintf(stderr, "%s\n", error.data());
    return 1;
  }
  pcap_pkthdr* record = nullptr;
  const std::uint8_t* frame = nullptr;
  while (pcap_next_ex(capture, &record, &frame) == 1) {
    penumbra::print(penumbra::parse_headers(frame, record->caplen, record->caplen), frame);
  }
  pcap_close(capture);
  return 0;
}
