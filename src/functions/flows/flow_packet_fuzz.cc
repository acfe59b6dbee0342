// SPDX-License-Identifier: Apache-2.0
//
// Checks the parser with any bytes. The parser must not read outside of the frame, and a key must be convertible to a
// flow and back. A filter must read the same flow as accounting. The first byte limits the size of the first segment.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tables/flows/flow_packet.h"
#include "testing/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penumbra;
  using penumbra::fuzzing::require;
  if (size == 0) return 0;
  const std::size_t bytes = size - 1;
  // A copy that ends where the segment ends lets AddressSanitizer detect reads past the end.
  const std::vector<std::uint8_t> segment(data + 1, data + 1 + std::min<std::size_t>(bytes, data[0]));
  flow_key key{};
  FlowPacket packet;
  flow_key filtered{};
  std::uint32_t filtered_bytes = 0;
  FilterPart part;
  const PacketHeaders headers = parse_headers(segment.data(), segment.size(), bytes);
  const FlowFrame for_filter =
      read_for_filter(headers, segment.data(), PacketHeaders::kMostExtensions, filtered, filtered_bytes, part);
  const FlowFrame what = read_frame(headers, segment.data(), key, packet);
  // The results differ only for packets that a filter refuses and for the ports of first fragments.
  require(for_filter == what || for_filter == FlowFrame::unparsable);
  if (for_filter == FlowFrame::flow) {
    require(filtered_bytes == packet.bytes && (filtered == key || (part.is_fragment && !part.is_later_fragment)));
  }
  if (what != FlowFrame::flow) return 0;
  const Flow flow = to_flow(key);
  require(to_key(flow) == key);
  require(packet.bytes >= 20 && packet.bytes + 14 <= bytes);
  require(flow.is_ipv6 || (flow.source.high == 0 && flow.source.low >> 32 == 0));
  require(flow.protocol == 6 || packet.tcp_flags == 0);
  return 0;
}
