// SPDX-License-Identifier: Apache-2.0
//
// Checks that the parser and the oracle give the same result for any bytes, and that a forwarded header stays valid.
// The first byte selects whether the port is promiscuous and whether the checksum is corrected. Without the correction
// the fuzzer would rarely pass the checksum.
#include <cstddef>
#include <cstdint>

#include "functions/ipv4/header.h"
#include "functions/ipv4/oracle.h"
#include "testing/fuzzing.h"

namespace {

using penumbra::fuzzing::require;

constexpr penumbra::MacAddress kMac{0x020000000001};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penumbra::ipv4;
  if (size == 0) return 0;
  const bool promiscuous = (data[0] & 1) != 0;
  oracle::Bytes frame(data + 1, data + size);
  if ((data[0] & 2) != 0 && frame.size() >= kEthernetBytes + kHeaderBytes) oracle::fix_checksum(frame);
  const auto wanted = oracle::objection(frame, kMac.value, promiscuous);
  const Outcome found =
      inspect(frame.data(), frame.size(), frame.size(), penumbra::ipv4::StationFilter(kMac, promiscuous));
  require((found == Outcome::forward) == !wanted.has_value());
  if (wanted) {
    require(outcome_reasons()[static_cast<std::size_t>(found)].name == *wanted);
  } else if (frame[22] > 1) {
    const oracle::Bytes expected = oracle::forwarded(frame, oracle::mac(frame, 0), oracle::mac(frame, 6), frame.size());
    decrement_ttl(frame.data() + kEthernetBytes);
    require(frame == expected);
  }
  return 0;
}
