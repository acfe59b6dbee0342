// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "control/xfrm/model.h"

namespace penumbra::ipsec {

/// The fields of a packet that selectors compare. Ports are the type and code of ICMP.
struct Flow {
  control::xfrm::Address source, destination;
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint16_t family = 0;
  std::uint8_t protocol = 0;
  bool has_ports = true;  ///< False for later fragments, whose ports nobody knows.
  /// `if_id` of the policies that apply: that of the interface the packet entered, or of the SA that opened it.
  std::uint32_t interface_id = 0;

  bool operator==(const Flow&) const = default;
};

}  // namespace penumbra::ipsec
