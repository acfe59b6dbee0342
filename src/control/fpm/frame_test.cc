// SPDX-License-Identifier: Apache-2.0
#include "control/fpm/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penumbra::control::fpm {
namespace {

std::string frame_of(const std::string& payload) {
  const std::size_t length = payload.size() + FrameReader::kHeaderBytes;
  return std::string{'\1', '\1', static_cast<char>(length >> 8), static_cast<char>(length)} + payload;
}

/// Feeds the text to the reader in pieces of at most `most` bytes. Returns the contents of the frames.
std::vector<std::string> read_in_pieces(FrameReader& reader, std::string_view text, std::size_t most) {
  std::vector<std::string> frames;
  while (!text.empty()) {
    const auto room = reader.room();
    EXPECT_FALSE(room.empty());
    const std::size_t bytes = std::min({most, room.size(), text.size()});
    std::ranges::copy(std::as_bytes(std::span(text).first(bytes)), room.begin());
    reader.fill(bytes);
    text.remove_prefix(bytes);
    while (const auto frame = reader.next()) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame->data()) % 4, 0U);
      frames.emplace_back(reinterpret_cast<const char*>(frame->data()), frame->size());
    }
  }
  return frames;
}

TEST(FrameReader, GivesTheSameFramesHoweverTheyCome) {
  std::vector<std::string> payloads{"", "a", "four", std::string(FrameReader::kMostBytes - 4, 'x'), "odd"};
  std::string stream;
  for (int i = 0; i < 200; ++i) payloads.emplace_back(static_cast<std::size_t>(i * 37 % 5000), static_cast<char>(i));
  for (const auto& payload : payloads) stream += frame_of(payload);
  for (const std::size_t most : {1U, 3U, 4U, 1000U, 65536U, 1000000U}) {
    FrameReader reader;
    EXPECT_EQ(read_in_pieces(reader, stream, most), payloads) << most;
    EXPECT_EQ(reader.failure(), "");
    EXPECT_FALSE(reader.within_frame());
  }
}

TEST(FrameReader, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {std::string("\2\1\0\4", 4), "a frame of version 2, not 1"},
      {std::string("\0\1\0\4", 4), "a frame of version 0, not 1"},
      {std::string("\1\2\0\4", 4), "a frame of type 2, not 1 (netlink)"},
      {std::string("\1\1\0\0", 4), "a frame of 0 bytes"},
      {std::string("\1\1\0\3", 4), "a frame of 3 bytes"},
  };
  for (const auto& [header, failure] : cases) {
    FrameReader reader;
    const auto frames = read_in_pieces(reader, frame_of("good") + header + frame_of("after"), 1000);
    EXPECT_EQ(frames, std::vector<std::string>{"good"});
    EXPECT_EQ(reader.failure(), failure);
  }
}

TEST(FrameReader, KnowsAFrameThatIsNotWhole) {
  FrameReader reader;
  EXPECT_EQ(read_in_pieces(reader, frame_of("payload").substr(0, 10), 1), std::vector<std::string>{});
  EXPECT_TRUE(reader.within_frame());
  EXPECT_EQ(reader.failure(), "");
}

}  // namespace
}  // namespace penumbra::control::fpm
