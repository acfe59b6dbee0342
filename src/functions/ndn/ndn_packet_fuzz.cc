// SPDX-License-Identifier: Apache-2.0
//
// Checks the parser with any bytes; the first byte selects padding. All parsed parts must be within the packet. The
// packet that this forwarder writes must parse to the same parts, with a Nonce added if there was none.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "functions/ndn/lp_header.h"
#include "functions/ndn/name_uri.h"
#include "functions/ndn/nonce.h"
#include "functions/ndn/packet.h"
#include "testing/fuzzing.h"

namespace {

using penumbra::fuzzing::require;
using penumbra::ndn::Bytes;

void require_within(Bytes part, Bytes whole) {
  require(part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penumbra::ndn;
  if (size == 0 || size > 9000) return 0;
  const bool padded = (data[0] & 1) != 0;
  const std::vector<std::uint8_t> bytes(data + 1, data + size);
  NdnPacket packet;
  if (parse_packet(bytes, padded, packet) != PacketFault::none) return 0;
  for (const Bytes part : {packet.network, packet.name, packet.token}) require_within(part, bytes);
  require_within(packet.name, packet.network);
  const std::string uri = to_uri(packet.name);
  require(std::ranges::equal(as_bytes(parse_name_uri(uri)), packet.name));

  const bool is_nack = packet.kind == PacketKind::nack;
  const LpHeader header(packet.token, is_nack ? std::optional(packet.nack_reason) : std::nullopt,
                        packet.network.size());
  std::vector<std::uint8_t> written(header.bytes().begin(), header.bytes().end());
  written.insert(written.end(), packet.network.begin(), packet.network.end());
  NdnPacket again;
  require(parse_packet(written, false, again) == PacketFault::none);
  require(again.kind == packet.kind && again.nack_reason == packet.nack_reason);
  require(std::ranges::equal(again.network, packet.network) && std::ranges::equal(again.name, packet.name));
  require(std::ranges::equal(again.token, packet.token));
  require((again.hop_limit == nullptr) == (packet.hop_limit == nullptr));
  require(is_localhost(again.name) == is_localhost(packet.name));
  require((again.nonce_place == nullptr) == (packet.nonce_place == nullptr));
  if (packet.kind != PacketKind::interest || packet.nonce_place == nullptr || packet.network.size() > 8000) return 0;

  std::vector<std::uint8_t> roomy(kMostNonceGrowth);
  roomy.insert(roomy.end(), packet.network.begin(), packet.network.end());
  NdnPacket complete;
  require(parse_packet(Bytes(roomy).subspan(kMostNonceGrowth), false, complete) == PacketFault::none);
  const std::size_t growth = nonce_growth(complete);
  add_nonce(complete, 1);
  require(growth <= kMostNonceGrowth && complete.network.size() == packet.network.size() + growth);
  require_within(complete.network, roomy);
  require(parse_packet(complete.network, false, again) == PacketFault::none && again.nonce_place == nullptr);
  require(std::ranges::equal(again.name, packet.name));
  return 0;
}
