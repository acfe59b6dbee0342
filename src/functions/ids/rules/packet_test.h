// SPDX-License-Identifier: Apache-2.0
//
// The tests of a rule on the headers of a packet and on properties of its session.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "functions/ids/rules/interval.h"
#include "functions/ids/rules/protocol.h"

namespace penumbra::ids {

enum class HeaderField : std::uint8_t {
  payload_size,  ///< dsize
  ttl,
  tos,
  ip_id,
  ip_protocol,
  icmp_type,
  icmp_code,
  icmp_id,
  icmp_sequence,
  tcp_sequence,
  tcp_acknowledgement,
  tcp_window,
  fragment_offset,
};

struct FieldTest {
  HeaderField field;
  Interval value;
};

/// `flags` and `fragbits`: bits of a header field.
struct BitsTest {
  enum class Field : std::uint8_t { tcp_flags, fragment_bits };
  enum class Mode : std::uint8_t { exact, all, any, none };
  Field field = Field::tcp_flags;
  Mode mode = Mode::exact;
  std::uint8_t bits = 0;
  std::uint8_t ignored = 0;  ///< Bits that are cleared before the comparison.
};

namespace fragment_bits {
enum Bits : std::uint8_t { kMoreFragments = 1, kDontFragment = 2, kReserved = 4 };
}  // namespace fragment_bits

/// `ipopts`: IPv4 has the option. The values are the option numbers (IANA), or any option.
struct IpOptionTest {
  static constexpr std::uint16_t kAny = 256;
  std::uint16_t option = kAny;
};

/// `sameip`: source and destination are equal.
struct SameAddressTest {};

/// `stream_size`: the bytes that one side or both have sent.
struct StreamSizeTest {
  enum class Side : std::uint8_t { client, server, both, either };
  Side side = Side::client;
  Interval size;
};

/// `ssl_state` and `ssl_version`: sets of states and versions of TLS.
struct TlsStateTest {
  enum States : std::uint8_t { kClientHello = 1, kServerHello = 2, kClientKeyx = 4, kServerKeyx = 8, kUnknown = 16 };
  std::uint8_t states = 0;
  bool negated = false;
};
struct TlsVersionTest {
  enum Versions : std::uint8_t { kSsl2 = 1, kSsl3 = 2, kTls10 = 4, kTls11 = 8, kTls12 = 16, kTls13 = 32 };
  std::uint8_t versions = 0;
  bool negated = false;
};

/// A keyword whose value is compared with a property of an application's protocol.
struct PropertyTest {
  enum class Property : std::uint8_t { tls_subject, tls_issuer, tls_fingerprint, ssh_software, ssh_protocol };
  Property property = Property::tls_subject;
  std::string value;
  bool negated = false;
};

/// `app-layer-protocol`: the protocol of the flow, or that none was recognized.
struct ApplicationTest {
  Application application = Application::none;  ///< `none` stands for "failed".
  bool negated = false;
};

/// `ftpbounce`: a PORT command names another address than that of the client.
struct FtpBounceTest {};

using PacketTest = std::variant<FieldTest, BitsTest, IpOptionTest, SameAddressTest, StreamSizeTest, TlsStateTest,
                                TlsVersionTest, PropertyTest, ApplicationTest, FtpBounceTest>;

}  // namespace penumbra::ids
