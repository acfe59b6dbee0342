// SPDX-License-Identifier: Apache-2.0
//
// Runs the example in a router, from capture to capture, and opens what it sealed with OpenSSL.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <pcap/pcap.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/scratch_folder.h"
#include "control/config.h"
#include "engines/conformance.h"
#include "io/capture_writer.h"
#include "runtime/router.h"
#include "testing/packet.h"

namespace penumbra {
namespace {

using function_testing::Bytes;

constexpr std::size_t kMac = 14, kCounter = 8, kTag = 16;

std::vector<Bytes> frames_of(const std::filesystem::path& file) {
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  pcap_t* const capture = pcap_open_offline(file.c_str(), error.data());
  EXPECT_NE(capture, nullptr) << error.data();
  std::vector<Bytes> frames;
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  while (pcap_next_ex(capture, &header, &bytes) == 1) frames.emplace_back(bytes, bytes + header->caplen);
  pcap_close(capture);
  return frames;
}

/// Opens a sealed frame. Returns the frame before, without its ethertype.
Bytes opened(const Bytes& sealed, const Bytes& key) {
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                                &EVP_CIPHER_CTX_free);
  Bytes nonce(4), tag(sealed.end() - kTag, sealed.end());
  nonce.insert(nonce.end(), sealed.begin() + kMac, sealed.begin() + kMac + kCounter);
  Bytes plain(sealed.begin(), sealed.begin() + kMac);
  plain.resize(sealed.size() - kCounter - kTag);
  int length = 0;
  EXPECT_EQ(EVP_DecryptInit_ex(context.get(), EVP_aes_128_gcm(), nullptr, key.data(), nonce.data()), 1);
  EXPECT_EQ(EVP_DecryptUpdate(context.get(), plain.data() + kMac, &length, sealed.data() + kMac + kCounter,
                              static_cast<int>(plain.size() - kMac)),
            1);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kTag, tag.data()), 1);
  EXPECT_EQ(EVP_DecryptFinal_ex(context.get(), plain.data() + kMac, &length), 1);
  return plain;
}

class SealExample : public testing::TestWithParam<std::string> {};

TEST_P(SealExample, SealsEveryFrameOnceAndHoldsNoneAtTheEnd) {
  const ScratchFolder folder;
  std::vector<Bytes> sent;
  {
    io::CaptureFile file(folder.path() / "in.pcap");
    file.begin();
    io::CaptureWriter writer(file);
    for (std::uint64_t i = 0; i < 1003; ++i) {
      Bytes frame{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00};
      for (std::uint64_t k = 0; k < i % 1487; ++k) frame.push_back(static_cast<std::uint8_t>(i * 31 + k));
      writer.add(i * 50'000, frame);
      sent.push_back(frame);
    }
    writer.flush();
  }
  const Bytes key{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  auto config = control::parse_config(
      fmt::format("ports:\n  - {{name: a, device: 'pcap:{}', sink: {}}}\n"
                  "pipeline:\n  - seal: {{key: 000102030405060708090a0b0c0d0e0f, engine: {}}}\n"
                  "  - echo: {{offset: 14}}\n",
                  (folder.path() / "in.pcap").string(), (folder.path() / "out.pcap").string(), GetParam()),
      "test.yaml", ".");
  config.control.socket.clear();
  runtime::Router router(config);
  router.run({}, [](const runtime::Statistics&) {});
  const runtime::Statistics statistics = router.statistics();
  ASSERT_EQ(statistics.sent.packets, sent.size());
  EXPECT_EQ(statistics.received.packets, sent.size());
  EXPECT_EQ(statistics.created, sent.size());
  EXPECT_EQ(statistics.absorbed, sent.size());
  EXPECT_EQ(statistics.held, 0U);
  const std::vector<Bytes> out = frames_of(folder.path() / "out.pcap");
  ASSERT_EQ(out.size(), sent.size());
  std::set<Bytes> counters;
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i][12] << 8 | out[i][13], 0x88B5);
    EXPECT_TRUE(counters.insert({out[i].begin() + kMac, out[i].begin() + kMac + kCounter}).second);
    const Bytes plain = opened(out[i], key);
    ASSERT_EQ(Bytes(plain.begin() + kMac, plain.end()), Bytes(sent[i].begin() + kMac, sent[i].end())) << i;
  }
}

PENUMBRA_FOR_EACH_ENGINE(SealExample);

}  // namespace
}  // namespace penumbra
