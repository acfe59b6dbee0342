// SPDX-License-Identifier: Apache-2.0
#include "crypto_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench.h"
#include "lookup_contender.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kSecretBytes = 64, kHeader = 24, kNonceRoom = 16;
/// Bytes of a packet's place: an odd number of lines, so that packets spread over the sets of a cache.
constexpr std::size_t kRoom = std::size_t{37} * 64;

}  // namespace

CipherSecrets::CipherSecrets(const CipherSuite& suite, std::size_t keys, Random& random) : bytes_(keys * kSecretBytes) {
  for (auto& byte : bytes_) byte = static_cast<std::uint8_t>(random.next());
  for (std::size_t i = 0; i < keys; ++i) {
    const std::span<const std::uint8_t> own = std::span(bytes_).subspan(i * kSecretBytes, kSecretBytes);
    materials_.push_back({.cipher = suite.cipher,
                          .digest = suite.digest,
                          .secret = own.first(suite.secret_bytes),
                          .digest_secret = own.last(suite.digest == 0 ? 0 : 32),
                          .tag_bytes = suite.tag_bytes});
  }
}

CipherPackets::CipherPackets(const CipherSuite& suite, std::uint32_t bytes, std::size_t chunks, std::size_t keys,
                             Random& random)
    : bytes_(bytes),
      tag_bytes_(suite.tag_bytes),
      plain_(kChunk * kRoom),
      sealed_(kChunk * kRoom),
      opened_(kChunk * kRoom),
      nonces_(kChunk * kNonceRoom) {
  for (auto* const filled : {&plain_, &sealed_, &nonces_}) {
    for (auto& byte : *filled) byte = static_cast<std::uint8_t>(random.next());
  }
  for (std::size_t i = 0; i < chunks * kChunk; ++i) {
    const std::size_t place = i % kChunk, at = place * kRoom + kHeader;
    cipher_packet sealing{}, opening{};
    sealing.source = &plain_[at];
    sealing.destination = &sealed_[at];
    sealing.nonce = &nonces_[place * kNonceRoom];
    sealing.aad = &sealed_[at - suite.aad_bytes];
    sealing.tag = &sealed_[at + bytes];
    sealing.bytes = bytes;
    sealing.nonce_bytes = suite.cipher == CIPHER_AES_CBC ? 16 : 12;
    sealing.aad_bytes = suite.aad_bytes;
    sealing.key = random.below(static_cast<std::uint32_t>(keys));
    opening = sealing;
    opening.source = &sealed_[at];
    opening.destination = &opened_[at];
    opening.received_tag = &sealed_[at + bytes];
    sealing_.push_back(sealing);
    opening_.push_back(opening);
  }
}

void CipherPackets::forget() {
  for (const cipher_packet& each : sealing_) std::fill_n(each.destination, bytes_ + tag_bytes_, std::uint8_t{0});
  std::ranges::fill(opened_, std::uint8_t{0});
}

std::vector<std::uint8_t> CipherPackets::results(const std::vector<std::uint8_t>& room, std::size_t bytes) {
  std::vector<std::uint8_t> all;
  for (std::size_t i = 0; i < kChunk; ++i) {
    const auto begin = room.begin() + static_cast<std::ptrdiff_t>(i * kRoom + kHeader);
    all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
  }
  return all;
}

CipherForms::CipherForms(std::span<const KeyMaterial> materials) : expanded_(materials.size()), bare_(materials) {
  for (std::size_t i = 0; i < materials.size(); ++i) {
    expand(materials[i], plain_.emplace_back());
    worker_.expand(materials[i], expanded_[i]);
  }
}

std::size_t CipherForms::run(const std::string& name, std::span<const cipher_packet> packets, bool is_sealed) {
  if (name == kBareLibrary) return is_sealed ? bare_.seal(packets) : bare_.open(packets);
  std::array<std::uint8_t, kChunk> results;
  if (name == kPlainForm) {
    (is_sealed ? plain_seal : plain_open)(plain_, packets, results.data());
  } else if (is_sealed) {
    worker_.seal(expanded_, packets, results.data());
  } else {
    worker_.open(expanded_, packets, results.data());
  }
  return static_cast<std::size_t>(std::ranges::count(results, 1));
}

void CipherForms::check(CipherPackets& packets, const std::string& what) {
  for (std::size_t i = 0; i < packets.chunks(); ++i) {
    std::vector<std::uint8_t> right;
    for (const std::string name : {kPlainForm, kLibraryForm, kBareLibrary}) {
      packets.forget();
      const std::size_t sealed = run(name, packets.chunk(i, true), true);
      if (right.empty()) right = packets.sealed();
      const bool is_right = sealed == kChunk && packets.sealed() == right;
      if (!is_right || run(name, packets.chunk(i, false), false) != kChunk || packets.opened() != packets.plain()) {
        throw WrongAnswer(fmt::format("{}: {} gives other bytes than the plain form", what, name));
      }
    }
  }
}

double CipherForms::measure(const std::string& name, const CipherPackets& packets, bool is_sealed, std::size_t times) {
  const double begin = thread_time();
  for (std::size_t time = 0; time < times; ++time) {
    for (std::size_t i = 0; i < packets.chunks(); ++i) {
      run(name, packets.chunk(i, is_sealed), is_sealed);
      keep(&packets);
    }
  }
  const double bits = 8.0 * packets.bytes() * kChunk * static_cast<double>(packets.chunks() * times);
  return 1e-9 * bits / (thread_time() - begin);
}

}  // namespace penumbra::bench
