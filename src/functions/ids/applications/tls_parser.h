// SPDX-License-Identifier: Apache-2.0
//
// Reads the handshake of TLS (RFC 8446, RFC 5246) and the hello of SSL 2.0.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "functions/ids/applications/parser.h"
#include "functions/ids/applications/tls_session.h"

namespace penumbra::ids {

class TlsParser : public ApplicationParser {
 public:
  static constexpr std::size_t kMostRecordBytes = 18432;  ///< RFC 5246, section 6.2.3: 2^14 + 2048
  static constexpr std::size_t kMostMessageBytes = 65536;

  void read(bool to_server, std::span<const std::uint8_t> bytes, ApplicationConsumer& consumer) override;
  void lose(bool to_server, std::uint64_t bytes, ApplicationConsumer& consumer) override;
  void end(bool to_server, ApplicationConsumer& consumer) override;
  std::size_t memory() const override;

  const TlsSession& session() const { return session_; }

 private:
  struct Side {
    std::array<std::uint8_t, 5> header{};  ///< Of the current record.
    std::size_t header_bytes = 0;
    std::size_t left = 0;  ///< Of the current record's content.
    std::string message;   ///< The beginning of a handshake message that is not complete.
    bool seen = false, done = false;
  };

  void begin_record(bool to_server, ApplicationConsumer& consumer);
  void read_handshake(bool to_server, std::span<const std::uint8_t> bytes, ApplicationConsumer& consumer);
  bool read_message(bool to_server, std::span<const std::uint8_t> message, ApplicationConsumer& consumer);
  bool read_client_hello(std::span<const std::uint8_t> body);
  bool read_server_hello(std::span<const std::uint8_t> body);
  bool read_certificates(std::span<const std::uint8_t> body, ApplicationConsumer& consumer);
  void report(bool to_server, ApplicationConsumer& consumer);
  void finish(ApplicationConsumer& consumer);
  void give_up(bool to_server, ApplicationEvent event, ApplicationConsumer& consumer);

  std::array<Side, 2> sides_;
  TlsSession session_;
  BufferTable buffers_;
  bool is_logged_ = false;
};

}  // namespace penumbra::ids
