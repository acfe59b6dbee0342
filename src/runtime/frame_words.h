// SPDX-License-Identifier: Apache-2.0
//
// A frame from a header in words, as `explain` takes it: "src 10.0.0.1 dst 192.0.2.9 proto tcp dport 80".
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/ip.h"

namespace penumbra::runtime {

/// The largest frame that `explain` takes, bytes.
inline constexpr std::size_t kLargestExplained = 9216;

/// The names that may stand in front of a value.
inline constexpr std::array<std::string_view, 17> kFrameWords{"src",  "dst",  "proto", "sport", "dport",    "flags",
                                                              "type", "code", "ttl",   "tos",   "length",   "offset",
                                                              "more", "vlan", "smac",  "dmac",  "ethertype"};

/// Builds the frame that the words (name, value, name, value, ...) describe. What they leave out: `dmac` is `port_mac`,
/// `smac` 02:00:00:00:00:fe, `proto` udp, `ttl` 64, everything else 0; the payload is zero bytes, as many as `length`
/// (of the IP packet) asks for. Checksums of IPv4 headers are right; those of transport headers are 0. Throws
/// std::invalid_argument with the word that is wrong.
std::vector<std::uint8_t> build_frame(std::span<const std::string> words, MacAddress port_mac);

/// The bytes of hexadecimal digits, between which blanks and colons may stand. Throws std::invalid_argument for
/// anything else, and for fewer than 1 or more than kLargestExplained bytes.
std::vector<std::uint8_t> parse_hex(std::string_view digits);

}  // namespace penumbra::runtime
