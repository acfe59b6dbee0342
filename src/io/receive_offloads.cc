// SPDX-License-Identifier: Apache-2.0
#include "io/receive_offloads.h"

#include <fmt/format.h>
#include <linux/ethtool.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "io/ethtool.h"

namespace penumbra::io {

/// A value that ethtool reads and writes, and its bit for the offload.
struct ReceiveOffloads::Offload {
  const char* name;
  std::uint32_t get;
  std::uint32_t set;
  std::uint32_t bit;

  std::optional<bool> read(const std::string& interface) const {
    ethtool_value value{.cmd = get, .data = 0};
    if (!ask_ethtool(interface, value)) return std::nullopt;
    return (value.data & bit) != 0;
  }

  bool write(const std::string& interface, bool on) const {
    ethtool_value value{.cmd = get, .data = 0};
    if (!ask_ethtool(interface, value)) return false;
    value.cmd = set;
    value.data = on ? value.data | bit : value.data & ~bit;
    return ask_ethtool(interface, value);
  }
};

const std::vector<ReceiveOffloads::Offload> ReceiveOffloads::kOffloads{
    {"gro", ETHTOOL_GGRO, ETHTOOL_SGRO, 1},
    {"lro", ETHTOOL_GFLAGS, ETHTOOL_SFLAGS, ETH_FLAG_LRO},
};

ReceiveOffloads::ReceiveOffloads(std::string interface) : interface_(std::move(interface)) {
  for (const Offload& offload : kOffloads) {
    if (!offload.read(interface_).value_or(false)) continue;
    if (offload.write(interface_, false)) {
      switched_off_.push_back(&offload);
    } else {
      failure_ = fmt::format(
          "{0} joins received segments ({1}: {2}), and frames longer than the MTU are lost here; ethtool -K {0} {1} "
          "off",
          interface_, offload.name, std::strerror(errno));
    }
  }
}

ReceiveOffloads::~ReceiveOffloads() {
  for (const Offload* offload : switched_off_) offload->write(interface_, true);
}

}  // namespace penumbra::io
