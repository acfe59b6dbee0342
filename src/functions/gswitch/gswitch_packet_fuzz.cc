// SPDX-License-Identifier: Apache-2.0
//
// Checks the parser with any bytes. The parser must not read outside of the frame. The text of the fields must parse to
// the same fields. A key of all fields must have the same values in OpenFlow 1.0's fields. The first byte limits the
// size of the first segment.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "control/rules/flow_syntax.h"
#include "functions/gswitch/narrow_testing.h"
#include "functions/gswitch/packet_key.h"
#include "testing/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penumbra;
  using penumbra::fuzzing::require;
  if (size == 0) return 0;
  const std::size_t bytes = size - 1;
  // A copy that ends where the segment ends lets AddressSanitizer detect reads past the end.
  const std::vector<std::uint8_t> segment(data + 1, data + 1 + std::min<std::size_t>(bytes, data[0]));
  rules_key key;
  gswitch::PacketLayers layers;
  if (!gswitch::read_packet(segment.data(), segment.size(), bytes, 5, key, layers)) {
    require(segment.size() < gswitch::kEthernetBytes + kTagBytes);
    return 0;
  }
  RuleWords words;
  std::ranges::copy(key.word, words.begin());
  const std::string file = "fuzz", text = control::rules::flow_key_text(words);
  control::Line line(&file, 1, text);
  require(control::rules::parse_flow_key(line) == words);
  SparseWords sparse;
  gswitch::PacketLayers others;
  require(gswitch::read_packet(segment.data(), segment.size(), bytes, 5, sparse, others));
  require(gswitch::testing_support::narrow(sparse) == words);
  require(others.is_tagged == layers.is_tagged && others.ipv4 == layers.ipv4 && others.tcp == layers.tcp &&
          others.udp == layers.udp && others.has_ports == layers.has_ports);
  // All headers that may be rewritten must be accessible.
  require(layers.ipv4 == 0 || layers.ipv4 + 20 <= segment.size());
  require(layers.tcp == 0 || (layers.tcp >= layers.ipv4 + 20 && layers.tcp + 20 <= segment.size()));
  require(layers.udp == 0 || (layers.udp >= layers.ipv4 + 20 && layers.udp + 8 <= segment.size()));
  require(layers.ipv4 != 0 || (layers.tcp == 0 && layers.udp == 0));
  require(!layers.has_ports || layers.tcp + layers.udp != 0);
  return 0;
}
