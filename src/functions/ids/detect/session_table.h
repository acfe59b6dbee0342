// SPDX-License-Identifier: Apache-2.0
//
// The sessions of one worker, in the order in which they end without packets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>

#include "functions/ids/detect/stream_session.h"

namespace penumbra::ids {

class SessionTable {
 public:
  /// Adds a session. Precondition: the flow has none.
  StreamSession& add(TrackedFlow& flow, std::uint8_t protocol);
  /// Notes that a packet of the session came at `now`, in microseconds.
  void touch(StreamSession& session, std::uint64_t now);
  void remove(StreamSession& session);

  /// Returns a session that was idle for longer than its state allows, or null.
  StreamSession* find_expired(std::uint64_t now);
  /// Returns the session that makes room for another: of those whose time is the shortest, the one that was idle the
  /// longest. Null if there is none.
  StreamSession* find_oldest();
  std::size_t size() const { return size_; }

  template <class Visit>
  void visit(const Visit& visit) {
    for (List& list : lists_) {
      for (StreamSession& session : list) visit(session);
    }
  }

 private:
  using List = std::list<StreamSession>;
  static std::size_t list_of(const StreamSession& session);

  std::array<List, 4> lists_;  ///< By timeout. The session that was idle the longest comes first.
  std::size_t size_ = 0;
};

}  // namespace penumbra::ids
