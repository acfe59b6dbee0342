// SPDX-License-Identifier: Apache-2.0
//
// Sends segments of any kind to a TCP session. The input is a list of segments: side, flags, place, acknowledgement and
// size, a byte each, and then the payload.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "functions/ids/streams/tcp_session.h"
#include "testing/fuzzing.h"

namespace {

using namespace penumbra;
using fuzzing::require;

class Checker : public ids::StreamConsumer {
 public:
  void on_text(bool to_server, const ids::StreamText& text) override {
    Side& side = sides_[to_server ? 1 : 0];
    require(!side.ended && text.fresh < text.bytes.size());
    require(text.offset + text.fresh == side.place);
    // What was handed on before must not change.
    const std::size_t before = std::min(text.fresh, side.last.size());
    require(std::equal(side.last.end() - static_cast<std::ptrdiff_t>(before), side.last.end(),
                       text.bytes.begin() + static_cast<std::ptrdiff_t>(text.fresh - before)));
    require(text.fresh <= side.since_gap);
    side.last.assign(text.bytes.begin(), text.bytes.end());
    side.place += text.fresh_bytes().size();
    side.since_gap += text.fresh_bytes().size();
  }
  void on_gap(bool to_server, std::uint64_t bytes) override {
    Side& side = sides_[to_server ? 1 : 0];
    require(!side.ended && bytes > 0);
    side.place += bytes;
    side.since_gap = 0;
    side.last.clear();
  }
  void on_end(bool to_server) override {
    require(!sides_[to_server ? 1 : 0].ended);
    sides_[to_server ? 1 : 0].ended = true;
  }
  void on_event(bool /*to_server*/, ids::StreamEvent event) override { require(!ids::to_string(event).empty()); }

 private:
  struct Side {
    std::uint64_t place = 0, since_gap = 0;
    bool ended = false;
    std::vector<std::uint8_t> last;
  };
  std::array<Side, 2> sides_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHead = 5;
  constexpr std::array<std::uint32_t, 2> kFirst{501, 0xFFFFFFF0};
  if (size == 0) return 0;
  const std::uint8_t kind = data[0];
  ids::StreamOptions options{.memory = 8192, .flow_limit = 512, .depth = {0, 2000}};
  options.midstream = (kind & 1) != 0;
  options.one_sided = (kind & 2) != 0;
  options.immediate = (kind & 4) != 0;
  ids::StreamContext context(options);
  const auto policy = static_cast<ids::StreamPolicy>((kind >> 3) % ids::kStreamPolicies.size());
  ids::TcpSession session({policy, policy});
  Checker checker;
  for (std::size_t at = 1; at + kHead <= size;) {
    const std::uint8_t* const head = data + at;
    at += kHead;
    const bool to_server = (head[0] & 1) != 0;
    const std::size_t bytes = std::min<std::size_t>(head[4], size - at);
    const auto place = static_cast<std::uint32_t>(std::int32_t{head[2]} - 8) << ((head[0] >> 1 & 7) % 5 * 2);
    // A payload of its own lets the sanitizer find reads beyond its end.
    std::vector<std::uint8_t> payload(data + at, data + at + bytes);
    at += bytes;
    const ids::TcpSegment segment{
        .sequence = kFirst[to_server ? 1 : 0] + place,
        .acknowledgement = kFirst[to_server ? 0 : 1] + (std::uint32_t{head[3]} << (head[0] >> 4)),
        .window = static_cast<std::uint16_t>(head[1] << 4),
        .flags = static_cast<std::uint8_t>(head[1] & 0x1F),
        .window_scale = static_cast<std::int8_t>(head[0] >> 4),
        .payload = payload};
    // Whatever was imposed once holds.
    if (options.immediate && session.impose(segment, payload, to_server, context, checker)) {
      require(session.is_repetition(segment, to_server) || segment.has(ids::TcpSegment::kSyn));
      require(!session.impose(segment, payload, to_server, context, checker));
    }
    session.add(segment, to_server, context, checker);
    require(context.memory.held() <= context.memory.limit() && session.memory() == context.memory.used());
  }
  session.finish(context, checker);
  require(context.memory.used() == 0);
  return 0;
}
