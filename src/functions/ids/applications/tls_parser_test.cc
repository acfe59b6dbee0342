// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/tls_parser.h"

#include <gtest/gtest.h>

#include <string>

#include "functions/ids/applications/digests.h"
#include "functions/ids/applications/tls_testing.h"
#include "functions/ids/rules/packet_test.h"

namespace penumbra::ids {
namespace {

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

TEST(Digests, AreThoseOfTheirStandards) {
  EXPECT_EQ(hex(md5(as_bytes(""))), "d41d8cd98f00b204e9800998ecf8427e");  // RFC 1321, A.5
  EXPECT_EQ(hex(md5(as_bytes("message digest"))), "f96b697d7cb7938d525a2f31aaf161d0");
  const std::string digits =
      "12345678901234567890123456789012345678901234567890123456789012345678901234567890";  // two blocks
  EXPECT_EQ(hex(md5(as_bytes(digits))), "57edf4a22be3c955ac49da2e2107b67a");
  EXPECT_EQ(hex(sha1(as_bytes("abc"))), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex(sha1(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");  // 56 bytes: the padding takes another block
}

/// The fingerprints of JA3 are those that tshark prints; the certificate's fields are those of `openssl x509`.
void expect_handshake(const ApplicationRecorder& recorder) {
  EXPECT_EQ(recorder.last(Buffer::tls_sni), "www.example.org");
  EXPECT_EQ(recorder.last(Buffer::ja3_string), "771,49195-49196-255,0-11-10-35-22-23-13,29-23-30-25-24,0-1-2");
  EXPECT_EQ(recorder.last(Buffer::ja3_hash), "e5a7222573ae6f6cb3e46c3583d620eb");
  EXPECT_EQ(recorder.last(Buffer::ja3s_string), "771,49196,65281-11-35-23");
  EXPECT_EQ(recorder.last(Buffer::ja3s_hash), "abade5a4a7f42baf54766e5d108283b6");
  EXPECT_EQ(recorder.last(Buffer::tls_subject), "C=DE, O=Example AG, CN=www.example.org");
  EXPECT_EQ(recorder.last(Buffer::tls_issuer), "C=DE, O=Example AG, CN=www.example.org");
  EXPECT_EQ(recorder.last(Buffer::tls_serial), "0A:1B:2C");
  EXPECT_EQ(recorder.last(Buffer::tls_fingerprint), "48:09:a8:3e:c8:32:e3:ad:c1:07:bf:48:4d:41:3d:56:7d:f9:50:c2");
  EXPECT_TRUE(recorder.last(Buffer::tls_certificates).starts_with("\x30\x82\x01\xbc"));
  EXPECT_TRUE(recorder.events.empty());
  ASSERT_EQ(recorder.tls.size(), 1U);
  const TlsSession& session = recorder.tls[0];
  EXPECT_EQ(session.version_name(), "TLS 1.2");
  EXPECT_EQ(session.version_bit(), TlsVersionTest::kTls12);
  EXPECT_EQ(session.states, 15);
  EXPECT_EQ(session.certificate.not_before, "2026-11-28T05:43:48");
  EXPECT_EQ(session.certificate.not_after, "2036-11-25T05:43:48");
}

TEST(TlsParser, ReadsAHandshakeInPiecesOfAnySize) {
  for (const std::size_t size : {1U, 2U, 7U, 100U, 5000U}) {
    TlsParser parser;
    ApplicationRecorder recorder;
    const auto send = [&](bool to_server, const std::string& text) {
      for (std::size_t at = 0; at < text.size(); at += size) {
        parser.read(to_server, as_bytes(std::string_view(text).substr(at, size)), recorder);
      }
    };
    send(true, kTlsClientHello);
    EXPECT_EQ(recorder.messages.size(), 1U);
    EXPECT_TRUE(recorder.messages[0].to_server);
    EXPECT_EQ(recorder.last(Buffer::tls_subject), "(absent)");
    send(false, kTlsServerFlight);
    send(true, kTlsClientFlight);
    expect_handshake(recorder);
  }
}

TEST(TlsParser, EndsWhereTheCertificateIsHidden) {
  TlsParser parser;
  ApplicationRecorder recorder;
  parser.read(true, as_bytes(kTlsClientHello), recorder);
  parser.read(false,
              as_bytes(from_hex("16030300 36 02000032 0303") + std::string(32, 'r') +
                       from_hex("00 1301 00 000a 002b0002 0304 ffff 0000")),
              recorder);
  EXPECT_TRUE(recorder.tls.empty());
  parser.read(false, as_bytes(from_hex("1703030001 00")), recorder);
  ASSERT_EQ(recorder.tls.size(), 1U);
  EXPECT_EQ(recorder.tls[0].version_name(), "TLS 1.3");
  EXPECT_FALSE(recorder.tls[0].has_certificate);
}

TEST(TlsParser, ReadsTheHelloOfSsl2) {
  TlsParser parser;
  ApplicationRecorder recorder;
  parser.read(true, as_bytes(from_hex("800f 01 0002 0003 0000 0004 010080 01020304")), recorder);
  parser.end(true, recorder);
  parser.end(false, recorder);
  ASSERT_EQ(recorder.tls.size(), 1U);
  EXPECT_EQ(recorder.tls[0].version_name(), "SSLv2");
}

TEST(TlsParser, GivesUpOnWhatIsNotTls) {
  struct Case {
    std::string bytes;
    ApplicationEvent event;
  };
  const Case cases[] = {
      {from_hex("99030300 0100"), ApplicationEvent::tls_invalid_record},
      {from_hex("160303ffff"), ApplicationEvent::tls_invalid_record},
      {from_hex("1603030004 01ffffff 00"), ApplicationEvent::tls_invalid_handshake},
      {from_hex("1603030006 01000002 0303"), ApplicationEvent::tls_invalid_handshake},
      {from_hex("1603030004 02000000"), ApplicationEvent::tls_invalid_handshake},  // a client sends a server's hello
  };
  for (const Case& each : cases) {
    TlsParser parser;
    ApplicationRecorder recorder;
    parser.read(true, as_bytes(each.bytes), recorder);
    parser.read(true, as_bytes(from_hex("00")), recorder);
    EXPECT_EQ(recorder.events, std::vector{each.event}) << hex(as_bytes(each.bytes));
    EXPECT_EQ(recorder.errors, 1);
    parser.read(true, as_bytes(kTlsClientHello), recorder);
    EXPECT_TRUE(recorder.messages.empty());
  }
}

TEST(TlsParser, ReportsACertificateThatItCannotRead) {
  TlsParser parser;
  ApplicationRecorder recorder;
  parser.read(false, as_bytes(from_hex("160303000f 0b00000b 000008 000005 3003020101")), recorder);
  EXPECT_EQ(recorder.events, std::vector{ApplicationEvent::tls_invalid_certificate});
  EXPECT_EQ(recorder.errors, 0);
  EXPECT_EQ(recorder.last(Buffer::tls_subject), "");
}

TEST(TlsParser, ToleratesLossOfEncryptedBytesOnly) {
  TlsParser parser;
  ApplicationRecorder recorder;
  parser.read(true, as_bytes(kTlsClientHello.substr(0, 50)), recorder);
  parser.lose(true, 10, recorder);
  EXPECT_EQ(recorder.events, std::vector{ApplicationEvent::lost_bytes});
  EXPECT_EQ(recorder.errors, 0);
  parser.read(true, as_bytes(kTlsClientHello.substr(60)), recorder);
  EXPECT_TRUE(recorder.messages.empty());
}

}  // namespace
}  // namespace penumbra::ids
