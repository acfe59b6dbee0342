// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/verify/fast_pattern.h"

#include <bitset>
#include <cstdint>
#include <variant>

#include "functions/ids/verify/literal.h"

namespace penumbra::ids {
namespace {

/// Estimates how rare a content is; more is rarer.
unsigned score_of(const Content& content, Buffer buffer) {
  std::bitset<256> seen;
  unsigned score = 0;
  for (const char letter : content.bytes) {
    const auto byte = static_cast<std::uint8_t>(letter);
    const std::uint8_t folded = content.nocase ? fold(byte) : byte;
    // Bytes that fill much of all payload, and repeated bytes, say little.
    const bool is_common = byte == 0 || byte == ' ' || byte == 0xFF || byte == '\r' || byte == '\n';
    score += seen[folded] || is_common ? 1 : 4;
    seen.set(folded);
  }
  const bool is_large = info_of(buffer).origin == BufferOrigin::payload || buffer == Buffer::file_data;
  return is_large ? score : score + 2;
}

FastPattern pattern_of(const Content& content, Buffer buffer) {
  const std::string bytes =
      content.chop_length > 0 ? content.bytes.substr(content.chop_offset, content.chop_length) : content.bytes;
  return {buffer, bytes, content.nocase};
}

}  // namespace

std::optional<FastPattern> choose_fast_pattern(const Rule& rule) {
  const Content* best = nullptr;
  Buffer best_buffer = Buffer::payload;
  unsigned best_score = 0;
  for (const BufferTests& group : rule.buffers) {
    for (const PayloadTest& test : group.tests) {
      const auto* content = std::get_if<Content>(&test);
      if (content == nullptr || content->negated) continue;
      if (content->fast_pattern != Content::FastPattern::automatic) return pattern_of(*content, group.buffer);
      const unsigned score = score_of(*content, group.buffer);
      if (score <= best_score) continue;
      best = content;
      best_buffer = group.buffer;
      best_score = score;
    }
  }
  if (best == nullptr) return std::nullopt;
  return pattern_of(*best, best_buffer);
}

}  // namespace penumbra::ids
