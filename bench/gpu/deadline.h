// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penumbra::bench::gpu {

/// A call that waits for a GPU may never return, nor one that waits for the host's memory to change. A process in which
/// an object of this class lives longer than kPatience ends with an error.
class Deadline {
 public:
  static constexpr unsigned kPatience = 300;  ///< seconds: several times what any benchmark of a GPU takes

  Deadline();
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
};

}  // namespace penumbra::bench::gpu
