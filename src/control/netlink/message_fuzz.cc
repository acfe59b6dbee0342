// SPDX-License-Identifier: Apache-2.0
//
// Arbitrary bytes are parsed as messages and applied. The reports to a subscriber stay consistent.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "control/netlink/links.h"
#include "control/netlink/message.h"
#include "control/netlink/subscription.h"
#include "control/netlink/suspicious_listener.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penumbra;
  using namespace penumbra::control::netlink;
  std::vector<std::byte> aligned(size);
  if (size > 0) std::memcpy(aligned.data(), data, size);
  SuspiciousListener listener;
  FeedRequest request;
  request.follow = {"kernel"};
  request.table = "254";
  Subscription subscription(request, listener);
  Links links({"wan0", "lan0"});
  MessageReader reader(aligned);
  while (const auto message = reader.next()) {
    Subscription::Batch batch(subscription);
    if (const auto* const link = std::get_if<LinkMessage>(&message->content)) links.update(*link);
    if (const auto* const route = std::get_if<RouteMessage>(&message->content)) {
      batch.apply(*route, message->flags, links);
    }
    if (const auto* const object = std::get_if<ObjectMessage>(&message->content))
      batch.apply(*object, links, RouteSource::kernel);
  }
  {
    Subscription::Batch batch(subscription);
    batch.begin_sync(RouteSource::kernel);
    batch.end_sync(RouteSource::kernel, true);
  }
  if (!subscription.prefixes<Ipv4Prefix>().empty() || !subscription.prefixes<Ipv6Prefix>().empty()) std::abort();
  return 0;
}
