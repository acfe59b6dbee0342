// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/dns_message.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "penumbra/bytes.h"
#include "penumbra/ip.h"

namespace penumbra::ids {
namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::uint16_t kA = 1, kNs = 2, kCname = 5, kSoa = 6, kPtr = 12, kMx = 15, kTxt = 16, kAaaa = 28, kSrv = 33;

/// Reads a name at `at`, and sets `at` to the byte after it. Returns nothing if it is malformed.
std::optional<std::string> read_name(std::span<const std::uint8_t> bytes, std::size_t& at) {
  constexpr std::size_t kMostName = 255, kMostPointers = 32;
  std::string name;
  std::size_t place = at, pointers = 0;
  bool jumped = false;
  while (true) {
    if (place >= bytes.size()) return std::nullopt;
    const std::uint8_t length = bytes[place];
    if ((length & 0xC0) == 0xC0) {
      if (place + 2 > bytes.size() || ++pointers > kMostPointers) return std::nullopt;
      if (!jumped) at = place + 2;
      jumped = true;
      place = load_be16(&bytes[place]) & 0x3FFF;
      continue;
    }
    if ((length & 0xC0) != 0 || place + 1 + length > bytes.size()) return std::nullopt;
    if (length == 0) {
      if (!jumped) at = place + 1;
      return name;
    }
    if (!name.empty()) name += '.';
    name.append(reinterpret_cast<const char*>(&bytes[place + 1]), length);
    if (name.size() > kMostName) return std::nullopt;
    place += 1U + length;
  }
}

/// Returns the data of a record from `begin` to `end` as text, or nothing if it is malformed.
std::optional<std::string> read_data(std::span<const std::uint8_t> bytes, std::uint16_t type, std::size_t begin,
                                     std::size_t end) {
  const std::size_t size = end - begin;
  std::size_t at = begin;
  switch (type) {
    case kA:
      if (size != 4) return std::nullopt;
      return to_string(Ipv4Address{load_be32(&bytes[begin])});
    case kAaaa: {
      if (size != 16) return std::nullopt;
      std::string text;
      for (std::size_t i = 0; i < 16; i += 2)
        text += fmt::format("{}{:04x}", i == 0 ? "" : ":", load_be16(&bytes[begin + i]));
      return text;
    }
    case kNs:
    case kCname:
    case kPtr:
    case kSoa:
      return read_name(bytes.first(end), at);
    case kMx:
      if (size < 3) return std::nullopt;
      at += 2;
      return read_name(bytes.first(end), at);
    case kSrv:
      if (size < 7) return std::nullopt;
      at += 6;
      return read_name(bytes.first(end), at);
    case kTxt: {
      std::string text;
      while (at < end) {
        const std::size_t length = bytes[at];
        if (at + 1 + length > end) return std::nullopt;
        text.append(reinterpret_cast<const char*>(&bytes[at]) + 1, length);
        at += 1 + length;
      }
      return text;
    }
    default:
      return std::string();
  }
}

}  // namespace

bool looks_like_dns(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes) return false;
  const unsigned opcode = bytes[2] >> 3 & 0xFU;
  const std::uint16_t questions = load_be16(&bytes[4]), answers = load_be16(&bytes[6]);
  const bool is_response = (bytes[2] & 0x80) != 0;
  return opcode <= 6 && (bytes[3] & 0x40) == 0 && questions <= DnsMessage::kMostQuestions &&
         (is_response ? questions + answers > 0 || (bytes[3] & 0xF) != 0 : questions > 0);
}

bool read_dns_message(std::span<const std::uint8_t> bytes, DnsMessage& message) {
  message.questions.clear();
  message.answers.clear();
  if (bytes.size() < kHeaderBytes) return false;
  message.id = load_be16(bytes.data());
  message.flags = load_be16(&bytes[2]);
  const std::uint16_t questions = load_be16(&bytes[4]), answers = load_be16(&bytes[6]);
  std::size_t at = kHeaderBytes;
  for (std::size_t i = 0; i < questions; ++i) {
    auto name = read_name(bytes, at);
    if (!name || at + 4 > bytes.size() || i == DnsMessage::kMostQuestions) return false;
    message.questions.push_back({std::move(*name), load_be16(&bytes[at]), 0, {}});
    at += 4;
  }
  for (std::size_t i = 0; i < answers && i < DnsMessage::kMostRecords; ++i) {
    auto name = read_name(bytes, at);
    if (!name || at + 10 > bytes.size()) return false;
    const std::uint16_t type = load_be16(&bytes[at]), size = load_be16(&bytes[at + 8]);
    const std::uint32_t ttl = load_be32(&bytes[at + 4]);
    at += 10;
    if (at + size > bytes.size()) return false;
    auto data = read_data(bytes, type, at, at + size);
    if (!data) return false;
    message.answers.push_back({std::move(*name), type, ttl, std::move(*data)});
    at += size;
  }
  return true;
}

std::string dns_type_name(std::uint16_t type) {
  struct Name {
    std::uint16_t type;
    const char* name;
  };
  constexpr std::array kNames = std::to_array<Name>(
      {{kA, "A"},    {kNs, "NS"},   {kCname, "CNAME"}, {kSoa, "SOA"}, {kPtr, "PTR"},  {13, "HINFO"},
       {kMx, "MX"},  {kTxt, "TXT"}, {kAaaa, "AAAA"},   {kSrv, "SRV"}, {35, "NAPTR"},  {39, "DNAME"},
       {41, "OPT"},  {43, "DS"},    {46, "RRSIG"},     {47, "NSEC"},  {48, "DNSKEY"}, {50, "NSEC3"},
       {52, "TLSA"}, {64, "SVCB"},  {65, "HTTPS"},     {99, "SPF"},   {252, "AXFR"},  {255, "ANY"}});
  for (const Name& each : kNames) {
    if (each.type == type) return each.name;
  }
  return fmt::format("{}", type);
}

std::string dns_response_name(unsigned code) {
  constexpr std::array<const char*, 11> kNames{"NOERROR",  "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED",
                                               "YXDOMAIN", "YXRRSET", "NXRRSET",  "NOTAUTH",  "NOTZONE"};
  return code < kNames.size() ? kNames[code] : fmt::format("{}", code);
}

}  // namespace penumbra::ids
