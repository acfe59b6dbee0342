// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/http_transaction.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "functions/ids/applications/uri.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

bool is_equal(std::string_view name, std::string_view small) {
  return name.size() == small.size() && std::equal(name.begin(), name.end(), small.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) == b;
         });
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

struct HeaderBuffer {
  Buffer buffer;
  std::string_view name;
};
constexpr std::array kRequestHeaders = std::to_array<HeaderBuffer>({{Buffer::http_user_agent, "user-agent"},
                                                                    {Buffer::http_accept, "accept"},
                                                                    {Buffer::http_accept_language, "accept-language"},
                                                                    {Buffer::http_accept_encoding, "accept-encoding"},
                                                                    {Buffer::http_referer, "referer"}});
constexpr std::array kBothHeaders = std::to_array<HeaderBuffer>({{Buffer::http_connection, "connection"},
                                                                 {Buffer::http_content_type, "content-type"},
                                                                 {Buffer::http_content_length, "content-length"}});
constexpr std::array kResponseHeaders =
    std::to_array<HeaderBuffer>({{Buffer::http_location, "location"}, {Buffer::http_server, "server"}});

/// Takes the word before the next blanks.
std::string_view next_word(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, end);
  text = trim_left(text.substr(end));
  return word;
}

}  // namespace

void HttpMessage::clear() {
  for (std::string* text : {&start_line, &raw, &body, &normal_headers, &cookies, &header_names, &start}) text->clear();
  header_count = 0;
  body_bytes = 0;
  has_head = has_body = is_complete = false;
}

bool HttpMessage::add_line(std::string_view line) {
  const bool is_continued = line.starts_with(' ') || line.starts_with('\t');
  if (is_continued && header_count > 0) {
    // RFC 9112, section 5.2: a folded line continues the value.
    std::string& value = headers[header_count - 1].value;
    if (!value.empty()) value += ' ';
    value += trim(line);
    return true;
  }
  const std::size_t colon = line.find(':');
  if (header_count == headers.size()) headers.emplace_back();
  Header& header = headers[header_count++];
  header.name.assign(trim(line.substr(0, colon)));
  header.value.assign(colon == std::string_view::npos ? std::string_view{} : trim(line.substr(colon + 1)));
  return colon != std::string_view::npos && colon > 0;
}

const HttpMessage::Header* HttpMessage::find(std::string_view name) const {
  for (std::size_t i = 0; i < header_count; ++i) {
    if (is_equal(headers[i].name, name)) return &headers[i];
  }
  return nullptr;
}

std::string_view HttpMessage::value_of(std::string_view name) const {
  const Header* const found = find(name);
  return found == nullptr ? std::string_view{} : found->value;
}

void HttpMessage::finish_head(std::string_view cookie) {
  // Repeated headers count as one with all values (RFC 9110, section 5.3).
  std::size_t kept = 0;
  for (std::size_t i = 0; i < header_count; ++i) {
    const auto same = std::find_if(headers.begin(), headers.begin() + static_cast<std::ptrdiff_t>(kept),
                                   [&](const Header& other) { return is_equal(headers[i].name, lower(other.name)); });
    if (same != headers.begin() + static_cast<std::ptrdiff_t>(kept)) {
      same->value += ", ";
      same->value += headers[i].value;
    } else {
      if (kept != i) std::swap(headers[kept], headers[i]);
      ++kept;
    }
  }
  header_count = kept;
  header_names = "\r\n";
  for (std::size_t i = 0; i < header_count; ++i) {
    const Header& header = headers[i];
    header_names += header.name;
    header_names += "\r\n";
    if (is_equal(header.name, cookie)) {
      cookies = header.value;
      continue;
    }
    normal_headers += header.name;
    normal_headers += ": ";
    normal_headers += header.value;
    normal_headers += "\r\n";
  }
  header_names += "\r\n";
  start = start_line;
  start += "\r\n";
  start += raw;
  start += "\r\n";
  has_head = true;
}

void HttpTransaction::clear(std::uint64_t next_number) {
  number = next_number;
  request.clear();
  response.clear();
  for (std::string* text :
       {&method, &raw_uri, &uri, &protocol, &host, &status_code, &status_message, &response_protocol, &file_name}) {
    text->clear();
  }
}

bool HttpTransaction::read_request_line() {
  std::string_view rest = trim(request.start_line);
  method = next_word(rest);
  // A URI may have blanks; the protocol is the last word.
  const std::size_t last = rest.find_last_of(" \t");
  const std::string_view word = last == std::string_view::npos ? std::string_view{} : rest.substr(last + 1);
  if (lower(word.substr(0, 5)) == "http/") {
    protocol = word;
    rest = trim_right(rest.substr(0, last));
  }
  raw_uri = rest;
  normalize_uri(rest, uri);
  const std::string_view path = std::string_view(uri).substr(0, uri.find('?'));
  file_name = path.substr(path.rfind('/') + 1);
  return !raw_uri.empty();
}

bool HttpTransaction::read_status_line() {
  std::string_view rest = response.start_line;
  response_protocol = next_word(rest);
  status_code = next_word(rest);
  status_message = rest;
  return lower(response_protocol).starts_with("http/") && status() > 0;
}

int HttpTransaction::status() const {
  int code = 0;
  const auto [end, error] = std::from_chars(status_code.data(), status_code.data() + status_code.size(), code);
  return error == std::errc() && end == status_code.data() + status_code.size() ? code : 0;
}

void HttpTransaction::fill(BufferTable& buffers, bool to_server) const {
  const auto set = [&](Buffer buffer, std::string_view text) { buffers.set(buffer, bytes_of(text)); };
  buffers.clear();
  if (request.has_head) {
    set(Buffer::http_uri, uri);
    set(Buffer::http_raw_uri, raw_uri);
    set(Buffer::http_method, method);
    set(Buffer::http_protocol, protocol);
    set(Buffer::http_request_line, request.start_line);
    if (!host.empty()) set(Buffer::http_host, host);
    std::string_view raw_host = request.value_of("host");
    if (raw_host.empty()) raw_host = authority_of(raw_uri);
    if (!raw_host.empty()) set(Buffer::http_raw_host, raw_host);
    for (const HeaderBuffer& each : kRequestHeaders) {
      if (request.has_header(each.name)) set(each.buffer, request.value_of(each.name));
    }
    if (!file_name.empty()) set(Buffer::file_name, file_name);
  }
  const HttpMessage& message = to_server ? request : response;
  if (message.has_head) {
    set(Buffer::http_header, message.normal_headers);
    set(to_server ? Buffer::http_request_header : Buffer::http_response_header, message.normal_headers);
    set(Buffer::http_raw_header, std::string_view(message.start).substr(message.start_line.size() + 2));
    set(Buffer::http_header_names, message.header_names);
    set(Buffer::http_start, message.start);
    if (!message.cookies.empty()) set(Buffer::http_cookie, message.cookies);
    for (const HeaderBuffer& each : kBothHeaders) {
      if (message.has_header(each.name)) set(each.buffer, message.value_of(each.name));
    }
  }
  if (!to_server && response.has_head) {
    set(Buffer::http_protocol, response_protocol);
    set(Buffer::http_response_line, response.start_line);
    set(Buffer::http_status_code, status_code);
    set(Buffer::http_status_message, status_message);
    for (const HeaderBuffer& each : kResponseHeaders) {
      if (response.has_header(each.name)) set(each.buffer, response.value_of(each.name));
    }
  }
  if (to_server && request.has_body) set(Buffer::http_request_body, request.body);
  if (!to_server && response.has_body) set(Buffer::http_response_body, response.body);
  if (message.has_body) set(Buffer::file_data, message.body);
}

std::size_t HttpMessage::memory() const {
  // The values of the headers together are about as long as the head.
  return start_line.capacity() + 2 * raw.capacity() + headers.capacity() * sizeof(Header) + body.capacity() +
         normal_headers.capacity() + cookies.capacity() + header_names.capacity() + start.capacity();
}

}  // namespace penumbra::ids
