// SPDX-License-Identifier: Apache-2.0
//
// Messages of DNS (RFC 1035).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penumbra::ids {

struct DnsRecord {
  std::string name;
  std::uint16_t type = 0;
  std::uint32_t ttl = 0;
  std::string data;  ///< As text; empty for types that are not read.
};

struct DnsMessage {
  static constexpr std::uint16_t kResponse = 0x8000, kAuthoritative = 0x0400, kTruncated = 0x0200,
                                 kRecursionDesired = 0x0100, kRecursionAvailable = 0x0080;
  static constexpr std::size_t kMostQuestions = 32, kMostRecords = 64;

  std::uint64_t transaction = 0;
  std::uint16_t id = 0, flags = 0;
  std::vector<DnsRecord> questions;  ///< Without ttl and data.
  std::vector<DnsRecord> answers;

  bool is_response() const { return (flags & kResponse) != 0; }
  unsigned opcode() const { return flags >> 11 & 0xFU; }
  unsigned response_code() const { return flags & 0xFU; }
};

/// Reads a message. Returns false if it is malformed; `message` has what precedes the fault.
bool read_dns_message(std::span<const std::uint8_t> bytes, DnsMessage& message);
/// Returns true if the bytes begin like a message of DNS.
bool looks_like_dns(std::span<const std::uint8_t> bytes);

/// Returns the name of a type or of a response code, or its number.
std::string dns_type_name(std::uint16_t type);
std::string dns_response_name(unsigned code);

}  // namespace penumbra::ids
