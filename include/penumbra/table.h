// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface between a table's owner and the engines that read the table.
//
// An owner (one control thread) builds and changes its memory and announces each change through a `Table`. Readers load
// the current view once. A published view stays valid until a grace period after the next publish. Memory that the view
// reaches may change in place meanwhile, under two conditions. Each element is written atomically, and any mix of old
// and new elements answers each lookup with the old or the new result. An engine with its own memory registers a
// mirror, which receives every publish, change and commit in order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace penumbra {

/// A block of host memory. The view holds the pointer to it at byte `pointer_offset`.
struct TableRegion {
  std::size_t pointer_offset = 0;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// A copy of a table in another memory or device. Only the owner's thread calls it. A thread that a call waits for must
/// not wait for detach() of this mirror.
class TableMirror {
 public:
  TableMirror() = default;
  TableMirror(const TableMirror&) = delete;
  TableMirror& operator=(const TableMirror&) = delete;
  virtual ~TableMirror() = default;

  /// Copies the view and every region of a whole new version.
  virtual void published(std::span<const std::byte> view, std::span<const TableRegion> regions) = 0;
  /// Copies `bytes` rewritten bytes at `offset` of region `region`, an index into the published list.
  virtual void changed(std::size_t region, std::size_t offset, std::size_t bytes) = 0;
  /// Makes the changes so far visible; they belong together.
  virtual void committed() = 0;
};

/// The published side of a table. Any thread may read; one thread at a time may publish.
class Table {
 public:
  /// Copies of a secret table are locked in memory, left out of core dumps, and overwritten before they are freed, in
  /// every memory and device.
  enum class Content : bool { open, secret };

  explicit Table(std::string name, Content content = Content::open);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  const std::string& name() const { return name_; }
  bool is_secret() const { return content_ == Content::secret; }
  std::size_t view_bytes() const { return view_bytes_.load(std::memory_order_acquire); }
  /// Returns the bit width of the total size in bytes of the view's memory. Tables of one size class behave alike in a
  /// cache.
  unsigned size_class() const { return size_class_.load(std::memory_order_relaxed); }

  /// Returns the current view for engines that read host memory, or null before the first publish. The view is valid
  /// until a grace period after the next publish.
  const void* view() const { return view_.load(std::memory_order_acquire); }

  /// Makes `view` current. The object must live until a grace period after the next publish.
  template <class View>
  void publish(const View& view, std::vector<TableRegion> regions) {
    static_assert(std::is_trivially_copyable_v<View>, "a view travels to other memories as bytes");
    publish_bytes(&view, sizeof(View), std::move(regions));
  }
  template <class View>
  void publish(const View&& view,
               std::vector<TableRegion> regions) = delete;  ///< A temporary would not live long enough.

  /// Announces a rewrite of part of a region of the current version.
  void changed(std::size_t region, std::size_t offset, std::size_t bytes) {
    if (mirrored_.load(std::memory_order_relaxed)) announce_change(region, offset, bytes);
  }
  /// Announces that the changes so far belong together and may become visible.
  void commit() {
    if (mirrored_.load(std::memory_order_relaxed)) announce_commit();
  }

  /// Registers a mirror and sends it the current version immediately. The mirror must outlive its registration. Call
  /// this function on the publishing thread, or before that thread starts.
  void attach(TableMirror& mirror);
  /// Unregisters a mirror; no calls reach it afterwards. Any thread may call this while the owner makes changes.
  void detach(TableMirror& mirror);

 private:
  void publish_bytes(const void* view, std::size_t bytes, std::vector<TableRegion> regions);
  void announce_change(std::size_t region, std::size_t offset, std::size_t bytes);
  void announce_commit();

  const std::string name_;
  const Content content_;
  std::atomic<const void*> view_{nullptr};
  std::atomic<std::size_t> view_bytes_{0};
  std::atomic<unsigned> size_class_{0};
  std::vector<TableRegion> regions_;
  std::mutex mirrors_mutex_;  ///< Held during calls of mirrors.
  std::vector<TableMirror*> mirrors_;
  std::atomic<bool> mirrored_{false};
};

/// Tells when memory that readers may still hold can be reused. The runtime's implementation uses DPDK's rte_rcu_qsbr.
class GracePeriods {
 public:
  GracePeriods() = default;
  GracePeriods(const GracePeriods&) = delete;
  GracePeriods& operator=(const GracePeriods&) = delete;
  virtual ~GracePeriods() = default;

  /// Starts a grace period. Once it has elapsed, no reader holds memory that was unreachable at this call.
  virtual std::uint64_t start() = 0;
  /// Returns true if the grace period `token` has elapsed. With `wait` it blocks until then and returns true.
  virtual bool elapsed(std::uint64_t token, bool wait) = 0;
};

/// Grace periods for owners whose tables no other thread reads (command-line look-ups, offline builds).
class NoReaders final : public GracePeriods {
 public:
  std::uint64_t start() override { return 0; }
  bool elapsed(std::uint64_t /*token*/, bool /*wait*/) override { return true; }
};

}  // namespace penumbra
