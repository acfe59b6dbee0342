// SPDX-License-Identifier: Apache-2.0
//
// Shows routes, neighbours and sources. If a feed fills the table, all routes of the feed are shown, including inactive
// routes.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "functions/forwarding/tables.h"
#include "penumbra/function.h"

namespace penumbra::forwarding {

/// Implements Function::show(). Lists followed IPv6 neighbours of an IPv4 function too, unless `leaves_ipv6`: another
/// function then forwards IPv6.
template <ForwardingFamily Family>
nlohmann::ordered_json show(const Tables<Family>& tables, std::string_view topic,
                            std::span<const std::string> arguments, bool leaves_ipv6);

/// Implements Function::explain().
template <ForwardingFamily Family>
nlohmann::ordered_json explain(const Tables<Family>& tables, const Chunk& chunk, std::uint16_t packet);

}  // namespace penumbra::forwarding
