// SPDX-License-Identifier: Apache-2.0
//
// Whole routers whose functions read payload, and a switch with tables of given sizes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "control/device.h"
#include "crypto/key_material.h"
#include "crypto/plain.h"
#include "frame_fields.h"
#include "io/traffic.h"
#include "made_frames.h"
#include "network.h"
#include "router_systems.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kEthernetBytes = 14, kIpv4Bytes = 20, kUdpBytes = 8;
constexpr std::uint64_t kGatewayMac = 0x02BB00000001;

/// Writes a table that sends everything to one gateway.
void write_default_route(const std::filesystem::path& folder) {
  write_file(folder / "default.txt", "default via 192.0.2.2 dev port0\n");
  write_file(folder / "gateway.txt", "192.0.2.2 dev port0 lladdr 02:bb:00:00:00:01\n");
}
constexpr char kToGateway[] = "  - ipv4: {routes: default.txt, neighbours: gateway.txt}\n";

/// A tunnel's algorithms and lengths.
struct Suite {
  std::string name;
  cipher_algorithm cipher;
  std::uint32_t digest, salt_bytes, iv_bytes, tag_bytes;
};
const std::array<Suite, 3> kSuites{{{"AES-128-GCM", CIPHER_AES_GCM, 0, 4, 8, 16},
                                    {"AES-128-CTR and HMAC-SHA1", CIPHER_AES_CTR, HMAC_SHA1, 4, 8, 12},
                                    {"AES-128-CBC and HMAC-SHA1", CIPHER_AES_CBC, HMAC_SHA1, 0, 16, 12}}};
constexpr std::uint32_t kSecretBytes = 16, kDigestBytes = 20;

std::vector<std::uint8_t> key_bytes(std::uint32_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::uint32_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(7 * i + 1);
  return bytes;
}

/// Returns the algorithms as `ip xfrm state` writes them.
std::string algorithms_of(const Suite& suite) {
  const std::string key = fmt::format("0x{:02x}", fmt::join(key_bytes(kSecretBytes + suite.salt_bytes), ""));
  if (suite.digest == 0) return fmt::format("aead 'rfc4106(gcm(aes))' {} {}", key, 8 * suite.tag_bytes);
  return fmt::format("enc '{}' {} auth-trunc 'hmac(sha1)' 0x{:02x} {}",
                     suite.cipher == CIPHER_AES_CBC ? "cbc(aes)" : "rfc3686(ctr(aes))", key,
                     fmt::join(key_bytes(kDigestBytes), ""), 8 * suite.tag_bytes);
}

/// Opens what a router sealed, by the plain form, and compares it with the frames of its source.
class SealedFrames {
 public:
  SealedFrames(const Suite& suite, const control::SynthSource& source)
      : suite_(suite), source_(source), traffic_(source) {
    const std::vector<std::uint8_t> secret = key_bytes(kSecretBytes + suite.salt_bytes),
                                    digest = key_bytes(kDigestBytes);
    const std::span all(secret);
    expand({.cipher = suite.cipher,
            .digest = suite.digest,
            .secret = all.first(kSecretBytes),
            .digest_secret = suite.digest == 0 ? std::span<const std::uint8_t>() : digest,
            .salt = all.subspan(kSecretBytes),
            .tag_bytes = suite.tag_bytes},
           key_);
  }

  /// True if the frame has a packet of the source, sealed.
  bool has_packet(std::span<const std::uint8_t> frame) const {
    constexpr std::size_t kEspHeader = 8, kProtocol = 9, kEsp = 50;
    const std::size_t before = kEthernetBytes + kIpv4Bytes + kEspHeader + suite_.iv_bytes;
    if (frame.size() < before + suite_.tag_bytes || frame[kEthernetBytes + kProtocol] != kEsp) return false;
    const auto length = static_cast<std::uint32_t>(frame.size() - before - suite_.tag_bytes);
    const std::uint8_t* const header = frame.data() + kEthernetBytes + kIpv4Bytes;
    std::array<std::uint8_t, 16> nonce{};
    if (suite_.cipher == CIPHER_AES_CBC) {
      std::copy_n(header + kEspHeader, nonce.size(), nonce.begin());
    } else {
      cipher_esp_nonce(&key_, header + kEspHeader, nonce.data());
    }
    std::vector<std::uint8_t> inner(length);
    const cipher_packet packet{
        .source = frame.data() + before,
        .destination = inner.data(),
        .nonce = nonce.data(),
        .aad = header,
        .trailer = nullptr,
        .received_tag = frame.data() + before + length,
        .tag = nullptr,
        .bytes = length,
        .nonce_bytes = suite_.cipher == CIPHER_AES_CBC ? std::uint32_t{AES_BLOCK} : std::uint32_t{AES_CTR_NONCE},
        .aad_bytes = static_cast<std::uint32_t>(suite_.digest == 0 ? kEspHeader : kEspHeader + suite_.iv_bytes),
        .trailer_bytes = 0,
        .key = 0};
    std::uint8_t is_right = 0;
    plain_open({&key_, 1}, {&packet, 1}, &is_right);
    return is_right != 0 && is_of_source(inner);
  }

 private:
  /// Compares all but the TTL, which is one less, and the checksum.
  bool is_of_source(std::span<const std::uint8_t> inner) const {
    constexpr std::size_t kTtl = 8, kProtocol = 9, kAddresses = 12, kTcp = 20, kNumber = 6;
    constexpr std::uint8_t kUdpProtocol = 17;
    const std::size_t bytes = source_.frame_bytes - kEthernetBytes;
    if (inner.size() < bytes) return false;
    const std::size_t payload = kIpv4Bytes + (inner[kProtocol] == kUdpProtocol ? kUdpBytes : kTcp);
    std::vector<std::uint8_t> sent(source_.frame_bytes);
    if (traffic_.fill(number_at(inner, payload, kNumber), sent) != sent.size()) return false;
    const auto packet = std::span<const std::uint8_t>(sent).subspan(kEthernetBytes);
    return std::ranges::equal(inner.first(kTtl), packet.first(kTtl)) && inner[kTtl] == packet[kTtl] - 1 &&
           inner[kProtocol] == packet[kProtocol] &&
           std::ranges::equal(inner.subspan(kAddresses, bytes - kAddresses), packet.subspan(kAddresses));
  }

  const Suite suite_;
  const control::SynthSource source_;
  const io::Traffic traffic_;
  cipher_key key_{};
};

/// Returns a pattern of 8 to 23 letters.
std::string pattern_of(Random& random) {
  constexpr std::uint64_t kLeast = 8, kLengths = 16, kLetters = 26;
  std::string pattern(kLeast + random.below(kLengths), 'a');
  for (char& letter : pattern) letter = static_cast<char>('a' + random.below(kLetters));
  return pattern;
}

}  // namespace

RouterSystem RouterSystems::ipsec(std::uint16_t frame_bytes, const std::string& suite_name) const {
  const auto* const suite = std::ranges::find(kSuites, suite_name, &Suite::name);
  if (suite == kSuites.end()) throw std::invalid_argument("no suite " + suite_name);
  const auto number = static_cast<std::size_t>(suite - kSuites.begin());
  const auto file = [&](const char* name) { return fmt::format("{}-{}.txt", name, number); };
  write_file(folder_ / file("sa"), fmt::format("src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1000 reqid 1 mode tunnel "
                                               "replay-window 64 {}\n",
                                               algorithms_of(*suite)));
  write_file(folder_ / file("sp"),
             "src 0.0.0.0/0 dst 0.0.0.0/0 dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 "
             "proto esp reqid 1 mode tunnel\n");
  write_default_route(folder_);
  control::SynthSource source;
  source.frame_bytes = frame_bytes;
  source.seed = seed_;
  const auto sealed = std::make_shared<const SealedFrames>(*suite, source);
  return {.name = fmt::format("ipsec, {}, {} bytes", suite->name, frame_bytes + kFcsBytes),
          .input = fmt::format("{}-byte frames to any address, sealed for one tunnel by {}, seed {}",
                               frame_bytes + kFcsBytes, suite->name, seed_),
          .ports = fmt::format("  - {{name: port0, device: \"synth:size={},seed={}\", promiscuous: true, mtu: 1700, "
                               "addresses: [192.0.2.1/24], sink: count}}\n",
                               frame_bytes, seed_),
          .pipeline = fmt::format("  - ipsec: {{states: {}, policies: {}, marks: marks-{}, sas: 16, mtu: 1700}}\n{}",
                                  file("sa"), file("sp"), number, kToGateway),
          .may_leave =
              [sealed](std::uint16_t port, std::span<const std::uint8_t> frame) {
                return port == 0 && destination_mac(frame).value == kGatewayMac && sealed->has_packet(frame);
              },
          .functions = 2,
          .engines = {"scalar", "cuda", "auto"}};
}

RouterSystem RouterSystems::ids(std::uint16_t frame_bytes, const std::string& matcher) const {
  constexpr std::size_t kRules = 2000, kFrames = 4096 / kSanitizerScale;
  std::string rules;
  Random random(seed_);
  for (std::size_t i = 1; i <= kRules; ++i) {
    rules += fmt::format("alert udp any any -> any any (msg:\"rule {}\"; content:\"{}\"; sid:{};)\n", i,
                         pattern_of(random), i);
  }
  write_file(folder_ / "ids.rules", rules);
  write_default_route(folder_);
  const std::string capture = fmt::format("ids-{}.pcap", frame_bytes);
  write_capture(folder_ / capture, kFrames, [&](std::size_t i) {
    constexpr std::uint32_t kNear = 0xC6120000, kFar = 0xC6130000;  // 198.18.0.0/15 (RFC 2544).
    constexpr std::uint16_t kPort = 5001;
    FrameBytes frame = udp_frame(frame_bytes, kNear + static_cast<std::uint32_t>(i), kFar, kPort, kPort);
    for (std::size_t at = kEthernetBytes + kIpv4Bytes + kUdpBytes; at < frame.size(); ++at) {
      frame[at] = static_cast<std::uint8_t>(random.next());
    }
    return frame;
  });
  return {
      .name = fmt::format("ids, {} bytes", frame_bytes + kFcsBytes),
      .input = fmt::format("{} rules with a pattern each; {} flows of UDP with random data in frames of {} bytes, "
                           "seed {}",
                           kRules, kFrames, frame_bytes + kFcsBytes, seed_),
      .ports = fmt::format("  - {{name: port0, device: \"pcap:{},loop\", promiscuous: true, sink: count}}\n", capture),
      .pipeline = fmt::format("  - ids: {{rules: [ids.rules], mode: ips, matcher: {}}}\n{}", matcher, kToGateway),
      .may_leave =
          [](std::uint16_t port, std::span<const std::uint8_t> frame) {
            return port == 0 && destination_mac(frame).value == kGatewayMac;
          },
      .functions = 2,
      .engines = matcher == "hyperscan" ? std::vector<std::string>{"scalar"} : std::vector<std::string>{}};
}

RouterSystem RouterSystems::openflow(std::uint32_t exact, std::uint32_t wildcards) const {
  constexpr std::size_t kFrames = (std::size_t{1} << 17) / kSanitizerScale;
  constexpr std::uint32_t kNear = 0x0A000000, kFar = 0x14000000, kOther = 0x1E000000;
  constexpr std::uint16_t kFrameBytes = 60;
  constexpr unsigned kPrefix = 24;
  std::string flows;
  const auto port_of = [](std::uint32_t number) { return 2 + number % 2; };
  for (std::uint32_t i = 0; i < exact; ++i) {
    flows += fmt::format(
        "priority=65535,in_port=1,dl_vlan=0xffff,dl_src=02:aa:00:00:00:01,dl_dst=02:00:00:00:00:01,udp,"
        "nw_src={},nw_dst={},nw_tos=0,tp_src={},tp_dst=53 actions=output:{}\n",
        to_string(Ipv4Address{kNear + i}), to_string(Ipv4Address{kFar}), i & 0xFFFF, port_of(i));
  }
  for (std::uint32_t i = 0; i < wildcards; ++i) {
    flows += fmt::format("priority={},ip,nw_dst={}/{} actions=output:{}\n", 1 + i,
                         to_string(Ipv4Address{kOther + (i << (32 - kPrefix))}), kPrefix, port_of(i));
  }
  const std::string name = fmt::format("openflow-{}-{}", exact, wildcards);
  write_file(folder_ / (name + ".txt"), flows);
  Random random(seed_);
  write_capture(folder_ / (name + ".pcap"), kFrames, [&](std::size_t number) {
    constexpr std::uint16_t kDns = 53;
    const auto i = static_cast<std::uint32_t>(random.below(number % 2 == 0 ? exact : wildcards));
    if (number % 2 == 0) return udp_frame(kFrameBytes, kNear + i, kFar, static_cast<std::uint16_t>(i), kDns);
    const auto host = static_cast<std::uint32_t>(random.below(1U << (32 - kPrefix)));
    return udp_frame(kFrameBytes, static_cast<std::uint32_t>(random.next()), kOther + (i << (32 - kPrefix)) + host,
                     static_cast<std::uint16_t>(random.next()), kDns);
  });
  return {
      .name = fmt::format("openflow, {} and {} flows", exact, wildcards),
      .input = fmt::format("{} flows with all fields and {} with an address prefix; 64-byte frames, every second one "
                           "for a flow of either kind, seed {}",
                           exact, wildcards, seed_),
      .ports = fmt::format("  - {{name: port0, device: \"pcap:{}.pcap,loop\", promiscuous: true}}\n  - {{name: port1, "
                           "device: none}}\n  - {{name: port2, device: none}}\n",
                           name),
      .pipeline = fmt::format("  - gswitch: {{flows: {}.txt}}\n", name),
      .may_leave = [](std::uint16_t port, std::span<const std::uint8_t> frame) {
        constexpr std::size_t kSource = kEthernetBytes + 12;
        const std::uint32_t destination = ipv4_destination(frame);
        const auto number = destination == kFar ? static_cast<std::uint32_t>(number_at(frame, kSource, 4)) - kNear
                                                : (destination - kOther) >> (32 - kPrefix);
        return port == 1 + number % 2;
      }};
}

}  // namespace penumbra::bench
