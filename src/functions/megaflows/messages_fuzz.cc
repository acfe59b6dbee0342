// SPDX-License-Identifier: Apache-2.0
//
// Reads any bytes as a message of a client, and as a packet. A request that is right is equal to what its own message
// says, and its match and actions are equal to their text. The key of a packet is read from its own bytes only, and the
// headers that may be rewritten lie within them.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "functions/megaflows/messages.h"
#include "packet/packet_key.h"
#include "testing/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penumbra;
  using namespace penumbra::megaflows;
  using namespace penumbra::packet_fields;
  using penumbra::fuzzing::require;
  if (size == 0) return 0;
  // A copy that ends where the bytes end lets AddressSanitizer detect reads past the end.
  const std::vector<std::uint8_t> bytes(data + 1, data + size);
  if (data[0] % 2 == 0) {
    const auto request = read_request(std::as_bytes(std::span(bytes)));
    if (!request || request->error != 0) return 0;
    require(read_request(write_request(*request)) == request);
    require(parse_actions(actions_text(request->actions)) == request->actions);
    for (std::size_t i = 0; i < kFields; ++i) {
      const auto field = static_cast<Field>(i);
      const Number value = get(request->match.value, field), mask = get(request->match.mask, field);
      const auto read = parse_field(field, field_text(field, value, mask));
      require(read && read->value == value && read->mask == mask);
    }
    return 0;
  }
  SparseWords key;
  PacketLayers layers;
  // The first segment may be shorter than the packet.
  const std::size_t more = data[0] / 2 * std::size_t{16};
  if (read_packet(bytes.data(), bytes.size(), bytes.size() + more, 5, key, layers) == Reading::runt) return 0;
  const SparseWords bits = field_bits();
  for (std::size_t word = 0; word < key.size(); ++word) require((key[word] & ~bits[word]) == 0);
  const bool is_icmp = layers.protocol == ip_protocol::kIcmpv6;  // Its checksum is in the first 4 bytes.
  const bool is_sctp = layers.protocol == ip_protocol::kSctp;
  const std::size_t transport = layers.protocol == ip_protocol::kTcp ? 20 : is_sctp ? 12 : is_icmp ? 4 : 8;
  require(layers.network == 0 || layers.network + (layers.is_ipv4 ? 20U : 40U) <= bytes.size());
  require(layers.transport == 0 || (layers.network != 0 && layers.transport + transport <= bytes.size()));
  return 0;
}
