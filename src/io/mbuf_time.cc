// SPDX-License-Identifier: Apache-2.0
#include "io/mbuf_time.h"

#include <fmt/format.h>
#include <rte_errno.h>

#include <stdexcept>

namespace penumbra::io {

MbufTime::MbufTime() {
  if (rte_mbuf_dyn_rx_timestamp_register(&offset_, &flag_) != 0) {
    throw std::runtime_error(fmt::format("DPDK has no room for packets' timestamps: {}", rte_strerror(rte_errno)));
  }
}

}  // namespace penumbra::io
