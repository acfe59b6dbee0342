// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penumbra::bench::gpu {

/// A call that waits for a GPU may never return, nor one that waits for the host's memory to change. While an object of
/// this class lives, the process ends with an error unless the next word that it goes on comes within kPatience.
class LifeSign {
 public:
  static constexpr unsigned kPatience = 120;  ///< seconds: many times what any measurement here takes

  LifeSign();
  ~LifeSign();
  LifeSign(const LifeSign&) = delete;
  LifeSign& operator=(const LifeSign&) = delete;

  /// Goes on with something else; `doing` is a literal, for people.
  void now(const char* doing);
};

}  // namespace penumbra::bench::gpu
