// SPDX-License-Identifier: Apache-2.0
//
// Gives bytes to each parser in pieces. The first byte names the protocol; then each piece has its side and size in a
// byte before it. The result must not depend on where the bytes are cut.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "functions/ids/applications/application_testing.h"
#include "functions/ids/applications/recognition.h"
#include "testing/fuzzing.h"

namespace {

using namespace penumbra;

constexpr std::array kKinds{ids::Application::http, ids::Application::dns, ids::Application::tls,
                            ids::Application::ssh};

struct Piece {
  bool to_server;
  std::vector<std::uint8_t> bytes;
};

ids::ApplicationRecorder run(ids::Application kind, bool is_stream, const std::vector<Piece>& pieces,
                             std::size_t most) {
  ids::ApplicationRecorder recorder;
  const auto parser = ids::make_parser(kind, is_stream);
  for (const Piece& piece : pieces) {
    for (std::size_t at = 0; at < piece.bytes.size(); at += most) {
      // A copy of its own lets the sanitizer find reads beyond its end.
      const std::size_t end = std::min(piece.bytes.size(), at + most);
      const std::vector<std::uint8_t> part(piece.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                           piece.bytes.begin() + static_cast<std::ptrdiff_t>(end));
      parser->read(piece.to_server, part, recorder);
    }
  }
  parser->end(true, recorder);
  parser->end(false, recorder);
  return recorder;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const ids::Application kind = kKinds[data[0] & 3];
  const bool is_stream = (data[0] & 4) == 0;
  std::vector<Piece> pieces;
  for (std::size_t at = 1; at < size;) {
    const std::uint8_t head = data[at++];
    const std::size_t bytes = std::min<std::size_t>(static_cast<std::size_t>(head >> 1) * 4, size - at);
    pieces.push_back({(head & 1) != 0, {data + at, data + at + bytes}});
    at += bytes;
  }
  for (const Piece& piece : pieces) {
    static_cast<void>(ids::recognize_stream(piece.to_server, piece.bytes, 53));
    static_cast<void>(ids::recognize_datagram(piece.bytes, 53));
  }
  const ids::ApplicationRecorder whole = run(kind, is_stream, pieces, 1U << 16);
  if (!is_stream) return 0;
  const ids::ApplicationRecorder cut = run(kind, is_stream, pieces, 1 + data[0] / 16U);
  fuzzing::require(whole.messages == cut.messages && whole.log == cut.log && whole.events == cut.events);
  // Lost bytes may end a direction, and nothing else.
  ids::ApplicationRecorder recorder;
  const auto parser = ids::make_parser(kind, is_stream);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i % 3 == 2) {
      parser->lose(pieces[i].to_server, pieces[i].bytes.size(), recorder);
    } else {
      parser->read(pieces[i].to_server, pieces[i].bytes, recorder);
    }
  }
  return 0;
}
