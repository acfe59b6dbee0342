// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "functions/ids/applications/inflater.h"

namespace penumbra::ids {

/// Keeps the beginning of a body, decoded.
class HttpBody {
 public:
  static constexpr std::size_t kMostBytes = 102400;  ///< That are kept, as Suricata does by default.
  static constexpr std::size_t kMostLayers = 2;      ///< Of Content-Encoding.
  /// Bytes that a bomb may make of one call's input. The rest of the body is not decoded.
  static constexpr std::size_t kMostMade = std::size_t{4} << 20;

  enum class Fault : std::uint8_t { none, failed, too_many_layers };

  /// Begins a body with the value of Content-Encoding.
  Fault begin(std::string_view encoding);
  Fault add(std::span<const std::uint8_t> bytes);
  /// Returns true if later bytes are not kept.
  bool is_full() const { return bytes_.size() >= kMostBytes; }
  const std::string& bytes() const { return bytes_; }
  void clear();
  /// Returns about how many bytes are held.
  std::size_t memory() const;
  void move_to(std::string& bytes) { bytes.swap(bytes_); }

 private:
  void keep(std::span<const std::uint8_t> bytes);
  Fault decode(std::size_t layer, std::span<const std::uint8_t> bytes, std::size_t& made);

  std::string bytes_;
  std::array<Inflater, kMostLayers> inflaters_;
  std::size_t layers_ = 0;
  bool ended_ = false;
};

}  // namespace penumbra::ids
