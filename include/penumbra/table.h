// SPDX-License-Identifier: Apache-2.0
//
// The seam between a table's owner and the engines that read it.
//
// An owner (one control thread) builds and changes its memory and announces what it did through a `Table`. Readers take
// the current view with one load. A published view stays valid until a grace period after the next publish; memory that
// it reaches may change in place meanwhile, if each element is written atomically and any mix of old and new elements
// answers every single lookup with the old or the new truth. An engine with memory of its own registers a mirror and
// is told of every publish, change and commit in order.
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

/// A block of host memory that a view points to: `pointer_offset` bytes into the view stands the pointer to it.
struct TableRegion {
  std::size_t pointer_offset = 0;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// A copy of a table elsewhere (another memory, another device). Called by the owner's thread only. What it waits for
/// in a call must not be waiting for its detach().
class TableMirror {
 public:
  TableMirror() = default;
  TableMirror(const TableMirror&) = delete;
  TableMirror& operator=(const TableMirror&) = delete;
  virtual ~TableMirror() = default;

  /// A whole new version stands: copy the view and every region.
  virtual void published(std::span<const std::byte> view, std::span<const TableRegion> regions) = 0;
  /// `bytes` bytes at `offset` of region `region` (an index into the published list) have been rewritten.
  virtual void changed(std::size_t region, std::size_t offset, std::size_t bytes) = 0;
  /// The changes announced so far belong together and may become visible.
  virtual void committed() = 0;
};

/// The published side of a table. Readers on any thread; publishing by one thread at a time.
class Table {
 public:
  explicit Table(std::string name);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  const std::string& name() const { return name_; }
  std::size_t view_bytes() const { return view_bytes_.load(std::memory_order_acquire); }
  /// How many binary digits the size of what the view points to has, in bytes: tables of one class are alike to a
  /// cache.
  unsigned size_class() const { return size_class_.load(std::memory_order_relaxed); }

  /// The current view, for engines that read host memory; null before the first publish. Valid until a grace period
  /// after the next publish.
  const void* view() const { return view_.load(std::memory_order_acquire); }

  /// Makes `view` current. The object must live until a grace period after the next publish.
  template <class View>
  void publish(const View& view, std::vector<TableRegion> regions) {
    static_assert(std::is_trivially_copyable_v<View>, "a view travels to other memories as bytes");
    publish_bytes(&view, sizeof(View), std::move(regions));
  }
  template <class View>
  void publish(const View&& view,
               std::vector<TableRegion> regions) = delete;  ///< a temporary would not live long enough

  /// Announces a rewrite of part of a region of the current version.
  void changed(std::size_t region, std::size_t offset, std::size_t bytes) {
    if (mirrored_.load(std::memory_order_relaxed)) announce_change(region, offset, bytes);
  }
  /// Announces that the changes so far belong together and may become visible.
  void commit() {
    if (mirrored_.load(std::memory_order_relaxed)) announce_commit();
  }

  /// Registers a mirror, which is given the current version at once. It must outlive its registration. To be called
  /// by the thread that publishes, or before that thread starts.
  void attach(TableMirror& mirror);
  /// Any thread; the owner may go on with its changes. When this returns, nothing more is said to the mirror.
  void detach(TableMirror& mirror);

 private:
  void publish_bytes(const void* view, std::size_t bytes, std::vector<TableRegion> regions);
  void announce_change(std::size_t region, std::size_t offset, std::size_t bytes);
  void announce_commit();

  std::string name_;
  std::atomic<const void*> view_{nullptr};
  std::atomic<std::size_t> view_bytes_{0};
  std::atomic<unsigned> size_class_{0};
  std::vector<TableRegion> regions_;
  std::mutex mirrors_mutex_;  ///< held while something is said to them
  std::vector<TableMirror*> mirrors_;
  std::atomic<bool> mirrored_{false};
};

/// When memory that readers may still hold can be reused. The runtime's is DPDK's rte_rcu_qsbr.
class GracePeriods {
 public:
  GracePeriods() = default;
  GracePeriods(const GracePeriods&) = delete;
  GracePeriods& operator=(const GracePeriods&) = delete;
  virtual ~GracePeriods() = default;

  /// Starts a grace period: once it has elapsed, no reader holds anything that was unreachable at this call.
  virtual std::uint64_t start() = 0;
  /// Whether that period has elapsed; with `wait` returns only when it has (always true then).
  virtual bool elapsed(std::uint64_t token, bool wait) = 0;
};

/// For owners that no other thread reads (command-line look-ups, offline builds).
class NoReaders final : public GracePeriods {
 public:
  std::uint64_t start() override { return 0; }
  bool elapsed(std::uint64_t /*token*/, bool /*wait*/) override { return true; }
};

}  // namespace penumbra
