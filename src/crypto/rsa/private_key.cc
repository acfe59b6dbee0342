// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa/private_key.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace penumbra::rsa {
namespace {

enum Tag : std::uint8_t { kInteger = 0x02, kOctets = 0x04, kSequence = 0x30 };

/// The content of rsaEncryption with NULL as its parameters (RFC 8017, appendix A.1).
constexpr std::array<std::uint8_t, 13> kRsaEncryption{0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7,
                                                      0x0D, 0x01, 0x01, 0x01, 0x05, 0x00};

void require(bool holds, const char* otherwise) {
  if (!holds) throw std::invalid_argument(otherwise);
}

/// Reads elements of DER one after the next.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> rest) : rest_(rest) {}

  /// Returns the content of the next element.
  std::span<const std::uint8_t> take(Tag tag) {
    constexpr std::size_t kLong = 0x80;  // The length follows in bytes of its own.
    constexpr std::size_t kMostLengthBytes = 2;
    require(rest_.size() >= 2 && rest_[0] == tag, kBroken);
    std::size_t length = rest_[1], at = 2;
    if (length >= kLong) {
      const std::size_t count = length - kLong;
      require(count >= 1 && count <= kMostLengthBytes && rest_.size() >= at + count, kBroken);
      for (length = 0; at < 2 + count; ++at) length = length << 8 | rest_[at];
      require(length >= (count == 1 ? kLong : std::size_t{0x100}), kBroken);  // DER has the shortest form
    }
    require(length <= rest_.size() - at, kBroken);
    const auto content = rest_.subspan(at, length);
    rest_ = rest_.subspan(at + length);
    return content;
  }
  /// Returns a number that is not negative, most significant byte first.
  std::span<const std::uint8_t> take_number() {
    const auto number = take(kInteger);
    require(!number.empty() && number[0] < 0x80, kBroken);
    require(number.size() == 1 || number[0] != 0 || number[1] >= 0x80, kBroken);  // DER has no further zeros
    return number;
  }
  /// Throws if an element follows.
  void end() const { require(rest_.empty(), kBroken); }

 private:
  static constexpr char kBroken[] = "the encoding of the key is damaged";

  std::span<const std::uint8_t> rest_;
};

using Bytes = std::vector<std::uint8_t>;

void append(Bytes& to, std::span<const std::uint8_t> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Appends an element of less than 64 KiB.
void append(Bytes& to, Tag tag, std::span<const std::uint8_t> content) {
  constexpr std::uint8_t kTwoBytes = 0x82;
  to.push_back(tag);
  if (content.size() >= 0x100) {
    append(to, std::array{kTwoBytes, static_cast<std::uint8_t>(content.size() >> 8)});
  } else if (content.size() >= 0x80) {
    to.push_back(0x81);
  }
  to.push_back(static_cast<std::uint8_t>(content.size()));
  append(to, content);
}

void append_number(Bytes& to, std::span<const std::uint8_t> number) {
  const auto first = std::ranges::find_if(number, [](std::uint8_t byte) { return byte != 0; });
  Bytes positive{0};
  positive.insert(positive.end(), first, number.end());
  const bool has_room = positive.size() > 1 && positive[1] < 0x80;
  append(to, kInteger, std::span(positive).subspan(has_room ? 1 : 0));
}

void append_number(Bytes& to, std::uint8_t number) {
  append_number(to, std::array{number});
}

std::string pem_of(std::span<const std::uint8_t> der) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t kBytesOfLine = 48;
  std::string text = "-----BEGIN PRIVATE KEY-----\n";
  for (std::size_t at = 0; at < der.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, der.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) group = group << 8 | (i < count ? der[at + i] : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= count ? kLetters[group >> (18 - 6 * i) & 63] : '=';
    if ((at + 3) % kBytesOfLine == 0) text += '\n';
  }
  if (text.back() != '\n') text += '\n';
  return text + "-----END PRIVATE KEY-----\n";
}

}  // namespace

PrivateKey read_private_key(std::span<const std::uint8_t> der, bool is_pkcs8) {
  if (is_pkcs8) {
    Reader file(der);
    Reader info(file.take(kSequence));
    file.end();
    info.take_number();  // the version; attributes may follow the key
    // Some programs leave the NULL out.
    const auto algorithm = info.take(kSequence), name = std::span(kRsaEncryption).first(kRsaEncryption.size() - 2);
    require(std::ranges::equal(algorithm, kRsaEncryption) || std::ranges::equal(algorithm, name),
            "the key is no RSA key (rsaEncryption)");
    der = info.take(kOctets);
  }
  Reader file(der);
  Reader key(file.take(kSequence));
  file.end();
  const auto version = key.take_number();
  require(version.size() == 1 && version[0] == 0, "the key has more than two primes");
  PrivateKey read;
  for (auto* const part : {&read.parts.modulus, &read.parts.public_exponent, &read.private_exponent, &read.parts.prime1,
                           &read.parts.prime2, &read.parts.exponent1, &read.parts.exponent2, &read.parts.coefficient}) {
    *part = key.take_number();
  }
  key.end();
  return read;
}

bool is_reference(std::span<const std::uint8_t> private_exponent) {
  while (!private_exponent.empty() && private_exponent[0] == 0) private_exponent = private_exponent.subspan(1);
  return std::ranges::equal(private_exponent, kReferenceMark,
                            [](std::uint8_t byte, char letter) { return byte == static_cast<std::uint8_t>(letter); });
}

std::string write_reference(const KeyParts& parts) {
  constexpr std::uint8_t kPrime = 2, kOther = 1;
  Bytes numbers, info, der;
  append_number(numbers, 0);
  append_number(numbers, parts.modulus);
  append_number(numbers, parts.public_exponent);
  append_number(numbers, Bytes(kReferenceMark.begin(), kReferenceMark.end()));
  for (const std::uint8_t each : {kPrime, kPrime, kOther, kOther, kOther}) append_number(numbers, each);
  Bytes key;
  append(key, kSequence, numbers);
  append_number(info, 0);
  append(info, kSequence, kRsaEncryption);
  append(info, kOctets, key);
  append(der, kSequence, info);
  return pem_of(der);
}

}  // namespace penumbra::rsa
