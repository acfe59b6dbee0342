// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the tests of application protocols.
#pragma once

#include <map>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "functions/ids/applications/dns_message.h"
#include "functions/ids/applications/http_transaction.h"
#include "functions/ids/applications/parser.h"
#include "functions/ids/applications/tls_session.h"

namespace penumbra::ids {

/// Records what a parser finds.
class ApplicationRecorder : public ApplicationConsumer {
 public:
  struct Message {
    bool to_server = true;
    std::uint64_t transaction = 0;
    std::map<Buffer, std::string> buffers;
    bool operator==(const Message&) const = default;
  };

  void on_message(const ApplicationMessage& message) override {
    Message& made = messages.emplace_back(Message{message.to_server, message.transaction, {}});
    for (const BufferInfo& info : buffers()) {
      if (const auto bytes = message.buffers.get(info.buffer)) {
        made.buffers[info.buffer] = std::string(bytes->begin(), bytes->end());
      }
    }
  }
  void on_http_end(bool to_server, const HttpTransaction& transaction) override {
    ends += (to_server ? '>' : '<') + std::to_string(transaction.number);
  }
  void on_http(const HttpTransaction& transaction) override {
    log += transaction.method + " " + transaction.raw_uri + " " + transaction.status_code + "\n";
  }
  void on_dns(bool /*to_server*/, const DnsMessage& message) override { dns.push_back(message); }
  void on_tls(const TlsSession& session) override { tls.push_back(session); }
  void on_application_event(bool /*to_server*/, ApplicationEvent event) override { events.push_back(event); }
  void on_application_error() override { ++errors; }

  /// Returns a buffer of the last message that has it.
  std::string last(Buffer buffer) const {
    for (const Message& message : std::views::reverse(messages)) {
      if (message.buffers.contains(buffer)) return message.buffers.at(buffer);
    }
    return "(absent)";
  }

  std::vector<Message> messages;
  std::string log, ends;
  std::vector<DnsMessage> dns;
  std::vector<TlsSession> tls;
  std::vector<ApplicationEvent> events;
  int errors = 0;
};

inline std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// Returns the bytes of hexadecimal digits; blanks are skipped.
inline std::string from_hex(std::string_view digits) {
  std::string bytes;
  std::string pair;
  for (const char digit : digits) {
    if (digit == ' ' || digit == '\n') continue;
    pair += digit;
    if (pair.size() < 2) continue;
    bytes += static_cast<char>(std::stoi(pair, nullptr, 16));
    pair.clear();
  }
  return bytes;
}

}  // namespace penumbra::ids
