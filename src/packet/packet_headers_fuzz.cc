// SPDX-License-Identifier: Apache-2.0
//
// Checks the parser with any bytes. It must agree with the oracle, read nothing outside of the accessible bytes, and
// give the same headers for a packet in two segments. The first byte limits the size of the first segment.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "packet/mbuf.h"
#include "packet/oracle.h"
#include "testing/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penumbra;
  using fuzzing::require;
  if (size == 0) return 0;
  // Copies that end where the segments end let AddressSanitizer detect reads past the end.
  std::vector<std::uint8_t> frame(data + 1, data + size);
  const auto cut = static_cast<std::ptrdiff_t>(std::min<std::size_t>(frame.size(), data[0]));
  std::vector<std::uint8_t> first(frame.begin(), frame.begin() + cut), rest(frame.begin() + cut, frame.end());
  const PacketHeaders whole = parse_headers(frame.data(), frame.size(), frame.size());
  require(packet_oracle::facts_of(whole) == packet_oracle::Oracle(frame).facts());
  require(whole.end <= frame.size() && whole.payload <= whole.end);
  const PacketHeaders part = parse_headers(first.data(), first.size(), frame.size());
  require(part.fault == HeaderFault::not_accessible || part == whole);

  rte_mbuf segments[2]{};
  segments[0].buf_addr = first.data();
  segments[0].data_len = static_cast<std::uint16_t>(first.size());
  segments[0].pkt_len = static_cast<std::uint32_t>(frame.size());
  segments[0].nb_segs = 2;
  segments[0].next = &segments[1];
  segments[1].buf_addr = rest.data();
  segments[1].data_len = static_cast<std::uint16_t>(rest.size());
  PacketHeaders chain = parse_headers(segments[0]);
  chain.flags = static_cast<std::uint16_t>(chain.flags & ~PacketHeaders::kScattered);
  require(chain == whole);
  return 0;
}
