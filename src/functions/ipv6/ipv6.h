// SPDX-License-Identifier: Apache-2.0
//
// Names the templates of src/functions/forwarding for IPv6.
#pragma once

#include "functions/forwarding/feed_listener.h"
#include "functions/forwarding/fib.h"
#include "functions/forwarding/function.h"
#include "functions/forwarding/next_hops.h"
#include "functions/ipv6/family.h"

namespace penumbra::ipv6 {

using Ipv6Function = forwarding::ForwardingFunction<Family>;
using Ipv6Fib = forwarding::Fib<Family>;
using FeedListener = forwarding::FeedListener<Family>;
using NextHops = forwarding::NextHops<Family>;

}  // namespace penumbra::ipv6
