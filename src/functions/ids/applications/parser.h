// SPDX-License-Identifier: Apache-2.0
//
// What the parsers of application protocols have in common.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "functions/ids/rules/protocol.h"
#include "functions/ids/verify/buffer_table.h"

namespace penumbra::ids {

struct DnsMessage;
struct HttpTransaction;
struct TlsSession;

/// Anomalies of a protocol.
enum class ApplicationEvent : std::uint8_t {
  http_head_too_long,     ///< A request line or its headers exceed their limit; the direction is not read any more.
  http_too_many_pending,  ///< More requests wait for a response than are remembered.
  http_invalid_line,      ///< A line is no request line, status line or header.
  http_invalid_length,    ///< A length or the size of a chunk is no number.
  http_decompression_failed,
  http_too_many_encodings,  ///< A body is encoded in more layers than are decoded.
  dns_malformed,
  tls_invalid_record,
  tls_invalid_handshake,
  tls_invalid_certificate,
  lost_bytes,  ///< Bytes that the parser needs were lost; the direction is not read any more.
};
inline constexpr std::size_t kApplicationEvents = static_cast<std::size_t>(ApplicationEvent::lost_bytes) + 1;

/// The names of the events, in the order of ApplicationEvent. Where Suricata has the event, it has this name.
inline constexpr std::array<std::string_view, kApplicationEvents> kApplicationEventNames{"REQUEST_FIELD_TOO_LONG",
                                                                                         "TOO_MANY_PENDING_REQUESTS",
                                                                                         "REQUEST_LINE_INVALID",
                                                                                         "INVALID_CONTENT_LENGTH",
                                                                                         "GZIP_DECOMPRESSION_FAILED",
                                                                                         "TOO_MANY_ENCODING_LAYERS",
                                                                                         "MALFORMED_DATA",
                                                                                         "INVALID_RECORD_HEADER",
                                                                                         "INVALID_HANDSHAKE_MESSAGE",
                                                                                         "INVALID_CERTIFICATE",
                                                                                         "LOST_BYTES"};

/// A part of a conversation on which rules are evaluated.
struct ApplicationMessage {
  Application application = Application::none;
  bool to_server = true;
  std::uint64_t transaction = 0;  ///< Counts from 0 in a flow.
  const BufferTable& buffers;     ///< Valid during the call.
  const HttpTransaction* http = nullptr;
};

/// Takes what a parser finds. References are valid during the call.
class ApplicationConsumer {
 public:
  virtual ~ApplicationConsumer() = default;
  /// A message has buffers that it did not have before. One message may be given several times.
  virtual void on_message(const ApplicationMessage& message) = 0;
  /// A request or response of HTTP has ended.
  virtual void on_http_end(bool to_server, const HttpTransaction& transaction) = 0;
  /// The transaction is complete, or its flow has ended.
  virtual void on_http(const HttpTransaction& transaction) = 0;
  virtual void on_dns(bool to_server, const DnsMessage& message) = 0;
  /// The readable part of the handshake is over.
  virtual void on_tls(const TlsSession& session) = 0;
  virtual void on_application_event(bool to_server, ApplicationEvent event) = 0;
  /// The bytes break the protocol so that Suricata's parser returns an error. on_application_event() precedes.
  virtual void on_application_error() = 0;
};

/// Reads the bytes of both directions of a flow. Memory is bounded.
class ApplicationParser {
 public:
  virtual ~ApplicationParser() = default;
  /// Reads the next bytes of a stream, or a datagram.
  virtual void read(bool to_server, std::span<const std::uint8_t> bytes, ApplicationConsumer& consumer) = 0;
  /// The next `bytes` bytes are lost.
  virtual void lose(bool to_server, std::uint64_t bytes, ApplicationConsumer& consumer) = 0;
  /// No bytes follow in the direction.
  virtual void end(bool to_server, ApplicationConsumer& consumer) = 0;
  /// Returns about how many bytes the parser holds, so that the memory of all sessions is bounded.
  virtual std::size_t memory() const = 0;
};

/// Makes the parser of a protocol, or returns null if its messages are not read. `is_stream` is false for datagrams.
std::unique_ptr<ApplicationParser> make_parser(Application application, bool is_stream);

}  // namespace penumbra::ids
