// SPDX-License-Identifier: Apache-2.0
//
// A C++20 coroutine per look-up, resumed in turn (the idea: Psaropoulos, Legler, May, Ailamaki: Interleaving with
// Coroutines, PVLDB 11(2), 2017). A pool provides the frames, so that items need no allocations.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "gopt/kernels/chase.shader.h"
#include "gopt/kernels/cuckoo.shader.h"
#include "penumbra/prefetch.h"

namespace penumbra::bench {

/// Numbers of concurrent coroutines that are tried.
inline const std::vector<std::uint32_t> kCoroutines{4, 8, 12, 16, 24, 32, 48, 64};

/// Pool of frames of one size. The frame freed last is reused first.
class FramePool {
 public:
  void* take(std::size_t bytes) {
    if (free_.empty()) return std::make_unique<std::byte[]>(bytes).release();
    void* const frame = free_.back();
    free_.pop_back();
    return frame;
  }
  void give(void* frame) { free_.push_back(frame); }

  FramePool() = default;
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;
  ~FramePool() {
    for (void* const frame : free_) delete[] static_cast<std::byte*>(frame);
  }

 private:
  std::vector<void*> free_;
};

/// A look-up that suspends before each access. All coroutines of one `Kernel` have frames of one size.
template <class Kernel>
class Lookup {
 public:
  struct promise_type {
    Lookup get_return_object() { return Lookup(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
    static void* operator new(std::size_t bytes) { return pool().take(bytes); }
    static void operator delete(void* frame) { pool().give(frame); }
  };

  Lookup() = default;
  /// Continues to the next access. Returns false at the end; the frame is then free.
  bool resume() {
    handle_.resume();
    return running();
  }
  /// Returns true if the look-up waits for an access. Frees the frame otherwise.
  bool running() {
    if (!handle_.done()) return true;
    handle_.destroy();
    return false;
  }

 private:
  explicit Lookup(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  static FramePool& pool() {
    static thread_local FramePool pool;
    return pool;
  }

  std::coroutine_handle<promise_type> handle_;
};

/// Prefetches a line and suspends the coroutine.
struct Access {
  explicit Access(const void* line) { prefetch_line(line); }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> /*waiting*/) const noexcept {}
  void await_resume() const noexcept {}
};

/// Runs `n` items, `at_a_time` at once. A kernel has look_up(i), a coroutine.
template <class Kernel>
void coroutines(const Kernel& kernel, std::uint32_t n, std::uint32_t at_a_time) {
  std::vector<Lookup<Kernel>> ring;
  ring.reserve(at_a_time);
  std::uint32_t next = 0;
  while (ring.size() < at_a_time && next < n) {
    Lookup<Kernel> lookup = kernel.look_up(next++);
    if (lookup.running()) ring.push_back(lookup);
  }
  for (std::size_t at = 0; !ring.empty();) {
    bool running = ring[at].resume();
    while (!running && next < n) {
      ring[at] = kernel.look_up(next++);
      running = ring[at].running();
    }
    if (running) {
      ++at;
    } else {
      ring[at] = ring.back();
      ring.pop_back();
    }
    if (at == ring.size()) at = 0;
  }
}

/// Makes a way from `make(first)`, which makes the kernel of the items from `first` on.
template <class Make>
Way by_coroutines(Make make) {
  return {"coroutines", kCoroutines,
          [make](std::uint32_t first, std::uint32_t n, std::uint32_t size) { coroutines(make(first), n, size); }};
}

struct ChaseCoroutines {
  Lookup<ChaseCoroutines> look_up(std::uint32_t i) const {
    std::uint32_t at = begin[i];
    for (std::uint32_t step = 0; step < view.steps; ++step) {
      co_await Access(&view.line[at]);
      at = view.line[at].next;
    }
    end[i] = at;
  }

  chase_view view;
  const std::uint32_t* begin;
  std::uint32_t* end;
};

struct CuckooCoroutines {
  Lookup<CuckooCoroutines> look_up(std::uint32_t i) const {
    const std::uint32_t hash = cuckoo_hash(key[i]);
    const cuckoo_bucket* bucket = &view.bucket[cuckoo_first(view, hash)];
    co_await Access(bucket);
    std::uint32_t found = cuckoo_search(bucket, key[i]);
    if (found == CUCKOO_NOT_FOUND) {
      bucket = &view.bucket[cuckoo_second(view, hash)];
      co_await Access(bucket);
      found = cuckoo_search(bucket, key[i]);
    }
    value[i] = found;
  }

  cuckoo_view view;
  const std::uint32_t* key;
  std::uint32_t* value;
};

}  // namespace penumbra::bench
