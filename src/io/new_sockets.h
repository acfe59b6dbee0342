// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace penumbra::io {

/// Finds the packet sockets and AF_XDP sockets that other code opens in this process. DPDK's drivers do not expose
/// their sockets, but a worker can sleep on them. No other thread may open such sockets meanwhile.
class NewSockets {
 public:
  NewSockets();
  /// Returns the sockets opened since the construction or the last call.
  std::vector<int> take();

 private:
  std::vector<int> known_;
};

}  // namespace penumbra::io
