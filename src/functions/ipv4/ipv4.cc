// SPDX-License-Identifier: Apache-2.0
#include "functions/ipv4/ipv4.h"

#include "base/row_limit.h"
#include "functions/forwarding/commands.h"

namespace penumbra::ipv4 {
namespace {

[[maybe_unused]] const bool kRegistered =
    register_function({.name = "ipv4",
                       .summary = "forwards IPv4 packets by longest prefix (RFC 1812)",
                       .topics = {{"routes",
                                   "[PREFIX|ADDRESS|all]: the routes, and which of them count",
                                   {{"--memory", "What the look-up structures cost instead"}, RowLimit::flag()}},
                                  {"neighbours", "known IPv4 neighbours"},
                                  {"sources", "who is followed for routes, and how that goes"}},
                       .create = forwarding::create<Family>,
                       .ethertypes = {kEthertype, kArpEthertype},
                       .commands = forwarding::commands<Family>(),
                       .passes_on = PassesOn::ethertypes_of_others,
                       .addresses = UsedAddresses::ipv4});

}  // namespace
}  // namespace penumbra::ipv4
