// SPDX-License-Identifier: Apache-2.0
//
// Keeps the memory of packets registered with the engines of stages with payload, also when ports come and go.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "io/packet_pool.h"
#include "penumbra/engine.h"

namespace penumbra::runtime {

/// One thread at a time may use it.
class PacketMemory {
 public:
  using Ranges = std::vector<std::shared_ptr<const HugeMemory>>;

  /// Adds an engine, which must outlive this object.
  void use(Engine& engine);
  /// True if any engine was added.
  bool is_used() const { return !engines_.empty(); }

  /// Registers the pools of the process that are new, and returns their memory. Takes as long as touching all of it.
  Ranges register_new();
  /// Returns the memory of pools that nobody but this object uses, and whose packets have all come back. Call
  /// unregister() after no queue shares it any more.
  Ranges unused() const;
  void unregister(const Ranges& ranges);
  /// Returns the memory of all registered pools.
  Ranges all() const;
  /// Returns how often this object refers to a pool.
  long uses_of(const void* pool) const;

 private:
  struct Entry {
    io::PacketPool pool;
    Ranges ranges;
    std::vector<std::shared_ptr<void>> registrations;
  };

  std::vector<Engine*> engines_;
  std::vector<Entry> entries_;
};

}  // namespace penumbra::runtime
