// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "functions/ids/applications/dns_message.h"
#include "functions/ids/applications/parser.h"

namespace penumbra::ids {

/// Reads DNS over UDP, or over TCP with the length before each message (RFC 1035, section 4.2.2).
class DnsParser : public ApplicationParser {
 public:
  explicit DnsParser(bool is_stream) : is_stream_(is_stream) {}

  void read(bool to_server, std::span<const std::uint8_t> bytes, ApplicationConsumer& consumer) override;
  void lose(bool to_server, std::uint64_t bytes, ApplicationConsumer& consumer) override;
  void end(bool to_server, ApplicationConsumer& consumer) override;
  std::size_t memory() const override;

 private:
  struct Side {
    std::string held;  ///< The beginning of a message that is not complete, with its length.
    bool given_up = false;
  };
  void read_message(bool to_server, std::span<const std::uint8_t> bytes, ApplicationConsumer& consumer);

  bool is_stream_;
  std::array<Side, 2> sides_;
  DnsMessage message_;
  std::uint64_t transactions_ = 0;
  BufferTable buffers_;
};

}  // namespace penumbra::ids
