// SPDX-License-Identifier: Apache-2.0
//
// Names the templates of src/functions/forwarding for IPv4.
#pragma once

#include "functions/forwarding/buckets.h"
#include "functions/forwarding/feed_listener.h"
#include "functions/forwarding/fib.h"
#include "functions/forwarding/function.h"
#include "functions/forwarding/next_hops.h"
#include "functions/ipv4/family.h"

namespace penumbra::ipv4 {

using Ipv4Function = forwarding::ForwardingFunction<Family>;
using Ipv4Fib = forwarding::Fib<Family>;
using FeedListener = forwarding::FeedListener<Family>;
using NextHops = forwarding::NextHops<Family>;
using NextHopSlot = forwarding::NextHopSlotOf<Family>;
using Hop = forwarding::HopOf<Family>;
using Target = forwarding::TargetOf<Family>;
using forwarding::kBuckets;

}  // namespace penumbra::ipv4
