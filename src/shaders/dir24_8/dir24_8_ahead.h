// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "penumbra/ip.h"
#include "penumbra/table.h"
#include "shaders/dir24_8/dir24_8.shader.h"

namespace penumbra {

/// Asks for what dir24_8_lookup reads first. For as long as the table's view at its creation is good.
class Dir24_8Ahead {
 public:
  explicit Dir24_8Ahead(const Table& table) : tbl24_(static_cast<const dir24_8_view*>(table.view())->tbl24) {}
  void fetch(Ipv4Address address) const { __builtin_prefetch(&tbl24_[address.value >> 8]); }

 private:
  const std::uint16_t* tbl24_;
};

}  // namespace penumbra
