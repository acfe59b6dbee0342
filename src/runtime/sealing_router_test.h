// SPDX-License-Identifier: Apache-2.0
//
// A router that seals synthetic packets into a capture, and one that opens them, for tests.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pcap/pcap.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/sanitizer_scale.h"
#include "control/config.h"
#include "crypto/key_material.h"
#include "crypto/plain.h"
#include "penumbra/bytes.h"

namespace penumbra::runtime {

class SealingRouter {
 public:
  static constexpr std::uint64_t kOpenedPerSecond = 2000 / kSanitizerScale;

  explicit SealingRouter(const std::string& engine)
      : folder_(std::filesystem::temp_directory_path() / fmt::format("penumbra-sealing-{}", getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    write("sa.txt", fmt::format("src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1000 reqid 1 mode tunnel "
                                "aead 'rfc4106(gcm(aes))' 0x{:0{}x} 128\n",
                                kKeyByte, 2 * (kSecretBytes + CIPHER_SALT)));
    write("sp.txt",
          "src 0.0.0.0/0 dst 0.0.0.0/0 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel\n");
    write("fwd.txt",
          "src 0.0.0.0/0 dst 0.0.0.0/0 dir fwd tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel\n");
    write("routes.txt", "default via 192.0.2.9 dev a\n");
    write("neighbours.txt", "192.0.2.2 dev a lladdr 02:bb:00:00:00:01\n192.0.2.9 dev a lladdr 02:bb:00:00:00:02\n");
    sealing_ = config_of(engine, "synth:size=200", "192.0.2.1/24", "out.pcap", "sp.txt");
    opening_ = config_of(engine, fmt::format("pcap:out.pcap,rate={}", kOpenedPerSecond), "192.0.2.2/24", "clear.pcap",
                         "fwd.txt");
  }
  ~SealingRouter() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  SealingRouter(const SealingRouter&) = delete;
  SealingRouter& operator=(const SealingRouter&) = delete;

  const control::RouterConfig& sealing() const { return sealing_; }
  /// Returns the configuration of a router that opens kOpenedPerSecond packets of the capture a second.
  const control::RouterConfig& opening() const { return opening_; }

  /// Call after the router has ended. Expects that every packet in the capture opens, and that each sequence number up
  /// to the last one is there once.
  void expect_all_sealed() const {
    std::array<std::uint8_t, kSecretBytes> secret{};
    std::array<std::uint8_t, CIPHER_SALT> salt{};
    salt.back() = kKeyByte;
    cipher_key key;
    expand(
        {.cipher = CIPHER_AES_GCM, .digest = 0, .secret = secret, .digest_secret = {}, .salt = salt, .tag_bytes = 16},
        key);
    std::array<char, PCAP_ERRBUF_SIZE> fault{};
    const std::unique_ptr<pcap_t, decltype(&pcap_close)> capture(
        pcap_open_offline((folder_ / "out.pcap").c_str(), fault.data()), &pcap_close);
    ASSERT_NE(capture, nullptr) << fault.data();
    std::vector<bool> seen;
    pcap_pkthdr* head = nullptr;
    const u_char* frame = nullptr;
    while (pcap_next_ex(capture.get(), &head, &frame) == 1) {
      constexpr std::size_t kHeader = 14 + 20, kEspHeader = 8, kBefore = kHeader + kEspHeader + CIPHER_IV, kTag = 16;
      ASSERT_GT(head->caplen, kBefore + kTag);
      std::array<std::uint8_t, AES_CTR_NONCE> nonce{};
      cipher_esp_nonce(&key, frame + kHeader + kEspHeader, nonce.data());
      const auto bytes = static_cast<std::uint32_t>(head->caplen - kBefore - kTag);
      std::vector<std::uint8_t> inner(bytes);
      const cipher_packet packet{.source = frame + kBefore,
                                 .destination = inner.data(),
                                 .nonce = nonce.data(),
                                 .aad = frame + kHeader,
                                 .trailer = nullptr,
                                 .received_tag = frame + kBefore + bytes,
                                 .tag = nullptr,
                                 .bytes = bytes,
                                 .nonce_bytes = AES_CTR_NONCE,
                                 .aad_bytes = kEspHeader,
                                 .trailer_bytes = 0,
                                 .key = 0};
      std::uint8_t is_right = 0;
      plain_open({&key, 1}, {&packet, 1}, &is_right);
      const auto number = std::size_t{__builtin_bswap32(load<std::uint32_t>(frame + kHeader + 4))};
      ASSERT_EQ(is_right, 1) << "number " << number;
      if (number >= seen.size()) seen.resize(number + 1);
      ASSERT_FALSE(seen[number]) << "number " << number << " is there twice";
      seen[number] = true;
    }
    ASSERT_GT(seen.size(), 1U);
    for (std::size_t number = 1; number < seen.size(); ++number) EXPECT_TRUE(seen[number]) << number;
  }

 private:
  static constexpr std::size_t kSecretBytes = 16;
  static constexpr std::uint8_t kKeyByte = 1;  ///< The last byte of the key; the others are 0.

  control::RouterConfig config_of(const std::string& engine, const std::string& device, const char* address,
                                  const char* sink, const char* policies) const {
    control::RouterConfig config = control::parse_config(
        fmt::format("ports:\n"
                    "  - {{name: a, device: '{}', promiscuous: true, addresses: [{}],\n"
                    "     sink: {}}}\n"
                    "engine: {}\n"
                    "pipeline:\n"
                    "  - ipsec: {{states: sa.txt, policies: {}, marks: {}.marks, sas: 16}}\n"
                    "  - ipv4: {{lookup: runs, engine: scalar, routes: routes.txt, neighbours: neighbours.txt}}\n",
                    device, address, sink, engine, policies, policies),
        "test.yaml", folder_);
    config.control.socket.clear();
    return config;
  }
  void write(const char* name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  const std::filesystem::path folder_;
  control::RouterConfig sealing_, opening_;
};

}  // namespace penumbra::runtime
