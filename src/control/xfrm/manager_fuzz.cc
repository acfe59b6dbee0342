// SPDX-License-Identifier: Apache-2.0
//
// Gives arbitrary bytes to the manager as datagrams, each with a length of two bytes before it. Every reply must be
// valid netlink. What the manager lists of SAs and policies must be accepted when it is sent again.
#include <linux/netlink.h>
#include <linux/xfrm.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/scratch_folder.h"
#include "control/xfrm/manager.h"
#include "testing/fuzzing.h"

namespace {

using namespace penumbra::control::xfrm;

constexpr uid_t kDataPlane = 7;

/// Checks that a buffer consists of whole messages, and calls `each` for every one.
template <class Each>
void walk(std::span<const std::uint8_t> bytes, const Each& each) {
  while (!bytes.empty()) {
    nlmsghdr head;
    penumbra::fuzzing::require(bytes.size() >= sizeof head);
    std::memcpy(&head, bytes.data(), sizeof head);
    penumbra::fuzzing::require(head.nlmsg_len >= sizeof head && NLMSG_ALIGN(head.nlmsg_len) <= bytes.size());
    each(head, bytes.first(head.nlmsg_len));
    bytes = bytes.subspan(NLMSG_ALIGN(head.nlmsg_len));
  }
}

Buffer dump_of(Manager& manager, bool of_policies) {
  Dump dump;
  dump.of_policies = of_policies;
  Buffer all;
  const Sender root{};
  while (!dump.is_done) {
    Buffer piece;
    manager.continue_dump(root, dump, 4096, piece);
    all.insert(all.end(), piece.begin(), piece.end());
  }
  return all;
}

/// Sends the entries of a dump to another manager, which must take them all.
void copy(Manager& from, Manager& to, bool of_policies) {
  Sender root{};
  walk(dump_of(from, of_policies), [&](const nlmsghdr& head, std::span<const std::uint8_t> message) {
    if (head.nlmsg_type == NLMSG_DONE) return;
    Buffer request(message.begin(), message.end());
    const auto flags = static_cast<std::uint16_t>(NLM_F_REQUEST);
    std::memcpy(request.data() + offsetof(nlmsghdr, nlmsg_flags), &flags, sizeof flags);
    Outcome outcome;
    to.handle(root, request, outcome);
    // A larval SA has no algorithm and is not sent by anyone.
    if (!of_policies && !outcome.replies.empty()) return;
    penumbra::fuzzing::require(outcome.replies.empty());
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const penumbra::ScratchFolder kFolder;
  static HighWaterMarks marks(kFolder / "marks", kFolder / "witness");
  Manager manager(marks, [] { return std::uint64_t{1000}; }, kDataPlane);
  manager.set_has_data_plane(true);
  Sender sender{.user = kDataPlane, .port = 1, .groups = 0, .wants_text = true};
  std::span<const std::uint8_t> rest(data, size);
  while (rest.size() >= 2) {
    const std::size_t length = std::min<std::size_t>(rest[0] | rest[1] << 8, rest.size() - 2);
    Outcome outcome;
    manager.handle(sender, rest.subspan(2, length), outcome);
    for (const Buffer& reply : outcome.replies) walk(reply, [](const auto&, auto) {});
    for (const Notification& one : outcome.notifications) {
      walk(one.message, [](const auto&, auto) {});
      walk(one.lent, [](const auto&, auto) {});
    }
    if (outcome.dump != nullptr) dump_of(manager, outcome.dump->of_policies);
    rest = rest.subspan(2 + length);
  }
  Outcome outcome;
  manager.tick(outcome);
  Manager second(marks, [] { return std::uint64_t{1000}; }, kDataPlane);
  copy(manager, second, true);
  copy(manager, second, false);
  return 0;
}
