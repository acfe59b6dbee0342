// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/community_id.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "crypto/sha1/sha1.h"
#include "penumbra/bytes.h"
#include "penumbra/packet.h"

namespace penumbra::ids {
namespace {

/// Returns the type of the message that answers a message of ICMP, if there is one.
std::optional<std::uint8_t> counterpart_of(std::uint8_t type, bool is_ipv6) {
  using Pair = std::pair<std::uint8_t, std::uint8_t>;
  constexpr std::array kIpv4 = std::to_array<Pair>({{0, 8}, {9, 10}, {13, 14}, {15, 16}, {17, 18}});
  constexpr std::array kIpv6 =
      std::to_array<Pair>({{128, 129}, {130, 131}, {133, 134}, {135, 136}, {139, 140}, {144, 145}});
  for (const auto& [first, second] : is_ipv6 ? std::span<const Pair>(kIpv6) : std::span<const Pair>(kIpv4)) {
    if (type == first) return second;
    if (type == second) return first;
  }
  return std::nullopt;
}

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) group = group << 8 | (i < count ? bytes[at + i] : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= count ? kLetters[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace

std::string community_id(const CommunityTuple& tuple, std::uint16_t seed) {
  std::tuple source(tuple.source, tuple.source_port), destination(tuple.destination, tuple.destination_port);
  bool is_ordered = true, has_ports = tuple.has_ports;
  if (tuple.protocol == ip_protocol::kIcmp || tuple.protocol == ip_protocol::kIcmpv6) {
    const auto counterpart = counterpart_of(tuple.icmp_type, tuple.is_ipv6);
    std::get<1>(source) = tuple.icmp_type;
    std::get<1>(destination) = counterpart.value_or(tuple.icmp_code);
    is_ordered = counterpart.has_value();
    has_ports = true;
  }
  if (is_ordered && destination < source) std::swap(source, destination);
  std::array<std::uint8_t, SHA1_BLOCK> block{};
  std::size_t size = 0;
  const auto append = [&block, &size](std::uint64_t number, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) block[size++] = static_cast<std::uint8_t>(number >> 8 * i);
  };
  append(seed, 2);
  for (const auto& [address, port] : {source, destination}) {
    if (tuple.is_ipv6) append(address[0], 8);
    append(address[1], tuple.is_ipv6 ? 8 : 4);
  }
  append(tuple.protocol, 1);
  append(0, 1);
  if (has_ports) {
    append(std::get<1>(source), 2);
    append(std::get<1>(destination), 2);
  }
  // Padding of SHA-1: a set bit, and the length in bits at the end. All tuples fit in one block.
  block[size] = 0x80;
  store_be64(block.data() + SHA1_BLOCK - 8, size * 8);
  std::array<std::uint32_t, SHA1_WORDS> state{};
  sha1_begin(state.data());
  sha1_add_block(state.data(), block.data());
  std::array<std::uint8_t, SHA1_DIGEST> digest{};
  for (std::size_t i = 0; i < SHA1_WORDS; ++i) store_be32(digest.data() + 4 * i, state[i]);
  return "1:" + base64(digest);
}

}  // namespace penumbra::ids
