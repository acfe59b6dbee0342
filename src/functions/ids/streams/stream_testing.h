// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the tests of streams.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "functions/ids/streams/stream_buffer.h"
#include "functions/ids/streams/tcp_session.h"

namespace penumbra::ids {

inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A slow model of StreamBuffer: a map from places to bytes and the segments that they came with.
class StreamModel {
 public:
  explicit StreamModel(StreamPolicy policy) : policy_(policy) {}

  /// Returns true if an overlapping byte differs.
  bool insert(std::uint64_t begin, std::string_view segment, std::size_t limit) {
    const StreamRange received{begin, begin + segment.size()};
    const std::uint64_t end = std::min<std::uint64_t>(received.end, next_ + limit);
    bool conflict = false;
    std::map<std::uint64_t, Cell> changed;
    ++segments_;
    for (std::uint64_t at = begin; at < end; ++at) {
      const char byte = segment[at - begin];
      if (at < next_) {
        const auto kept = done_.find(at);
        if (kept != done_.end() && kept->second != byte) conflict = true;
        continue;
      }
      const auto found = cells_.find(at);
      if (found != cells_.end()) {
        if (found->second.byte != byte) conflict = true;
        if (!new_segment_wins(policy_, piece_of(at), received)) continue;
      }
      changed[at] = {byte, segments_};
    }
    for (const auto& [at, cell] : changed) cells_[at] = cell;
    return conflict;
  }

  /// Returns the contiguous bytes before `end` and takes them out. Conflicts are found in the last `context` bytes.
  std::string take(std::uint64_t end, std::size_t context) {
    std::string text;
    for (; next_ < end && cells_.contains(next_); ++next_) {
      text += cells_[next_].byte;
      done_[next_] = cells_[next_].byte;
      cells_.erase(next_);
    }
    done_.erase(done_.begin(), done_.lower_bound(next_ - std::min<std::uint64_t>(context, next_)));
    return text;
  }
  void skip(std::uint64_t end) {
    next_ = end;
    done_.clear();
  }
  std::uint64_t next() const { return next_; }
  bool is_empty() const { return cells_.empty(); }
  std::uint64_t first_held() const { return cells_.begin()->first; }

 private:
  struct Cell {
    char byte = 0;
    int segment = 0;
  };
  /// The bytes around `at` that came with the same segment.
  StreamRange piece_of(std::uint64_t at) const {
    StreamRange piece{at, at + 1};
    const int segment = cells_.at(at).segment;
    const auto is_same = [&](std::uint64_t place) {
      const auto found = cells_.find(place);
      return found != cells_.end() && found->second.segment == segment;
    };
    while (piece.begin > next_ && is_same(piece.begin - 1)) --piece.begin;
    while (is_same(piece.end)) ++piece.end;
    return piece;
  }

  StreamPolicy policy_;
  std::uint64_t next_ = 0;
  int segments_ = 0;
  std::map<std::uint64_t, Cell> cells_;
  std::map<std::uint64_t, char> done_;
};

/// Records what a session hands on.
class StreamRecorder : public StreamConsumer {
 public:
  void on_text(bool to_server, const StreamText& text) override {
    texts[to_server] += text_of(text.fresh_bytes());
    // The bytes before the new ones must be those that were handed on last.
    const std::string before = text_of(text.bytes.first(text.fresh));
    is_context_right &= since_gap[to_server].ends_with(before);
    is_context_right &= before.size() >= std::min(StreamBuffer::kContext, since_gap[to_server].size());
    since_gap[to_server] += text_of(text.fresh_bytes());
  }
  void on_gap(bool to_server, std::uint64_t bytes) override {
    texts[to_server] += "[" + std::to_string(bytes) + "]";
    since_gap[to_server].clear();
  }
  void on_end(bool to_server) override { texts[to_server] += '$'; }
  void on_event(bool /*to_server*/, StreamEvent event) override { ++events[event]; }

  std::map<bool, std::string> texts, since_gap;
  std::map<StreamEvent, int> events;
  bool is_context_right = true;
};

}  // namespace penumbra::ids
