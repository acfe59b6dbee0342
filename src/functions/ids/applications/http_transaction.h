// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "functions/ids/verify/buffer_table.h"

namespace penumbra::ids {

/// The start line, the headers and the body of a request or a response.
struct HttpMessage {
  struct Header {
    std::string name, value;
  };

  std::string start_line;
  std::string raw;              ///< The headers as received, to the empty line.
  std::vector<Header> headers;  ///< Only the first `header_count` count; the others keep their memory.
  std::size_t header_count = 0;
  std::string body;              ///< The beginning, decoded.
  std::uint64_t body_bytes = 0;  ///< As received.
  bool has_head = false, has_body = false, is_complete = false;

  // Texts that rules see.
  std::string normal_headers;  ///< "Name: value" lines without cookies.
  std::string cookies;
  std::string header_names;
  std::string start;  ///< The start line and the headers.

  void clear();
  /// Adds a line of headers, without its end. Returns false if it is no header.
  bool add_line(std::string_view line);
  /// Makes the texts that rules see. `cookie` is the header's name in small letters.
  void finish_head(std::string_view cookie);
  /// Returns the value of a header, by its name in small letters. Several values are joined by ", ".
  std::string_view value_of(std::string_view name) const;
  /// Returns about how many bytes are held.
  std::size_t memory() const;
  bool has_header(std::string_view name) const { return find(name) != nullptr; }

 private:
  const Header* find(std::string_view name) const;
};

/// A request and its response.
struct HttpTransaction {
  std::uint64_t number = 0;
  HttpMessage request, response;
  std::string method, raw_uri, uri, protocol, host;
  std::string status_code, status_message, response_protocol;
  std::string file_name;

  void clear(std::uint64_t next_number);
  /// Reads the request line. Returns false if it has no URI.
  bool read_request_line();
  bool read_status_line();
  int status() const;
  std::size_t memory() const { return sizeof(*this) + request.memory() + response.memory() + raw_uri.capacity(); }
  /// Sets the buffers of one direction. Those that only requests have stay set for a response.
  void fill(BufferTable& buffers, bool to_server) const;
};

}  // namespace penumbra::ids
