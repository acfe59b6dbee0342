// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/name_uri.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include "penumbra/errors.h"

namespace penumbra::ndn {
namespace {

constexpr std::string_view kScheme = "ndn:", kHexDigits = "0123456789ABCDEF";
constexpr std::string_view kPeriods = "...";  // added to a component of periods only

struct NamedType {
  std::string_view name;
  std::uint32_t type = 0;
};
constexpr std::array<NamedType, 2> kDigestTypes{
    {{"sha256digest", kImplicitDigestType}, {"params-sha256", kParametersDigestType}}};
/// Components with these types have a number as value.
constexpr std::array<NamedType, 5> kNumberTypes{{{"seg", 50}, {"off", 52}, {"v", 54}, {"t", 56}, {"seq", 58}}};

std::optional<unsigned> hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const char lower = static_cast<char>(digit | 0x20);
  if (lower >= 'a' && lower <= 'f') return lower - 'a' + 10;
  return std::nullopt;
}

void append_be(std::string& bytes, std::uint64_t number, std::size_t count) {
  while (count-- > 0) bytes += static_cast<char>(number >> (8 * count));
}

void append_tlv_number(std::string& bytes, std::uint64_t number) {
  if (number < 253) return append_be(bytes, number, 1);
  const bool is_short = number <= 0xFFFF;
  bytes += is_short ? '\xFD' : '\xFE';
  append_be(bytes, number, is_short ? 2 : 4);
}

/// Reads one component of a URI.
class ComponentReader {
 public:
  ComponentReader(std::string_view uri, std::size_t begin, std::size_t end) : uri_(uri), at_(begin), end_(end) {}

  void append_to(std::string& name) {
    const std::size_t equals = std::min(uri_.substr(0, end_).find('=', at_), end_);
    std::uint32_t type = kGenericType;
    std::string value;
    if (equals == end_) {
      value = escaped_value();
    } else {
      const std::string_view word = uri_.substr(at_, equals - at_);
      const auto digest = std::ranges::find(kDigestTypes, word, &NamedType::name);
      const auto number = std::ranges::find(kNumberTypes, word, &NamedType::name);
      type = digest != kDigestTypes.end()   ? digest->type
             : number != kNumberTypes.end() ? number->type
                                            : parsed_type(word);
      at_ = equals + 1;
      value = type <= kParametersDigestType  ? digest_value()
              : number != kNumberTypes.end() ? number_value()
                                             : escaped_value();
    }
    append_tlv_number(name, type);
    append_tlv_number(name, value.size());
    name += value;
  }

 private:
  NameUriError error(const std::string& message) const { return {std::min(at_, uri_.size()), message}; }

  std::uint32_t parsed_type(std::string_view word) const {
    std::uint32_t type = 0;
    const auto [stop, failure] = std::from_chars(word.data(), word.data() + word.size(), type);
    if (failure != std::errc{} || stop != word.data() + word.size() || type == 0 || type > 0xFFFF) {
      throw error(
          "expected a component's type in front of '=', a number from 1 to 65535, sha256digest, params-sha256, "
          "seg, off, v, t or seq, found " +
          quote(word) + "; in a value '=' is written %3D");
    }
    return type;
  }
  std::string digest_value() {
    std::string value;
    const std::string_view digits = uri_.substr(at_, end_ - at_);
    if (digits.size() != 2 * kComponentDigestBytes ||
        !std::ranges::all_of(digits, [](char digit) { return hex_digit(digit).has_value(); })) {
      throw error("expected the 64 hexadecimal digits of a SHA-256 digest");
    }
    for (std::size_t i = 0; i < digits.size(); i += 2) {
      value += static_cast<char>(hex_digit(digits[i]).value_or(0) << 4 | hex_digit(digits[i + 1]).value_or(0));
    }
    return value;
  }
  std::string number_value() const {
    std::uint64_t number = 0;
    const char* const last = uri_.data() + end_;
    const auto [stop, failure] = std::from_chars(uri_.data() + at_, last, number);
    if (failure != std::errc{} || stop != last) throw error("expected a number");
    std::string value;
    append_be(value, number, number <= 0xFF ? 1 : number <= 0xFFFF ? 2 : number <= 0xFFFF'FFFF ? 4 : 8);
    return value;
  }
  std::string escaped_value() {
    const std::string_view text = uri_.substr(at_, end_ - at_);
    if (text.find_first_not_of('.') == std::string_view::npos) {
      if (text.size() < kPeriods.size()) {
        throw error("expected a component; an empty one is written '...', and to one of periods alone three are added");
      }
      return std::string(text.substr(kPeriods.size()));
    }
    std::string value;
    for (; at_ < end_; ++at_) {
      if (uri_[at_] != '%') {
        value += uri_[at_];
        continue;
      }
      const auto high = at_ + 2 < end_ ? hex_digit(uri_[at_ + 1]) : std::nullopt;
      const auto low = at_ + 2 < end_ ? hex_digit(uri_[at_ + 2]) : std::nullopt;
      if (!high || !low) throw error("expected two hexadecimal digits after '%'");
      value += static_cast<char>(*high << 4 | *low);
      at_ += 2;
    }
    return value;
  }

  std::string_view uri_;
  std::size_t at_, end_;
};

bool is_unreserved(std::uint8_t byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '-' ||
         byte == '.' || byte == '_' || byte == '~';
}

void append_escaped(std::string& uri, Bytes value) {
  if (std::ranges::all_of(value, [](std::uint8_t byte) { return byte == '.'; })) uri += kPeriods;
  for (const std::uint8_t byte : value) {
    if (is_unreserved(byte)) {
      uri += static_cast<char>(byte);
    } else {
      uri += {'%', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    }
  }
}

}  // namespace

std::string parse_name_uri(std::string_view uri) {
  std::size_t at = uri.starts_with(kScheme) ? kScheme.size() : 0;
  if (at == uri.size() || uri[at] != '/') throw NameUriError(at, "expected a name, which begins with '/'");
  std::string name;
  if (at + 1 == uri.size()) return name;
  while (at < uri.size()) {
    const std::size_t end = std::min(uri.find('/', at + 1), uri.size());
    ComponentReader(uri, at + 1, end).append_to(name);
    at = end;
  }
  return name;
}

std::string to_uri(Bytes name) {
  std::string uri;
  for (Element component; take_component(name, component);) {
    uri += '/';
    const auto digest = std::ranges::find(kDigestTypes, component.type, &NamedType::type);
    if (digest != kDigestTypes.end()) {
      uri.append(digest->name) += '=';
      for (const std::uint8_t byte : component.value) {
        uri += static_cast<char>(kHexDigits[byte >> 4] | 0x20);
        uri += static_cast<char>(kHexDigits[byte & 15] | 0x20);
      }
      continue;
    }
    if (component.type != kGenericType) uri += std::to_string(component.type) + '=';
    append_escaped(uri, component.value);
  }
  return uri.empty() ? "/" : uri;
}

}  // namespace penumbra::ndn
