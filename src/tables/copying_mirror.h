// SPDX-License-Identifier: Apache-2.0
//
// A mirror for tests of tables that shows which changes an owner announces.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "penumbra/table.h"

namespace penumbra {

/// A copy of a table that applies announced changes only.
class CopyingMirror final : public TableMirror {
 public:
  void published(std::span<const std::byte> view, std::span<const TableRegion> regions) override {
    view_.assign(view.begin(), view.end());
    sources_.assign(regions.begin(), regions.end());
    copies_.clear();
    for (const auto& region : regions) {
      const auto& copy = copies_.emplace_back(region.data, region.data + region.bytes);
      const std::byte* const data = copy.data();
      std::memcpy(view_.data() + region.pointer_offset, static_cast<const void*>(&data), sizeof data);
    }
    ++publishes;
  }
  void changed(std::size_t region, std::size_t offset, std::size_t bytes) override {
    ASSERT_LT(region, copies_.size());
    ASSERT_LE(offset + bytes, copies_[region].size());
    std::memcpy(copies_[region].data() + offset, sources_[region].data + offset, bytes);
    bytes_copied += bytes;
  }
  void committed() override { ++commits; }

  bool equals_sources() const {
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      if (std::memcmp(copies_[i].data(), sources_[i].data, copies_[i].size()) != 0) return false;
    }
    return !copies_.empty();
  }
  /// Returns the shader's view of the table with pointers to the copies.
  template <class View>
  View view() const {
    View view{};
    EXPECT_EQ(view_.size(), sizeof view);
    std::memcpy(&view, view_.data(), sizeof view);
    return view;
  }

  std::size_t bytes_copied = 0;  ///< bytes of announced changes
  int publishes = 0, commits = 0;

 private:
  std::vector<std::byte> view_;
  std::vector<std::vector<std::byte>> copies_;
  std::vector<TableRegion> sources_;
};

}  // namespace penumbra
