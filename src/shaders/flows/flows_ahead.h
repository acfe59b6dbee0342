// SPDX-License-Identifier: Apache-2.0
//
// For functions whose engine wants it: asks for the cache line that flows_lookup reads first of a flow.
#pragma once

#include <cstdint>

#include "penumbra/prefetch.h"
#include "penumbra/table.h"
#include "shaders/flows/flows.shader.h"

namespace penumbra {

class FlowsAhead {
 public:
  /// For as long as the reader is not quiescent.
  explicit FlowsAhead(const Table& table) : view_(*static_cast<const flows_view*>(table.view())) {}
  void fetch(const flow_key& key) const {
    const std::uint64_t place = flows_digest(&view_, &key) & ((std::uint64_t{1} << view_.cuckoo.bits) - 1);
    prefetch_line(&view_.cuckoo.bucket[place]);
  }

 private:
  const flows_view& view_;
};

}  // namespace penumbra
