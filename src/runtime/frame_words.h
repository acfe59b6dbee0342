// SPDX-License-Identifier: Apache-2.0
//
// Builds a frame from a header in words for `explain`: "src 10.0.0.1 dst 192.0.2.9 proto tcp dport 80".
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/ip.h"

namespace penumbra::runtime {

/// Limits the frames that `explain` accepts, bytes.
inline constexpr std::size_t kLargestExplained = 9216;

/// Names that may precede a value.
inline constexpr std::array<std::string_view, 17> kFrameWords{"src",  "dst",  "proto", "sport", "dport",    "flags",
                                                              "type", "code", "ttl",   "tos",   "length",   "offset",
                                                              "more", "vlan", "smac",  "dmac",  "ethertype"};

/// Builds the frame that the words (name, value, name, value, ...) describe. Defaults: `dmac` is `port_mac`, `smac`
/// 02:00:00:00:00:fe, `proto` udp, `ttl` 64, everything else 0. Zero bytes fill the packet up to `length` (of the IP
/// packet). Checksums of IPv4 headers are correct; those of transport headers are 0. Throws std::invalid_argument with
/// the wrong word.
std::vector<std::uint8_t> build_frame(std::span<const std::string> words, MacAddress port_mac);

/// Parses hexadecimal digits with optional blanks and colons between bytes. Throws std::invalid_argument for other
/// text, and for fewer than 1 or more than kLargestExplained bytes.
std::vector<std::uint8_t> parse_hex(std::string_view digits);

}  // namespace penumbra::runtime
