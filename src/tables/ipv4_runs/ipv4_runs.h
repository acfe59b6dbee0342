// SPDX-License-Identifier: Apache-2.0
//
// A small copy of an IPv4 table (dir24_8.h) for cores, looked up by the shader `ipv4_runs` (ipv4_runs.shader.h). It
// follows the table as a mirror and stands in the same memory, so whoever reads it sees a change when it has been
// announced.
//
// A change of where runs begin puts the node's values elsewhere first and then exchanges the node, one element that
// decides the answers of its addresses; the old values' place is filled anew only after a grace period. Likewise a /16
// that has one value no longer is given a line of nodes, and one that has one value again loses it, by its element of
// the root. Values that change where they are decide the answers of whole addresses. So every lookup gives the answer
// from before the change or from after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "penumbra/table.h"

namespace penumbra {

class Ipv4Runs final : private TableMirror {
 public:
  /// Follows the table of a Dir24_8. To be made and destroyed by the thread that changes that; both arguments outlive
  /// it, as they do the table's readers.
  Ipv4Runs(Table& dir24_8, GracePeriods& grace_periods);
  ~Ipv4Runs() override;

  /// What engines read.
  Table& table() { return table_; }
  std::size_t memory_bytes() const;  ///< of the root, and of lines and values in use; the table's groups not counted

 private:
  class Version;

  void published(std::span<const std::byte> view, std::span<const TableRegion> regions) override;
  void changed(std::size_t region, std::size_t offset, std::size_t bytes) override;
  void committed() override { table_.commit(); }

  Table& followed_;
  GracePeriods& grace_periods_;
  Table table_{"ipv4_runs"};
  std::unique_ptr<Version> version_;
};

}  // namespace penumbra
