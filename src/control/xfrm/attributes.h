// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/xfrm.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "control/xfrm/refused.h"

namespace penumbra::control::xfrm {

/// Holds the attributes of an XFRM message, by type. As in Linux, the last of several attributes of one type counts,
/// unknown types are skipped, and an attribute may be longer than its content.
class Attributes {
 public:
  /// Reads the bytes after a message's fixed part. Throws Refused with ERANGE if an attribute is too short.
  explicit Attributes(std::span<const std::uint8_t> bytes);

  bool has(std::uint16_t type) const { return by_type_.at(type).data() != nullptr; }
  /// Returns the content of an attribute, which is empty if there is none.
  std::span<const std::uint8_t> bytes(std::uint16_t type) const { return by_type_.at(type); }
  /// Copies the beginning of an attribute to a structure of linux/xfrm.h. Returns false without the attribute.
  template <class Content>
  bool read(std::uint16_t type, Content& content) const {
    const std::span<const std::uint8_t> found = bytes(type);
    if (!has(type)) return false;
    require(found.size() >= sizeof content, ERANGE, "an attribute is too short");
    std::memcpy(&content, found.data(), sizeof content);
    return true;
  }
  /// Returns the beginning of an attribute, or nothing without the attribute.
  template <class Content>
  std::optional<Content> get(std::uint16_t type) const {
    Content content;
    return read(type, content) ? std::optional(content) : std::nullopt;
  }

 private:
  std::array<std::span<const std::uint8_t>, XFRMA_MAX + 1> by_type_{};
};

}  // namespace penumbra::control::xfrm
