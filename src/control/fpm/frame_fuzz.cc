// SPDX-License-Identifier: Apache-2.0
//
// Feeds arbitrary bytes of an FPM client in pieces of any size. The sizes of the pieces make no difference, a frame is
// applied completely or not at all, and the reports to a subscriber stay consistent.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "control/fpm/frame.h"
#include "control/fpm/source.h"
#include "control/netlink/suspicious_listener.h"

namespace {

using namespace penumbra;
using namespace penumbra::control;

struct Read {
  std::vector<std::vector<std::byte>> frames;
  std::string failure;
  bool operator==(const Read&) const = default;
};

Read read(std::span<const std::byte> stream, std::size_t piece) {
  fpm::FrameReader reader;
  Read read;
  while (!stream.empty() && reader.failure().empty()) {
    const auto room = reader.room();
    const auto next = stream.first(std::min({piece, room.size(), stream.size()}));
    if (next.empty()) std::abort();
    std::ranges::copy(next, room.begin());
    reader.fill(next.size());
    stream = stream.subspan(next.size());
    while (const auto frame = reader.next()) read.frames.emplace_back(frame->begin(), frame->end());
  }
  read.failure = reader.failure();
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto stream = std::as_bytes(std::span(data, size));
  const std::size_t piece = size == 0 ? 1 : 1 + data[size - 1] % 7;
  const Read whole = read(stream, size + 1);
  if (read(stream, piece) != whole) std::abort();

  netlink::SuspiciousListener listener;
  FeedRequest request;
  request.follow = {"fpm"};
  request.table = "254";
  netlink::Subscription subscription(request, listener);
  const netlink::Links links({"wan0", "lan0"});
  for (const auto& frame : whole.frames) {
    const auto messages = fpm::read_frame(frame);
    if (!messages) continue;
    netlink::Subscription::Batch batch(subscription);
    for (const auto& message : *messages) {
      if (const auto* const route = std::get_if<netlink::RouteMessage>(&message.content)) {
        batch.apply_fpm(*route, links);
      }
      if (const auto* const object = std::get_if<netlink::ObjectMessage>(&message.content)) {
        batch.apply(*object, links, netlink::RouteSource::fpm);
      }
    }
  }
  // A second client connects and reports nothing.
  {
    netlink::Subscription::Batch batch(subscription);
    batch.begin_sync(netlink::RouteSource::fpm);
  }
  if (subscription.stale(netlink::RouteSource::fpm) !=
      subscription.prefixes<Ipv4Prefix>().size() + subscription.prefixes<Ipv6Prefix>().size()) {
    std::abort();
  }
  {
    netlink::Subscription::Batch batch(subscription);
    batch.end_sync(netlink::RouteSource::fpm, true);
  }
  if (!subscription.prefixes<Ipv4Prefix>().empty() || !subscription.prefixes<Ipv6Prefix>().empty()) std::abort();
  return 0;
}
