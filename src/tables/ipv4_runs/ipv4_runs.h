// SPDX-License-Identifier: Apache-2.0
//
// A small copy of an IPv4 table (dir24_8.h) for CPU cores, which the shader `ipv4_runs` (ipv4_runs.shader.h) reads. The
// copy follows the table as a mirror in host memory, so readers see a change as soon as it is announced.
//
// If a change moves the starts of runs, the values of the node are first written to a new place. Then one store
// replaces the node, which decides the answers of its addresses. The old place is reused only after a grace period. In
// the same way, one store to the root replaces the single value of a /16 by a line of nodes, or the reverse. A value
// that changes in place decides the answers of whole addresses. Every lookup therefore returns the answer from before
// or after the change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "penumbra/table.h"

namespace penumbra {

class Ipv4Runs final : private TableMirror {
 public:
  /// Follows the table of a Dir24_8. The thread that changes the table makes and destroys the copy. Both arguments must
  /// outlive the copy.
  Ipv4Runs(Table& dir24_8, GracePeriods& grace_periods);
  ~Ipv4Runs() override;

  /// Returns the table that engines read.
  Table& table() { return table_; }
  std::size_t memory_bytes() const;  ///< bytes of the root and of lines and values in use, without the table's groups

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
