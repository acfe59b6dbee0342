// SPDX-License-Identifier: Apache-2.0
//
// Jobs for measurements: ESP packets that are sealed by AES-128-GCM (RFC 4106). The key is in a table of its own, so
// that no measurement uses a key of traffic, and routers without any SA yet can measure too.
#include <array>
#include <cstring>
#include <vector>

#include "crypto/jobs/cipher_jobs.shader.h"
#include "crypto/jobs/cipher_keys.h"
#include "penumbra/sample_input.h"

namespace penumbra {
namespace {

constexpr std::size_t kJobColumn = 0;

class CipherSample final : public SampleInput {
 public:
  CipherSample() {
    static constexpr std::array<std::uint8_t, 16> kSecret{};
    job_.key = keys_.add({.cipher = CIPHER_AES_GCM, .secret = kSecret, .tag_bytes = 16});
    job_.direction = CIPHER_SEAL;
    job_.nonce_bytes = 12;
    job_.prefix_bytes = 16;  // SPI, sequence number and IV.
    job_.aad_bytes = 8;
  }

  Table* table() override { return &keys_.table(); }
  std::uint32_t room(std::uint32_t length) const override { return job_.prefix_bytes + length + 16; }
  void fill_column(std::size_t column, std::span<std::byte> elements) const override {
    if (column != kJobColumn) return;
    for (std::size_t at = 0; at + sizeof job_ <= elements.size(); at += sizeof job_) {
      std::memcpy(&elements[at], &job_, sizeof job_);
    }
  }

 private:
  NoReaders readers_;
  CipherKeys keys_{1, readers_};
  cipher_job job_{};
};

[[maybe_unused]] const bool kRegistered =
    register_sample_input("cipher_jobs", [] { return std::unique_ptr<SampleInput>(std::make_unique<CipherSample>()); });

}  // namespace
}  // namespace penumbra
