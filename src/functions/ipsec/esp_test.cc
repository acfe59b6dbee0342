// SPDX-License-Identifier: Apache-2.0
//
// Seals and opens packets by the plain form of the ciphers. tests/test_ipsec.py compares with an oracle in Python.
#include "functions/ipsec/esp.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "control/xfrm/algorithms.h"
#include "control/xfrm/text.h"
#include "functions/ipsec/ip_fields.h"
#include "packet/checksum.h"
#include "packet/parse.h"

namespace penumbra::ipsec {
namespace {

namespace xfrm = control::xfrm;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint32_t kLink = 14;
const std::string kKey = "0x" + std::string(32, '3'), kSalted = kKey + "01020304";

/// An SA with its expanded key, and the plain form of its cipher.
class Codec {
 public:
  explicit Codec(const std::string& text)
      : sa_(std::move(xfrm::parse_states(text, "test", store_, 1).front())), format_(format_of(sa_.settings)) {
    expand(xfrm::key_material(sa_), key_);
  }

  const SaFormat& format() const { return format_; }

  /// Returns the sealed frame, or an empty one after a fault.
  Bytes seal(Bytes frame, std::uint64_t number) {
    const PacketHeaders headers = parse_headers(frame.data(), frame.size(), frame.size());
    SealPlan plan;
    fault_ = plan_seal(format_, frame.data(), headers, Aging::ages, plan);
    if (fault_ != EspFault::none) return {};
    if (format_.is_tunnel) decrement_inner(frame.data(), headers);
    frame.resize(plan.payload_at + plan.payload_bytes + plan.trailer_bytes);
    write_trailer(format_, plan, frame.data() + plan.payload_at + plan.payload_bytes);
    Bytes sealed(plan.head_bytes + plan.esp_bytes);
    const Bytes iv(16, 0x77);
    cipher_job job;
    write_seal_job(format_, key_.salt, number, iv.data(), job);
    EXPECT_EQ(run(job, frame.data() + plan.payload_at, plan.payload_bytes + plan.trailer_bytes,
                  sealed.data() + plan.head_bytes, plan.esp_bytes),
              CIPHER_DONE);
    write_seal_head(format_, plan, frame.data(), headers, 7, sealed.data());
    return sealed;
  }

  /// Returns the inner packet's frame, or an empty one after a fault or a wrong tag.
  Bytes open(const Bytes& frame, std::uint64_t number) {
    const PacketHeaders headers = parse_headers(frame.data(), frame.size(), frame.size());
    OpenPlan plan;
    fault_ = plan_open(format_, headers, headers.transport + (format_.has_udp ? kUdpHeaderBytes : 0), plan);
    if (fault_ != EspFault::none) return {};
    Bytes opened(plan.head_bytes + plan.esp_bytes);
    cipher_job job;
    write_open_job(format_, key_.salt, number, frame.data() + plan.esp_at, job);
    const auto status =
        run(job, frame.data() + plan.esp_at, plan.esp_bytes, opened.data() + plan.head_bytes, plan.esp_bytes);
    if (status != CIPHER_DONE) return {};
    std::uint32_t bytes = 0;
    fault_ = finish_open(format_, plan, frame.data(), headers, opened.data(), length_, bytes);
    opened.resize(fault_ == EspFault::none ? bytes : 0);
    return opened;
  }
  EspFault fault() const { return fault_; }

 private:
  std::uint8_t run(const cipher_job& job, const std::uint8_t* from, std::uint32_t bytes, std::uint8_t* to,
                   std::uint32_t room) {
    const cipher_jobs_view view{&key_, nullptr, 1};
    const std::uint64_t zero = 0;
    std::uint8_t status = 0xFF;
    cipher_jobs(view, &job, {from, &zero, &bytes}, {to, &zero, &room, &length_}, &status, 1);
    return status;
  }

  xfrm::KeyStore store_;
  xfrm::Sa sa_;
  SaFormat format_;
  cipher_key key_{};
  std::uint32_t length_ = 0;
  EspFault fault_ = EspFault::none;
};

/// Returns a UDP packet in Ethernet, of either family, with `bytes` bytes of data.
Bytes packet(bool is_ipv6, std::uint32_t bytes, std::uint8_t traffic, Random& random, std::uint8_t ttl = 9) {
  Bytes frame(kLink + (is_ipv6 ? kIpv6Bytes : kIpv4Bytes) + kUdpHeaderBytes + bytes);
  for (auto& byte : frame) byte = static_cast<std::uint8_t>(random.next());
  std::uint8_t* const ip = frame.data() + kLink;
  const auto length = static_cast<std::uint16_t>(frame.size() - kLink);
  store_be16(ip - 2, is_ipv6 ? ethertype::kIpv6 : ethertype::kIpv4);
  if (is_ipv6) {
    store_be32(ip, 0x60000000U | std::uint32_t{traffic} << 20U);
    store_be16(ip + 4, static_cast<std::uint16_t>(length - kIpv6Bytes));
    ip[6] = ip_protocol::kUdp;
    ip[7] = ttl;
  } else {
    ip[0] = 0x45;
    ip[1] = traffic;
    store_be16(ip + 2, length);
    store_be16(ip + 6, 0);
    ip[8] = ttl;
    ip[9] = ip_protocol::kUdp;
    write_ipv4_checksum(ip);
  }
  store_be16(ip + (is_ipv6 ? kIpv6Bytes : kIpv4Bytes) + 4, static_cast<std::uint16_t>(kUdpHeaderBytes + bytes));
  return frame;
}

struct Shape {
  std::string mode;
  bool outer_is_ipv6, inner_is_ipv6;
  std::string encapsulation, flag;
};

std::string state(const Shape& shape, const std::string& algorithms, const std::string& more = "") {
  return fmt::format(
      "src {} dst {} proto esp spi 0x1001 mode {} {} {} {} {}", shape.outer_is_ipv6 ? "2001:db8::1" : "192.0.2.1",
      shape.outer_is_ipv6 ? "2001:db8::2" : "192.0.2.2", shape.mode, shape.flag, algorithms, shape.encapsulation, more);
}

std::vector<std::string> algorithm_texts() {
  return {"aead 'rfc4106(gcm(aes))' " + kSalted + " 128",
          "aead 'rfc4543(gcm(aes))' " + kSalted + " 128",
          "aead 'rfc7539esp(chacha20,poly1305)' " + kKey + std::string(32, '5') + "01020304 128",
          "enc 'cbc(aes)' " + kKey + " auth-trunc 'hmac(sha256)' " + kKey + " 128",
          "enc 'rfc3686(ctr(aes))' " + kSalted + " auth 'hmac(sha1)' " + kKey,
          "enc 'ecb(cipher_null)' '' auth-trunc 'hmac(sha512)' " + kKey + " 256"};
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const std::string mode : {"tunnel", "transport"}) {
    for (const bool outer : {false, true}) {
      for (const bool inner : {false, true}) {
        if (mode == "transport" && outer != inner) continue;
        for (const std::string encapsulation : {"", "encap espinudp 4500 4500 0.0.0.0"}) {
          for (const std::string flag : {"replay-window 32", "replay-window 64 flag esn"}) {
            all.push_back({mode, outer, inner, encapsulation, flag});
          }
        }
      }
    }
  }
  return all;
}

TEST(Esp, OpensWhatItSealed) {
  Random random(1);
  for (const Shape& shape : shapes()) {
    for (const std::string& algorithms : algorithm_texts()) {
      Codec codec(state(shape, algorithms));
      for (const std::uint32_t bytes : {0U, 1U, 2U, 15U, 16U, 33U, 1400U}) {
        const std::uint64_t number = (codec.format().has_esn ? std::uint64_t{3} << 32 : 0) + bytes + 1;
        Bytes wanted = packet(shape.inner_is_ipv6, bytes, 0x2A, random);
        Bytes sealed = codec.seal(wanted, number);
        ASSERT_LE(sealed.size(), wanted.size() + overhead_of(codec.format()));
        const PacketHeaders headers = parse_headers(sealed.data(), sealed.size(), sealed.size());
        ASSERT_EQ(headers.fault, HeaderFault::none);
        ASSERT_EQ(headers.end, sealed.size());
        if (shape.mode == "tunnel") {
          decrement_inner(wanted.data(), parse_headers(wanted.data(), wanted.size(), wanted.size()));
        }
        ASSERT_EQ(codec.open(sealed, number), wanted) << state(shape, algorithms) << " " << bytes;
        if (codec.format().has_esn) {
          ASSERT_TRUE(codec.open(sealed, number + (std::uint64_t{1} << 32)).empty()) << "the upper half is authentic";
        }
        const std::size_t begin = headers.transport + (codec.format().has_udp ? kUdpHeaderBytes : 0);
        const std::size_t esp = sealed.size() - random.below(static_cast<std::uint32_t>(sealed.size() - begin)) - 1;
        sealed[esp] ^= static_cast<std::uint8_t>(1U << random.below(8));
        // The number and the SPI are read by the caller; the codec authenticates them by what the caller passes.
        const std::size_t at = esp - begin;
        if (at >= kEspHeaderBytes) {
          ASSERT_TRUE(codec.open(sealed, number).empty()) << "a flipped bit at " << at;
        }
      }
    }
  }
}

TEST(Esp, MarksCongestionAsRfc6040) {
  Random random(2);
  const Shape shape{"tunnel", false, false, "", ""};
  Codec codec(state(shape, algorithm_texts()[0]));
  constexpr int kDrop = -1;
  // Rows: inner Not-ECT, ECT(1), ECT(0), CE. Columns: outer Not-ECT, ECT(1), ECT(0), CE (RFC 6040, figure 4).
  constexpr int kWanted[4][4] = {{0, 0, 0, kDrop}, {1, 1, 1, 3}, {2, 1, 2, 3}, {3, 3, 3, 3}};
  for (unsigned inner = 0; inner < 4; ++inner) {
    for (unsigned outer = 0; outer < 4; ++outer) {
      Bytes sealed = codec.seal(packet(false, 20, static_cast<std::uint8_t>(0xB8 | inner), random), 1);
      ASSERT_EQ(sealed[kLink + 1], 0xB8 | inner) << "DSCP and ECN are copied to the outer header";
      sealed[kLink + 1] = static_cast<std::uint8_t>(0x20 | outer);
      const Bytes opened = codec.open(sealed, 1);
      if (kWanted[inner][outer] == kDrop) {
        EXPECT_EQ(codec.fault(), EspFault::bad_ecn);
        continue;
      }
      ASSERT_FALSE(opened.empty());
      EXPECT_EQ(opened[kLink + 1], 0xB8 | kWanted[inner][outer]) << inner << " " << outer;
      EXPECT_TRUE(ipv4_checksum_is_right(opened.data() + kLink, kIpv4Bytes));
    }
  }
}

TEST(Esp, CopiesSetsAndClearsFields) {
  Random random(3);
  const Shape shape{"tunnel", false, false, "", ""};
  Bytes with_df = packet(false, 20, 0xBA, random);
  with_df[kLink + 6] = 0x40;
  write_ipv4_checksum(with_df.data() + kLink);
  EXPECT_EQ(Codec(state(shape, algorithm_texts()[0])).seal(with_df, 1)[kLink + 6], 0x40);
  EXPECT_EQ(Codec(state(shape, algorithm_texts()[0], "flag nopmtudisc")).seal(with_df, 1)[kLink + 6], 0);
  EXPECT_EQ(Codec(state(shape, algorithm_texts()[0], "flag noecn")).seal(with_df, 1)[kLink + 1], 0xB8);
  EXPECT_EQ(Codec(state(shape, algorithm_texts()[0], "extra-flag dont-encap-dscp")).seal(with_df, 1)[kLink + 1], 2);
  const Bytes sealed =
      Codec(state({"tunnel", false, true, "", ""}, algorithm_texts()[0])).seal(packet(true, 20, 0, random), 1);
  EXPECT_EQ(sealed[kLink + 6], 0x40) << "IPv6 is never fragmented on its way";
}

TEST(Esp, RefusesWhatItCannotSeal) {
  Random random(4);
  Codec tunnel(state({"tunnel", false, false, "", ""}, algorithm_texts()[0]));
  EXPECT_TRUE(tunnel.seal(packet(false, 20, 0, random, 1), 1).empty());
  EXPECT_EQ(tunnel.fault(), EspFault::ttl);
  EXPECT_TRUE(tunnel.seal(packet(false, 65500, 0, random), 1).empty());
  EXPECT_EQ(tunnel.fault(), EspFault::too_long);
  Codec transport(state({"transport", false, false, "", ""}, algorithm_texts()[0]));
  EXPECT_TRUE(transport.seal(packet(true, 20, 0, random), 1).empty());
  EXPECT_EQ(transport.fault(), EspFault::not_transportable);
}

TEST(Esp, RefusesAuthenticGarbage) {
  Random random(5);
  Codec codec(state({"tunnel", false, false, "", ""}, algorithm_texts()[5]));
  const SaFormat& format = codec.format();
  Bytes frame = codec.seal(packet(false, 40, 0, random), 1);
  const PacketHeaders headers = parse_headers(frame.data(), frame.size(), frame.size());
  OpenPlan plan;
  ASSERT_EQ(plan_open(format, headers, headers.transport, plan), EspFault::none);
  std::uint32_t accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint32_t bytes = random.below(100);
    Bytes garbage(plan.head_bytes + bytes);
    for (auto& byte : garbage) byte = static_cast<std::uint8_t>(random.next());
    if (bytes >= 2) garbage[garbage.size() - 2] = static_cast<std::uint8_t>(random.below(3));
    if (bytes >= 2) garbage.back() = random.below(2) == 0 ? kProtocolIpv4 : kProtocolIpv6;
    if (bytes >= 6) garbage[plan.head_bytes] = random.below(2) == 0 ? 0x45 : 0x60;
    if (bytes >= 6) garbage[plan.head_bytes + 2] = 0;
    if (bytes >= 6) garbage[plan.head_bytes + 4] = 0;
    std::uint32_t length = 0;
    if (finish_open(format, plan, frame.data(), headers, garbage.data(), bytes, length) != EspFault::none) continue;
    ++accepted;
    ASSERT_LE(length, plan.head_bytes + bytes);
    ASSERT_GE(length, plan.head_bytes + kIpv4Bytes);
  }
  EXPECT_GT(accepted, 100U);
}

TEST(Esp, PadsATunnelToTheLengthOfTfc) {
  Random random(6);
  Codec codec(state({"tunnel", false, false, "", ""}, algorithm_texts()[0], "tfcpad 600"));
  for (const std::uint32_t bytes : {0U, 100U, 571U, 572U, 573U, 900U}) {
    Bytes wanted = packet(false, bytes, 0, random);
    const Bytes sealed = codec.seal(wanted, 1);
    EXPECT_GE(sealed.size(), kLink + 20U + 16U + 600U + 2U + 16U);
    decrement_inner(wanted.data(), parse_headers(wanted.data(), wanted.size(), wanted.size()));
    EXPECT_EQ(codec.open(sealed, 1), wanted);
  }
}

}  // namespace
}  // namespace penumbra::ipsec
