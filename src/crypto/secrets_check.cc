// SPDX-License-Identifier: Apache-2.0
//
// Runs every algorithm of a form with keys and payload that valgrind takes for undefined. Memcheck then reports every
// branch and every address that depends on them (tests/test_crypto.py runs this program).
//
//   secrets_check plain|ipsec_mb|leak
//
// `leak` looks up a table by a secret, so that memcheck must complain. Without valgrind or its headers the program
// exits with 77.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "crypto/forms_testing.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>

namespace penumbra::crypto_testing {
namespace {

constexpr std::uint32_t kPackets = 3;
constexpr std::uint32_t kMostPayload = 1500;

/// Returns `count` secret bytes.
std::vector<std::uint8_t> secret_bytes(std::size_t count) {
  std::vector<std::uint8_t> bytes(count, 0x5C);
  VALGRIND_MAKE_MEM_UNDEFINED(bytes.data(), bytes.size());
  return bytes;
}

/// Throws std::logic_error unless memcheck takes all bytes for undefined. Otherwise it would report nothing.
void require_secret(const std::vector<std::uint8_t>& bytes, std::size_t count) {
  std::vector<std::uint8_t> undefined_bits(count);
  if (count == 0) return;
  VALGRIND_GET_VBITS(bytes.data(), undefined_bits.data(), count);
  for (const std::uint8_t bits : undefined_bits) {
    if (bits == 0) throw std::logic_error("memcheck lost sight of a secret");
  }
}

/// Seals packets with one key, and opens them again.
void run_key(Form& form, const KeyMaterial& material) {
  const std::uint32_t key = form.add(material);
  const std::vector<std::uint8_t> aad(13, 1), nonce(16, 2), trailer(4, 3);
  const bool has_digest = material.digest != 0;
  for (const std::uint32_t bytes : {0U, 16U, 64U, 400U, kMostPayload / 16 * 16}) {
    const std::vector<std::uint8_t> payload = secret_bytes(bytes);
    std::vector<std::vector<std::uint8_t>> sealed(kPackets, std::vector<std::uint8_t>(bytes + 1)), opened = sealed;
    std::vector<std::vector<std::uint8_t>> tags(kPackets, std::vector<std::uint8_t>(CIPHER_MOST_TAG));
    std::vector<cipher_packet> packets(kPackets);
    for (std::uint32_t i = 0; i < kPackets; ++i) {
      packets[i].source = payload.data();
      packets[i].destination = sealed[i].data();
      packets[i].nonce = nonce.data();
      packets[i].aad = aad.data();
      packets[i].trailer = trailer.data();
      packets[i].tag = tags[i].data();
      packets[i].received_tag = tags[i].data();
      packets[i].bytes = bytes;
      packets[i].nonce_bytes = material.cipher == CIPHER_AES_CBC ? 16 : 12;
      packets[i].aad_bytes = has_digest || material.tag_bytes != 0 ? static_cast<std::uint32_t>(aad.size()) : 0;
      packets[i].trailer_bytes = has_digest ? 4 : 0;
      packets[i].key = key;
    }
    std::uint8_t results[kPackets];
    form.seal(packets, results);
    for (std::uint32_t i = 0; i < kPackets; ++i) {
      require_secret(sealed[i], bytes);
      require_secret(tags[i], material.tag_bytes);
    }
    for (std::uint32_t i = 0; i < kPackets; ++i) {
      packets[i].source = sealed[i].data();
      packets[i].destination = opened[i].data();
    }
    form.open(packets, results);
    for (std::uint32_t i = 0; i < kPackets; ++i) require_secret(opened[i], bytes);
  }
}

void run_form(Form& form) {
  const std::vector<std::uint8_t> secret = secret_bytes(32), digest_secret = secret_bytes(150);
  const std::span<const std::uint8_t> all = secret;
  for (const std::size_t bytes : {16U, 32U}) {
    run_key(form, {.cipher = CIPHER_AES_GCM, .secret = all.first(bytes), .tag_bytes = 16});
    run_key(form, {.cipher = CIPHER_AES_GMAC, .secret = all.first(bytes), .tag_bytes = 12});
    for (const cipher_algorithm cipher : {CIPHER_AES_CBC, CIPHER_AES_CTR}) {
      run_key(form, {.cipher = cipher, .secret = all.first(bytes)});
      for (std::uint32_t digest = HMAC_SHA1; digest <= HMAC_SHA512; ++digest) {
        const std::span<const std::uint8_t> for_digest = std::span(digest_secret).first(std::size_t{37} * digest);
        run_key(form, {.cipher = cipher,
                       .digest = digest,
                       .secret = all.first(bytes),
                       .digest_secret = for_digest,
                       .tag_bytes = hmac_tag_bytes(digest) / 2});
      }
    }
  }
  run_key(form, {.cipher = CIPHER_CHACHA20_POLY1305, .secret = all, .tag_bytes = 16});
  run_key(form, {.digest = HMAC_SHA256, .digest_secret = digest_secret, .tag_bytes = 32});
}

/// Prints an entry of a table, chosen by a secret.
void leak() {
  const std::vector<std::uint8_t> table(256, 1), secret = secret_bytes(1);
  const volatile std::uint8_t found = table[secret[0]];
  (void)found;
}

}  // namespace
}  // namespace penumbra::crypto_testing

int main(int count, char** words) {
  using namespace penumbra::crypto_testing;
  if (RUNNING_ON_VALGRIND == 0) return 77;
  const std::string name = count == 2 ? words[1] : "";
  if (name == "leak") {
    leak();
    return 0;
  }
  for (const std::string& known : form_names()) {
    if (known != name) continue;
    run_form(*make_form(name));
    std::puts("done");
    return 0;
  }
  std::fputs("secrets_check: name plain, ipsec_mb or leak\n", stderr);
  return 2;
}

#else

int main() {
  return 77;
}

#endif
