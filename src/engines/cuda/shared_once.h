// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace penumbra::cuda {

/// Registers host memory once for all GPUs of the process, and for all users of one GPU. May be used on any thread.
class SharedOnce {
 public:
  using Share = std::function<void(std::byte* host, std::size_t bytes)>;
  using Unshare = std::function<void(std::byte* host)>;

  /// Sets the driver's calls; `share` may throw.
  SharedOnce(Share share, Unshare unshare) : share_(std::move(share)), unshare_(std::move(unshare)) {}

  void add(std::byte* host, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!uses_.contains(host)) share_(host, bytes);
    ++uses_[host].users;
  }
  void remove(std::byte* host) noexcept {
    const std::lock_guard lock(mutex_);
    const bool is_kept = uses_[host].is_kept;
    if (was_last(host) && !is_kept) unshare_(host);
  }
  /// Call instead of remove() after a device failure. The GPU may still access the pages and unregistering may block,
  /// so they stay registered, even without further users. The driver refuses to register other memory at the same
  /// address.
  void forget(std::byte* host) noexcept {
    const std::lock_guard lock(mutex_);
    uses_[host].is_kept = true;
    was_last(host);
  }

 private:
  struct Use {
    unsigned users = 0;
    bool is_kept = false;  ///< True if a failed GPU may use the pages.
  };

  /// Removes one user. Returns true if it was the last one.
  bool was_last(std::byte* host) noexcept {
    if (--uses_[host].users > 0) return false;
    uses_.erase(host);
    return true;
  }

  const Share share_;
  const Unshare unshare_;
  std::mutex mutex_;
  std::map<std::byte*, Use> uses_;
};

}  // namespace penumbra::cuda
