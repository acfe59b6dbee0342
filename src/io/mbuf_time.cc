// SPDX-License-Identifier: Apache-2.0
#include "io/mbuf_time.h"

#include <fmt/format.h>
#include <rte_errno.h>

#include <stdexcept>

namespace penumbra::io {
namespace {

constexpr rte_mbuf_dynfield kField{
    .name = "penumbra_captured_at", .size = sizeof(std::uint64_t), .align = alignof(std::uint64_t), .flags = 0};
constexpr rte_mbuf_dynflag kFlag{.name = "penumbra_captured_at", .flags = 0};

/// Returns a field's offset or a flag's bit number. Throws std::runtime_error if DPDK had no room.
int require(int place) {
  if (place < 0) {
    throw std::runtime_error(fmt::format("DPDK has no room for packets' timestamps: {}", rte_strerror(rte_errno)));
  }
  return place;
}

}  // namespace

// Registering the same field again returns the same offset.
MbufTime::MbufTime()
    : offset_(require(rte_mbuf_dynfield_register(&kField))),
      flag_(std::uint64_t{1} << require(rte_mbuf_dynflag_register(&kFlag))) {}

}  // namespace penumbra::io
