// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a frame: what is read of it lies within it, a key says the same as the flow that it was made of, and a
// filter takes no packet for another flow's than accounting does. The first byte says how much of the frame lies in its
// first segment.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tables/flows/flow_packet.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penumbra;
  if (size == 0) return 0;
  const std::size_t bytes = size - 1;
  // A copy that ends where the segment does, for AddressSanitizer.
  const std::vector<std::uint8_t> segment(data + 1, data + 1 + std::min<std::size_t>(bytes, data[0]));
  flow_key key{};
  FlowPacket packet;
  flow_key filtered{};
  std::uint32_t filtered_bytes = 0;
  FilterPart part;
  const FlowFrame for_filter =
      read_for_filter(segment.data(), segment.size(), bytes, Ipv6Chain::kMostHeaders, filtered, filtered_bytes, part);
  const FlowFrame what = read_frame(segment.data(), segment.size(), bytes, key, packet);
  // They differ in what a filter does not take, and in the ports of first fragments.
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
