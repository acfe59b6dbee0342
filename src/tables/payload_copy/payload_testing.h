// SPDX-License-Identifier: Apache-2.0
//
// Items and memory for tests of payload with the shader of payload_copy.shader.h.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "engines/conformance.h"
#include "penumbra/huge_memory.h"
#include "tables/payload_copy/payload_copy.shader.h"

namespace penumbra::payload_testing {

inline constexpr std::size_t kSourceBytes = std::size_t{1} << 20;
inline constexpr std::byte kUnwritten{0xA5};

struct Masks {
  Masks() {
    std::mt19937 random(3);
    for (auto& each : mask) each = static_cast<std::uint8_t>(random());
    publish();
  }
  void publish() {
    view = {mask.data()};
    table.publish(view,
                  {{offsetof(payload_masks, mask), reinterpret_cast<const std::byte*>(mask.data()), mask.size()}});
  }
  std::array<std::uint8_t, 256> mask{};
  payload_masks view{};
  Table table{"masks"};
};

/// Items with random lengths and places. Sources overlap; each destination is followed by unused bytes.
struct Items {
  Items(std::uint32_t count, std::uint32_t most_bytes, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::uint64_t next = random() % 64;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t length = random() % (most_bytes + 1);
      key.push_back(static_cast<std::uint8_t>(random()));
      source.push_back(random() % (kSourceBytes - length));
      length_in.push_back(length);
      destination.push_back(next);
      room.push_back(random() % 4 == 0 ? length - std::min<std::uint32_t>(length, random() % 20) : length);
      next += room.back() + 1 + random() % 40;
    }
    destination_bytes = next + 64;
    length_out.assign(count, ~0U);
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(key.size()); }

  std::vector<std::uint8_t> key;
  std::vector<std::uint64_t> source, destination;
  std::vector<std::uint32_t> length_in, room, length_out;
  std::size_t destination_bytes = 0;
};

/// The memory of sources and of destinations.
struct Payload {
  explicit Payload(std::size_t destination_bytes)
      : source(std::make_shared<HugeMemory>(kSourceBytes)),
        destination(std::make_shared<HugeMemory>(destination_bytes)) {
    std::mt19937 random(2);
    for (std::size_t i = 0; i < kSourceBytes; ++i) source->data()[i] = static_cast<std::byte>(random());
    clear();
  }
  void clear() const { std::fill_n(destination->data(), destination->bytes(), kUnwritten); }

  std::shared_ptr<HugeMemory> source, destination;
};

/// Runs the shader over all items.
inline void run(conformance::ShaderQueue& queue, Items& items, const conformance::Payload& payload,
                std::uint32_t batch_items) {
  std::ranges::fill(items.length_out, ~0U);
  queue({items.key.data(), items.source.data(), items.length_in.data(), items.destination.data(), items.room.data()},
        {items.length_out.data()}, items.count(), batch_items, payload);
}

/// Expects the right bytes in every destination, and no other byte written.
inline void expect_copies(const Items& items, const Payload& payload, const std::array<std::uint8_t, 256>& mask) {
  std::vector<std::byte> right(payload.destination->bytes(), kUnwritten);
  for (std::uint32_t i = 0; i < items.count(); ++i) {
    const std::uint32_t length = std::min(items.length_in[i], items.room[i]);
    ASSERT_EQ(items.length_out[i], length) << i;
    for (std::uint32_t k = 0; k < length; ++k) {
      right[items.destination[i] + k] = payload.source->data()[items.source[i] + k] ^ std::byte{mask[items.key[i]]};
    }
  }
  const auto differs = std::ranges::mismatch(right, std::span(payload.destination->data(), right.size())).in1;
  ASSERT_EQ(differs - right.begin(), static_cast<std::ptrdiff_t>(right.size()));
}

}  // namespace penumbra::payload_testing
