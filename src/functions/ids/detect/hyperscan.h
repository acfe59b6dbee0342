// SPDX-License-Identifier: Apache-2.0
//
// Searches patterns with Hyperscan, where Debian's package libhyperscan5 is installed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace penumbra::ids {

class Hyperscan;

/// Memory of one worker for searches.
class HyperscanScratch {
 public:
  ~HyperscanScratch();
  HyperscanScratch(const HyperscanScratch&) = delete;
  HyperscanScratch& operator=(const HyperscanScratch&) = delete;

  /// Returns the patterns that the last search found, each once, in any order.
  const std::vector<std::uint32_t>& found() const { return found_; }

 private:
  friend class Hyperscan;
  HyperscanScratch() = default;

  void* memory_ = nullptr;
  std::vector<std::uint32_t> found_;
};

/// A list of patterns. Read-only, so that workers can share it.
class Hyperscan {
 public:
  /// Returns why Hyperscan cannot be used here, or an empty text.
  static std::string why_unavailable();

  /// Finds patterns without regard to the case of ASCII letters. Throws std::runtime_error if Hyperscan is unavailable
  /// or refuses the patterns.
  explicit Hyperscan(std::span<const std::string> patterns);
  ~Hyperscan();
  Hyperscan(const Hyperscan&) = delete;
  Hyperscan& operator=(const Hyperscan&) = delete;

  /// Throws std::bad_alloc.
  std::unique_ptr<HyperscanScratch> make_scratch() const;
  /// Finds the patterns of a text; `scratch.found()` has their indexes. Returns false if Hyperscan failed: the text
  /// must then be searched otherwise.
  bool search(std::span<const std::uint8_t> text, HyperscanScratch& scratch) const noexcept;

 private:
  std::size_t patterns_;
  void* database_ = nullptr;  ///< Null if there are no patterns.
};

}  // namespace penumbra::ids
