// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/certificate.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>

#include "functions/ids/applications/digests.h"

namespace penumbra::ids {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint8_t kInteger = 0x02, kObject = 0x06, kUtcTime = 0x17, kGeneralizedTime = 0x18, kBmpString = 0x1E,
                       kSequence = 0x30, kSet = 0x31, kVersion = 0xA0;

struct Element {
  std::uint8_t tag = 0;
  Bytes value;
};

/// Takes the next element of DER (X.690, section 8.1). Returns nothing if it is malformed.
std::optional<Element> take(Bytes& bytes) {
  if (bytes.size() < 2) return std::nullopt;
  Element element{bytes[0], {}};
  std::size_t length = bytes[1], at = 2;
  if (length >= 0x80) {
    const std::size_t size = length & 0x7F;
    if (size == 0 || size > 4 || bytes.size() < at + size) return std::nullopt;
    length = 0;
    for (std::size_t i = 0; i < size; ++i) length = length << 8 | bytes[at++];
  }
  if (length > bytes.size() - at) return std::nullopt;
  element.value = bytes.subspan(at, length);
  bytes = bytes.subspan(at + length);
  return element;
}

std::optional<Bytes> take(Bytes& bytes, std::uint8_t tag) {
  const auto element = take(bytes);
  if (!element || element->tag != tag) return std::nullopt;
  return element->value;
}

/// Returns the short name of an attribute (RFC 4514, section 3), or its object identifier.
std::string attribute_name(Bytes object) {
  struct Name {
    std::string_view object;
    const char* name;
  };
  constexpr std::array kNames = std::to_array<Name>({{"\x55\x04\x03", "CN"},
                                                     {"\x55\x04\x04", "SN"},
                                                     {"\x55\x04\x05", "serialNumber"},
                                                     {"\x55\x04\x06", "C"},
                                                     {"\x55\x04\x07", "L"},
                                                     {"\x55\x04\x08", "ST"},
                                                     {"\x55\x04\x09", "street"},
                                                     {"\x55\x04\x0A", "O"},
                                                     {"\x55\x04\x0B", "OU"},
                                                     {"\x55\x04\x0C", "title"},
                                                     {"\x55\x04\x0D", "description"},
                                                     {"\x55\x04\x11", "postalCode"},
                                                     {"\x55\x04\x2A", "GN"},
                                                     {"\x2A\x86\x48\x86\xF7\x0D\x01\x09\x01", "emailAddress"},
                                                     {"\x09\x92\x26\x89\x93\xF2\x2C\x64\x01\x19", "DC"},
                                                     {"\x09\x92\x26\x89\x93\xF2\x2C\x64\x01\x01", "UID"}});
  const std::string_view text(reinterpret_cast<const char*>(object.data()), object.size());
  for (const Name& each : kNames) {
    if (each.object == text) return each.name;
  }
  std::string dotted;
  std::uint64_t number = 0;
  for (const std::uint8_t byte : object) {
    number = number << 7 | (byte & 0x7FU);
    if ((byte & 0x80) != 0) continue;
    if (dotted.empty()) {
      const std::uint64_t first = number < 80 ? number / 40 : 2;
      dotted = fmt::format("{}.{}", first, number - first * 40);
    } else {
      dotted += fmt::format(".{}", number);
    }
    number = 0;
  }
  return dotted;
}

/// BMPString has two bytes a letter; letters outside Latin-1 are replaced.
std::string text_of(const Element& element) {
  std::string text;
  if (element.tag != kBmpString) {
    text.assign(reinterpret_cast<const char*>(element.value.data()), element.value.size());
    return text;
  }
  for (std::size_t i = 0; i + 1 < element.value.size(); i += 2) {
    text += element.value[i] == 0 ? static_cast<char>(element.value[i + 1]) : '?';
  }
  return text;
}

bool read_name(Bytes name, std::string& text) {
  constexpr std::size_t kMostText = 4096;
  while (!name.empty()) {
    auto attributes = take(name, kSet);
    if (!attributes) return false;
    while (!attributes->empty()) {
      auto attribute = take(*attributes, kSequence);
      if (!attribute) return false;
      const auto object = take(*attribute, kObject);
      const auto value = take(*attribute);
      if (!object || !value || text.size() > kMostText) return false;
      if (!text.empty()) text += ", ";
      text += attribute_name(*object);
      text += '=';
      text += text_of(*value);
    }
  }
  return true;
}

/// Returns a time of the form YYMMDDHHMMSSZ or YYYYMMDDHHMMSSZ as "YYYY-MM-DDTHH:MM:SS" (RFC 5280, section 4.1.2.5).
std::optional<std::string> time_of(const std::optional<Element>& element) {
  if (!element || (element->tag != kUtcTime && element->tag != kGeneralizedTime)) return std::nullopt;
  std::string text = text_of(*element);
  if (element->tag == kUtcTime) text.insert(0, text < "50" ? "20" : "19");
  if (text.size() < 14 || text.find_first_not_of("0123456789") < 14) return std::nullopt;
  const auto part = [&](std::size_t at, std::size_t size) { return text.substr(at, size); };
  return part(0, 4) + "-" + part(4, 2) + "-" + part(6, 2) + "T" + part(8, 2) + ":" + part(10, 2) + ":" + part(12, 2);
}

std::string with_colons(Bytes bytes, bool capitals) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    if (!text.empty()) text += ':';
    text += capitals ? fmt::format("{:02X}", byte) : fmt::format("{:02x}", byte);
  }
  return text;
}

}  // namespace

bool read_certificate(Bytes der, Certificate& certificate) {
  constexpr std::size_t kMostSerial = 32;
  certificate = {};
  certificate.fingerprint = with_colons(sha1(der), false);
  auto outer = take(der, kSequence);
  if (!outer) return false;
  auto body = take(*outer, kSequence);
  if (!body) return false;
  if (!body->empty() && body->front() == kVersion && !take(*body)) return false;
  auto serial = take(*body, kInteger);
  if (!serial || serial->size() > kMostSerial) return false;
  // A leading zero only says that the number is positive.
  if (serial->size() > 1 && serial->front() == 0) serial = serial->subspan(1);
  certificate.serial = with_colons(*serial, true);
  if (!take(*body, kSequence)) return false;
  const auto issuer = take(*body, kSequence);
  if (!issuer || !read_name(*issuer, certificate.issuer)) return false;
  auto validity = take(*body, kSequence);
  if (!validity) return false;
  const auto begin = time_of(take(*validity)), end = time_of(take(*validity));
  if (!begin || !end) return false;
  certificate.not_before = *begin;
  certificate.not_after = *end;
  const auto subject = take(*body, kSequence);
  return subject && read_name(*subject, certificate.subject);
}

}  // namespace penumbra::ids
