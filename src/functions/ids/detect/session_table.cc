// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/session_table.h"

#include <algorithm>
#include <iterator>

namespace penumbra::ids {
namespace {

constexpr std::uint64_t kSecond = 1'000'000;  // microseconds
/// All values of timeout_of().
constexpr std::array kTimeouts{30 * kSecond, 60 * kSecond, 300 * kSecond, 600 * kSecond};

}  // namespace

std::size_t SessionTable::list_of(const StreamSession& session) {
  const std::uint64_t timeout = timeout_of(*session.flow, session.protocol);
  const auto* const found = std::ranges::lower_bound(kTimeouts, timeout);
  return static_cast<std::size_t>(std::min(found, kTimeouts.end() - 1) - kTimeouts.begin());
}

StreamSession& SessionTable::add(TrackedFlow& flow, std::uint8_t protocol) {
  StreamSession& session = lists_[0].emplace_back();
  session.flow = &flow;
  flow.session = &session;
  session.protocol = protocol;
  session.place = std::prev(lists_[0].end());
  ++size_;
  return session;
}

void SessionTable::touch(StreamSession& session, std::uint64_t now) {
  session.record.last = std::max(session.record.last, now);
  const std::size_t list = list_of(session);
  lists_[list].splice(lists_[list].end(), lists_[session.list], session.place);
  session.list = list;
}

void SessionTable::remove(StreamSession& session) {
  session.flow->session = nullptr;
  --size_;
  lists_[session.list].erase(session.place);
}

StreamSession* SessionTable::find_expired(std::uint64_t now) {
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    if (!lists_[i].empty() && now > lists_[i].front().record.last + kTimeouts[i]) return &lists_[i].front();
  }
  return nullptr;
}

StreamSession* SessionTable::find_oldest() {
  for (List& list : lists_) {
    if (!list.empty()) return &list.front();
  }
  return nullptr;
}

}  // namespace penumbra::ids
