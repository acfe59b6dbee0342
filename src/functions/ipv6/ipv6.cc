// SPDX-License-Identifier: Apache-2.0
#include "functions/ipv6/ipv6.h"

#include "base/row_limit.h"
#include "functions/forwarding/commands.h"

namespace penumbra::ipv6 {
namespace {

[[maybe_unused]] const bool kRegistered =
    register_function({.name = "ipv6",
                       .summary = "forwards IPv6 packets by longest prefix (RFC 8200)",
                       .topics = {{"routes",
                                   "[PREFIX|ADDRESS|all]: the routes, and which of them count",
                                   {{"--memory", "What the look-up structures cost instead"}, RowLimit::flag()}},
                                  {"neighbours", "known IPv6 neighbours"},
                                  {"sources", "who is followed for routes, and how that goes"}},
                       .create = forwarding::create<Family>,
                       .ethertypes = {kEthertype},
                       .commands = forwarding::commands<Family>(),
                       .passes_on = PassesOn::ethertypes_of_others,
                       .addresses = UsedAddresses::ipv6});

}  // namespace
}  // namespace penumbra::ipv6
