// SPDX-License-Identifier: Apache-2.0
//
// Reads HTTP/1 (RFC 9112) as tolerantly as servers do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "functions/ids/applications/http_body.h"
#include "functions/ids/applications/http_transaction.h"
#include "functions/ids/applications/parser.h"

namespace penumbra::ids {

class HttpParser : public ApplicationParser {
 public:
  static constexpr std::size_t kMostHeadBytes = 65536;  ///< Of a start line and its headers.
  static constexpr std::size_t kMostHeaders = 1024;
  static constexpr std::size_t kMostPending = 64;  ///< Requests without a complete response.

  void read(bool to_server, std::span<const std::uint8_t> bytes, ApplicationConsumer& consumer) override;
  void lose(bool to_server, std::uint64_t bytes, ApplicationConsumer& consumer) override;
  void end(bool to_server, ApplicationConsumer& consumer) override;
  std::size_t memory() const override;

 private:
  enum class Expects : std::uint8_t {
    start_line,
    header,
    body,  ///< `left` bytes.
    chunk_size,
    chunk,      ///< `left` bytes.
    chunk_end,  ///< The empty line after a chunk.
    trailer,
    restart,  ///< A start line, after bytes that were lost.
    rest,     ///< A body up to the end of the stream.
    nothing,  ///< The direction is not read any more.
  };
  struct Side {
    Expects expects = Expects::start_line;
    std::string line;         ///< The beginning of a line that is not complete.
    bool had_return = false;  ///< The last line ended with CR LF.
    std::size_t head_bytes = 0;
    std::uint64_t left = 0;
    HttpBody body;
    bool body_reported = false;
  };

  void read_line(bool to_server, std::string_view line, ApplicationConsumer& consumer);
  void read_start_line(bool to_server, std::string_view line, ApplicationConsumer& consumer);
  bool is_late_header(std::string_view line) const;
  void seek_start_line(bool to_server, std::string_view line, ApplicationConsumer& consumer);
  void finish_head(bool to_server, ApplicationConsumer& consumer);
  void begin_body(bool to_server, ApplicationConsumer& consumer);
  void read_chunk_size(bool to_server, std::string_view line, ApplicationConsumer& consumer);
  void read_body(bool to_server, std::span<const std::uint8_t> bytes, ApplicationConsumer& consumer);
  void report_body(bool to_server, ApplicationConsumer& consumer);
  void finish_message(bool to_server, ApplicationConsumer& consumer);
  void report(bool to_server, HttpTransaction& transaction, ApplicationConsumer& consumer);
  void give_up(bool to_server, ApplicationEvent event, ApplicationConsumer& consumer);
  /// The transaction that the direction reads now, or null.
  HttpTransaction* current(bool to_server);
  HttpTransaction& begin_transaction(ApplicationConsumer& consumer);
  bool is_being_requested(const HttpTransaction& transaction) const;
  void finish_first(ApplicationConsumer& consumer);

  Side& side(bool to_server) { return sides_[to_server ? 1 : 0]; }

  std::array<Side, 2> sides_;
  std::vector<std::unique_ptr<HttpTransaction>> pending_;  ///< In the order of their requests.
  std::vector<std::unique_ptr<HttpTransaction>> unused_;   ///< Their memory is used again.
  std::uint64_t transactions_ = 0;
  BufferTable buffers_;
};

}  // namespace penumbra::ids
