// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace penumbra::io {

/// Finds the packet sockets and AF_XDP sockets that somebody else's code opens in this process: DPDK's drivers keep
/// theirs to themselves, and a worker can sleep on them. Nobody else opens such meanwhile.
class NewSockets {
 public:
  NewSockets();
  /// Those that were not there at the construction nor at the last call.
  std::vector<int> take();

 private:
  std::vector<int> known_;
};

}  // namespace penumbra::io
