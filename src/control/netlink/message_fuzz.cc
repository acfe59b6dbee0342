// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are read as messages and believed: what a subscriber is told stays consistent.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "control/netlink/links.h"
#include "control/netlink/message.h"
#include "control/netlink/subscription.h"
#include "penumbra/route_feed.h"

namespace {

using namespace penumbra;

/// Aborts when it is told what cannot be.
class Suspicious final : public RouteListener {
 public:
  void set_route(Ipv4Prefix prefix, const FeedTarget& target) override { set(ipv4_, prefix, target); }
  void set_route(Ipv6Prefix prefix, const FeedTarget& target) override { set(ipv6_, prefix, target); }
  void remove_route(Ipv4Prefix prefix) override { remove(ipv4_, prefix); }
  void remove_route(Ipv6Prefix prefix) override { remove(ipv6_, prefix); }
  void set_neighbour(std::uint16_t /*port*/, Ipv4Address /*address*/, MacAddress /*mac*/) override {}
  void remove_neighbour(std::uint16_t /*port*/, Ipv4Address /*address*/) override {}
  void commit() override {}

 private:
  static void set(auto& known, auto prefix, const FeedTarget& target) {
    if (target.kind == FeedTarget::Kind::unicast && target.hops.empty()) std::abort();
    for (const auto& hop : target.hops) {
      if (hop.weight == 0) std::abort();
    }
    known.insert(prefix);
  }
  static void remove(auto& known, auto prefix) {
    if (known.erase(prefix) == 0) std::abort();
  }
  std::set<Ipv4Prefix> ipv4_;
  std::set<Ipv6Prefix> ipv6_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penumbra::control::netlink;
  std::vector<std::byte> aligned(size);
  if (size > 0) std::memcpy(aligned.data(), data, size);
  Suspicious listener;
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
    if (const auto* const object = std::get_if<ObjectMessage>(&message->content)) batch.apply(*object, links);
  }
  {
    Subscription::Batch batch(subscription);
    batch.begin_sync();
    batch.end_sync(true);
  }
  if (!subscription.prefixes<Ipv4Prefix>().empty() || !subscription.prefixes<Ipv6Prefix>().empty()) std::abort();
  return 0;
}
