// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/http_parser.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "functions/ids/applications/uri.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads the digits at the beginning of a text. Servers ignore what follows a semicolon or a blank.
std::optional<std::uint64_t> number_at(std::string_view text, int base) {
  text = trim(text);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

}  // namespace

HttpTransaction* HttpParser::current(bool to_server) {
  if (pending_.empty()) return nullptr;
  return to_server ? pending_.back().get() : pending_.front().get();
}

/// Returns true if the client has not sent the whole request yet.
bool HttpParser::is_being_requested(const HttpTransaction& transaction) const {
  const Expects expects = sides_[1].expects;
  const bool is_between = expects == Expects::start_line || expects == Expects::restart || expects == Expects::nothing;
  return !is_between && &transaction == pending_.back().get();
}

HttpTransaction& HttpParser::begin_transaction(ApplicationConsumer& consumer) {
  if (pending_.size() == kMostPending) {
    consumer.on_application_event(true, ApplicationEvent::http_too_many_pending);
    finish_first(consumer);
  }
  if (unused_.empty()) unused_.push_back(std::make_unique<HttpTransaction>());
  pending_.push_back(std::move(unused_.back()));
  unused_.pop_back();
  pending_.back()->clear(transactions_++);
  return *pending_.back();
}

void HttpParser::finish_first(ApplicationConsumer& consumer) {
  consumer.on_http(*pending_.front());
  unused_.push_back(std::move(pending_.front()));
  pending_.erase(pending_.begin());
}

void HttpParser::give_up(bool to_server, ApplicationEvent event, ApplicationConsumer& consumer) {
  consumer.on_application_event(to_server, event);
  // libhtp reads a response on after the size of a chunk that is no number.
  if (to_server || event != ApplicationEvent::http_invalid_length) consumer.on_application_error();
  side(to_server).expects = Expects::nothing;
  side(to_server).line.clear();
}

void HttpParser::report(bool to_server, HttpTransaction& transaction, ApplicationConsumer& consumer) {
  transaction.fill(buffers_, to_server);
  consumer.on_message({Application::http, to_server, transaction.number, buffers_, &transaction});
}

void HttpParser::read(bool to_server, std::span<const std::uint8_t> bytes, ApplicationConsumer& consumer) {
  Side& reader = side(to_server);
  // The rest of a message that was lost need not end with its line.
  if (reader.expects == Expects::restart && text_of(bytes).starts_with("HTTP/1.")) reader.line.clear();
  while (!bytes.empty()) {
    switch (reader.expects) {
      case Expects::nothing:
        return;
      case Expects::rest:
        read_body(to_server, bytes, consumer);
        return;
      case Expects::body:
      case Expects::chunk: {
        const auto part = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), reader.left)));
        bytes = bytes.subspan(part.size());
        reader.left -= part.size();
        read_body(to_server, part, consumer);
        if (reader.left > 0) break;
        if (reader.expects == Expects::chunk) {
          reader.expects = Expects::chunk_end;
        } else {
          finish_message(to_server, consumer);
        }
        break;
      }
      default: {
        const std::string_view text = text_of(bytes);
        const std::size_t end = text.find('\n');
        const std::size_t size = end == std::string_view::npos ? text.size() : end;
        if (reader.expects == Expects::restart && reader.head_bytes + size >= kMostHeadBytes) {
          // The bytes are no text. What follows the next end of a line may be a message.
          reader.line.clear();
          reader.head_bytes = 0;
        }
        reader.head_bytes += size + (end == std::string_view::npos ? 0 : 1);
        if (reader.head_bytes > kMostHeadBytes) {
          return give_up(to_server, ApplicationEvent::http_head_too_long, consumer);
        }
        reader.line.append(text.substr(0, size));
        if (end == std::string_view::npos) return;
        bytes = bytes.subspan(size + 1);
        reader.had_return = reader.line.ends_with('\r');
        if (reader.had_return) reader.line.pop_back();
        // read_line() may set the line, so it gets a line of its own.
        std::string line;
        line.swap(reader.line);
        read_line(to_server, line, consumer);
        line.clear();
        if (reader.line.empty()) reader.line.swap(line);
      }
    }
  }
}

void HttpParser::read_line(bool to_server, std::string_view line, ApplicationConsumer& consumer) {
  Side& reader = side(to_server);
  switch (reader.expects) {
    case Expects::start_line:
      // Empty lines before a request are skipped (RFC 9112, section 2.2).
      if (trim(line).empty()) {
        reader.head_bytes = 0;
        return;
      }
      if (to_server && is_late_header(line)) {
        current(true)->request.is_complete = false;
        reader.expects = Expects::header;
        return read_line(true, line, consumer);
      }
      return read_start_line(to_server, line, consumer);
    case Expects::restart:
      return seek_start_line(to_server, line, consumer);
    case Expects::header: {
      if (line.empty()) return finish_head(to_server, consumer);
      HttpMessage& message = to_server ? current(true)->request : current(false)->response;
      if (message.header_count == kMostHeaders) {
        return give_up(to_server, ApplicationEvent::http_head_too_long, consumer);
      }
      message.raw.append(line).append("\r\n");
      if (!message.add_line(line)) consumer.on_application_event(to_server, ApplicationEvent::http_invalid_line);
      return;
    }
    case Expects::chunk_size:
      return read_chunk_size(to_server, line, consumer);
    case Expects::chunk_end:
      reader.expects = Expects::chunk_size;
      reader.head_bytes = 0;
      // Some servers take a size where the empty line is missing.
      if (!line.empty()) read_chunk_size(to_server, line, consumer);
      return;
    case Expects::trailer:
      if (line.empty()) finish_message(to_server, consumer);
      return;
    default:
      return;
  }
}

/// Returns true if a line is a header of the last request, which has seemed to have none: servers read headers after a
/// request line without its protocol.
bool HttpParser::is_late_header(std::string_view line) const {
  if (pending_.empty()) return false;
  const HttpTransaction& last = *pending_.back();
  const bool may_have_headers = last.protocol.empty() && last.request.is_complete && last.request.header_count == 0 &&
                                last.response.start_line.empty();
  const std::size_t colon = line.find(':');
  return may_have_headers && colon != std::string_view::npos && colon > 0 &&
         line.substr(0, colon).find_first_of(" \t/") == std::string_view::npos;
}

void HttpParser::read_start_line(bool to_server, std::string_view line, ApplicationConsumer& consumer) {
  Side& reader = side(to_server);
  if (to_server) {
    HttpTransaction& transaction = begin_transaction(consumer);
    transaction.request.start_line = line;
    if (!transaction.read_request_line()) {
      consumer.on_application_event(true, ApplicationEvent::http_invalid_line);
    }
    reader.expects = Expects::header;
    // A request of HTTP/0.9 has neither protocol nor headers.
    if (transaction.protocol.empty()) finish_head(true, consumer);
    return;
  }
  HttpTransaction* transaction = current(false);
  // The capture may lack the request.
  if (transaction == nullptr) transaction = &begin_transaction(consumer);
  // The server has answered a request twice that is not complete.
  if (transaction->response.is_complete) transaction->response.clear();
  transaction->response.start_line = line;
  if (transaction->read_status_line()) {
    reader.expects = Expects::header;
    return;
  }
  consumer.on_application_event(false, ApplicationEvent::http_invalid_line);
  // A response of HTTP/0.9 is a body.
  transaction->response.start_line.clear();
  static_cast<void>(reader.body.begin({}));
  reader.body_reported = false;
  reader.expects = Expects::rest;
  std::string first(line);
  first += reader.had_return ? "\r\n" : "\n";
  read_body(false, {reinterpret_cast<const std::uint8_t*>(first.data()), first.size()}, consumer);
}

/// Goes on with the first line that begins a message. A response is taken as that of the last request.
void HttpParser::seek_start_line(bool to_server, std::string_view line, ApplicationConsumer& consumer) {
  Side& reader = side(to_server);
  const bool begins =
      to_server ? line.ends_with(" HTTP/1.1") || line.ends_with(" HTTP/1.0") : line.starts_with("HTTP/1.");
  if (!begins) {
    reader.head_bytes = 0;
    return;
  }
  while (!to_server && pending_.size() > 1) finish_first(consumer);
  if (!to_server && !pending_.empty()) pending_.front()->response.clear();
  reader.body.clear();
  reader.expects = Expects::start_line;
  read_start_line(to_server, line, consumer);
}

void HttpParser::finish_head(bool to_server, ApplicationConsumer& consumer) {
  HttpTransaction& transaction = *current(to_server);
  side(to_server).head_bytes = 0;
  if (to_server) {
    transaction.request.finish_head("cookie");
    std::string_view host = transaction.request.value_of("host");
    if (const std::string_view authority = authority_of(transaction.raw_uri); !authority.empty()) host = authority;
    transaction.host.clear();
    normalize_host(host, transaction.host);
  } else {
    const int status = transaction.status();
    if (status >= 100 && status < 200 && status != 101) {
      // An interim response precedes the final one (RFC 9110, section 15.2).
      transaction.response.clear();
      side(false).expects = Expects::start_line;
      return;
    }
    transaction.response.finish_head("set-cookie");
  }
  report(to_server, transaction, consumer);
  begin_body(to_server, consumer);
}

/// Finds out how long the body is (RFC 9112, section 6.3).
void HttpParser::begin_body(bool to_server, ApplicationConsumer& consumer) {
  Side& reader = side(to_server);
  HttpTransaction& transaction = *current(to_server);
  const HttpMessage& message = to_server ? transaction.request : transaction.response;
  reader.body_reported = false;
  switch (reader.body.begin(message.value_of("content-encoding"))) {
    case HttpBody::Fault::too_many_layers:
      consumer.on_application_event(to_server, ApplicationEvent::http_too_many_encodings);
      break;
    default:
      break;
  }
  const int status = transaction.status();
  const bool is_connect = transaction.method == "CONNECT";
  if (!to_server && (status == 101 || (is_connect && status >= 200 && status < 300))) {
    // The bytes that follow are of another protocol.
    finish_message(false, consumer);
    side(false).expects = side(true).expects = Expects::nothing;
    return;
  }
  if (!to_server && (transaction.method == "HEAD" || status == 204 || status == 304)) {
    return finish_message(false, consumer);
  }
  if (lower(message.value_of("transfer-encoding")).find("chunked") != std::string::npos) {
    reader.expects = Expects::chunk_size;
    return;
  }
  if (message.has_header("content-length")) {
    const auto length = number_at(message.value_of("content-length"), 10);
    if (length) {
      reader.left = *length;
      reader.expects = Expects::body;
      if (*length == 0) finish_message(to_server, consumer);
      return;
    }
    consumer.on_application_event(to_server, ApplicationEvent::http_invalid_length);
    consumer.on_application_error();
  }
  if (to_server) return finish_message(true, consumer);
  reader.expects = Expects::rest;
}

void HttpParser::read_chunk_size(bool to_server, std::string_view line, ApplicationConsumer& consumer) {
  Side& reader = side(to_server);
  const auto size = number_at(line, 16);
  if (!size) return give_up(to_server, ApplicationEvent::http_invalid_length, consumer);
  reader.head_bytes = 0;
  reader.left = *size;
  reader.expects = *size == 0 ? Expects::trailer : Expects::chunk;
}

void HttpParser::read_body(bool to_server, std::span<const std::uint8_t> bytes, ApplicationConsumer& consumer) {
  Side& reader = side(to_server);
  HttpTransaction* const transaction = current(to_server);
  if (transaction == nullptr || bytes.empty()) return;
  HttpMessage& message = to_server ? transaction->request : transaction->response;
  message.body_bytes += bytes.size();
  if (reader.body.add(bytes) == HttpBody::Fault::failed) {
    consumer.on_application_event(to_server, ApplicationEvent::http_decompression_failed);
  }
  if (reader.body.is_full() && !reader.body_reported) report_body(to_server, consumer);
}

/// Gives the body to the rules: when it is complete, or when no more of it is kept.
void HttpParser::report_body(bool to_server, ApplicationConsumer& consumer) {
  Side& reader = side(to_server);
  HttpTransaction& transaction = *current(to_server);
  HttpMessage& message = to_server ? transaction.request : transaction.response;
  reader.body_reported = true;
  message.has_body = true;
  reader.body.move_to(message.body);
  report(to_server, transaction, consumer);
  // The body stays full, so that no more is kept.
  reader.body.move_to(message.body);
  message.body.clear();
  message.has_body = false;
}

void HttpParser::finish_message(bool to_server, ApplicationConsumer& consumer) {
  Side& reader = side(to_server);
  HttpTransaction* const transaction = current(to_server);
  reader.expects = Expects::start_line;
  reader.head_bytes = 0;
  if (transaction == nullptr) return;
  HttpMessage& message = to_server ? transaction->request : transaction->response;
  if (!reader.body_reported && !reader.body.bytes().empty()) report_body(to_server, consumer);
  reader.body.clear();
  message.is_complete = true;
  consumer.on_http_end(to_server, *transaction);
  // A response may be complete before its request. The transaction then ends with the request.
  if (to_server ? transaction == pending_.front().get() && transaction->response.is_complete
                : !is_being_requested(*transaction)) {
    finish_first(consumer);
  }
}

void HttpParser::lose(bool to_server, std::uint64_t bytes, ApplicationConsumer& consumer) {
  Side& reader = side(to_server);
  if (reader.expects == Expects::nothing || reader.expects == Expects::rest) return;
  if ((reader.expects == Expects::body || reader.expects == Expects::chunk) && bytes < reader.left) {
    reader.left -= bytes;
    return;
  }
  consumer.on_application_event(to_server, ApplicationEvent::lost_bytes);
  reader.expects = Expects::restart;
  reader.line.clear();
  reader.head_bytes = 0;
}

void HttpParser::end(bool to_server, ApplicationConsumer& consumer) {
  Side& reader = side(to_server);
  const bool in_body = reader.expects == Expects::rest || reader.expects == Expects::body ||
                       reader.expects == Expects::chunk || reader.expects == Expects::chunk_size ||
                       reader.expects == Expects::chunk_end || reader.expects == Expects::trailer;
  if (in_body && current(to_server) != nullptr) finish_message(to_server, consumer);
  reader.expects = Expects::nothing;
  if (side(false).expects != Expects::nothing) return;
  while (!pending_.empty() && !is_being_requested(*pending_.front())) finish_first(consumer);
}

std::size_t HttpParser::memory() const {
  std::size_t bytes = sizeof(*this);
  for (const Side& each : sides_) bytes += each.line.capacity() + each.body.memory();
  for (const auto* list : {&pending_, &unused_}) {
    for (const auto& transaction : *list) bytes += transaction->memory();
  }
  return bytes;
}

}  // namespace penumbra::ids
