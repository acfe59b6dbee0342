// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/dns_parser.h"

#include <algorithm>

#include "penumbra/bytes.h"

namespace penumbra::ids {

void DnsParser::read_message(bool to_server, std::span<const std::uint8_t> bytes, ApplicationConsumer& consumer) {
  const bool is_whole = read_dns_message(bytes, message_);
  if (!is_whole) {
    consumer.on_application_event(to_server, ApplicationEvent::dns_malformed);
    // A datagram says nothing about the next one.
    if (is_stream_) consumer.on_application_error();
  }
  if (!is_whole && message_.questions.empty()) return;
  message_.transaction = transactions_++;
  for (const DnsRecord& question : message_.questions) {
    buffers_.clear();
    buffers_.set(Buffer::dns_query,
                 {reinterpret_cast<const std::uint8_t*>(question.name.data()), question.name.size()});
    consumer.on_message({Application::dns, to_server, message_.transaction, buffers_});
  }
  consumer.on_dns(to_server, message_);
}

void DnsParser::read(bool to_server, std::span<const std::uint8_t> bytes, ApplicationConsumer& consumer) {
  if (!is_stream_) return read_message(to_server, bytes, consumer);
  Side& side = sides_[to_server ? 1 : 0];
  constexpr std::size_t kLength = 2;
  while (!bytes.empty() && !side.given_up) {
    std::size_t wanted = kLength;
    if (side.held.size() >= kLength) {
      wanted += load_be16(reinterpret_cast<const std::uint8_t*>(side.held.data()));
    }
    const std::size_t part = std::min(bytes.size(), wanted - side.held.size());
    side.held.append(reinterpret_cast<const char*>(bytes.data()), part);
    bytes = bytes.subspan(part);
    if (side.held.size() < wanted || wanted == kLength) {
      // A length of 0 is a message without a header.
      if (side.held == std::string_view("\0\0", kLength)) side.held.clear();
      continue;
    }
    read_message(to_server, {reinterpret_cast<const std::uint8_t*>(side.held.data()) + kLength, wanted - kLength},
                 consumer);
    side.held.clear();
  }
}

void DnsParser::lose(bool to_server, std::uint64_t /*bytes*/, ApplicationConsumer& consumer) {
  Side& side = sides_[to_server ? 1 : 0];
  if (!is_stream_ || side.given_up) return;
  side.given_up = true;
  consumer.on_application_event(to_server, ApplicationEvent::lost_bytes);
}

void DnsParser::end(bool to_server, ApplicationConsumer& /*consumer*/) {
  sides_[to_server ? 1 : 0].given_up = true;
}

std::size_t DnsParser::memory() const {
  return sizeof(*this) + sides_[0].held.capacity() + sides_[1].held.capacity();
}

}  // namespace penumbra::ids
