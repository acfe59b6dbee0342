// SPDX-License-Identifier: Apache-2.0
#include "encoding.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <vector>

#include "handles.h"

namespace penumbra::tls {
namespace {

constexpr std::size_t kLeastPadding = 11;  // of EMSA-PKCS1-v1_5, with the separators
/// RSA_PSS_SALTLEN_AUTO_DIGEST_MAX of OpenSSL 3.1 and newer.
constexpr int kDigestAtMost = -4;

using DigestInfo = std::unique_ptr<X509_SIG, FreeBy<&X509_SIG_free>>;

/// Returns DigestInfo in DER; empty if OpenSSL fails.
std::vector<std::uint8_t> digest_info(int digest, std::span<const std::uint8_t> value) {
  const DigestInfo info(X509_SIG_new());
  if (info == nullptr) return {};
  X509_ALGOR* algorithm = nullptr;
  ASN1_OCTET_STRING* octets = nullptr;
  X509_SIG_getm(info.get(), &algorithm, &octets);
  if (X509_ALGOR_set0(algorithm, OBJ_nid2obj(digest), V_ASN1_NULL, nullptr) != 1 ||
      ASN1_OCTET_STRING_set(octets, value.data(), static_cast<int>(value.size())) != 1) {
    return {};
  }
  const int bytes = i2d_X509_SIG(info.get(), nullptr);
  if (bytes <= 0) return {};
  std::vector<std::uint8_t> der(static_cast<std::size_t>(bytes));
  std::uint8_t* end = der.data();
  i2d_X509_SIG(info.get(), &end);
  return der;
}

bool has_identifier(int digest) {
  constexpr std::array kKnown{NID_sha1,       NID_sha224,   NID_sha256,   NID_sha384,   NID_sha512,  NID_sha512_224,
                              NID_sha512_256, NID_sha3_224, NID_sha3_256, NID_sha3_384, NID_sha3_512};
  return std::ranges::find(kKnown, digest) != kKnown.end();
}

/// XORs the mask MGF1(seed) (RFC 8017, appendix B.2.1) into `masked`.
bool mask(std::span<std::uint8_t> masked, const EVP_MD* digest, std::span<const std::uint8_t> seed) {
  const DigestContext context(EVP_MD_CTX_new());
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> block;
  if (context == nullptr) return false;
  unsigned block_bytes = 0;
  for (std::uint32_t counter = 0; !masked.empty(); ++counter) {
    const std::array<std::uint8_t, 4> number{
        static_cast<std::uint8_t>(counter >> 24), static_cast<std::uint8_t>(counter >> 16),
        static_cast<std::uint8_t>(counter >> 8), static_cast<std::uint8_t>(counter)};
    if (EVP_DigestInit_ex(context.get(), digest, nullptr) != 1 ||
        EVP_DigestUpdate(context.get(), seed.data(), seed.size()) != 1 ||
        EVP_DigestUpdate(context.get(), number.data(), number.size()) != 1 ||
        EVP_DigestFinal_ex(context.get(), block.data(), &block_bytes) != 1) {
      return false;
    }
    const std::size_t count = std::min<std::size_t>(block_bytes, masked.size());
    for (std::size_t i = 0; i < count; ++i) masked[i] ^= block[i];
    masked = masked.subspan(count);
  }
  return true;
}

}  // namespace

bool encode_pkcs1(std::span<std::uint8_t> encoded, const EVP_MD* digest, std::span<const std::uint8_t> value) {
  std::vector<std::uint8_t> content(value.begin(), value.end());
  // TLS 1.1 and older sign the two digests without an identifier (RFC 4346, section 7.4.3).
  if (digest != nullptr && EVP_MD_get_type(digest) != NID_md5_sha1) {
    if (!has_identifier(EVP_MD_get_type(digest))) return false;
    content = digest_info(EVP_MD_get_type(digest), value);
    if (content.empty()) return false;
  }
  if (content.size() + kLeastPadding > encoded.size()) return false;
  std::ranges::fill(encoded, 0xFF);
  const std::size_t at = encoded.size() - content.size();
  encoded[0] = 0;
  encoded[1] = 1;
  encoded[at - 1] = 0;
  std::ranges::copy(content, encoded.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

bool encode_pss(OSSL_LIB_CTX* library, std::span<std::uint8_t> encoded, const EVP_MD* digest, const EVP_MD* mask_digest,
                int salt_bytes, std::span<const std::uint8_t> value) {
  const std::size_t digest_bytes = value.size();
  if (encoded.size() < digest_bytes + 2) return false;
  const std::size_t most = encoded.size() - digest_bytes - 2;
  std::size_t count = most;
  if (salt_bytes >= 0) {
    count = static_cast<std::size_t>(salt_bytes);
  } else if (salt_bytes == RSA_PSS_SALTLEN_DIGEST) {
    count = digest_bytes;
  } else if (salt_bytes == kDigestAtMost) {
    count = std::min(digest_bytes, most);
  } else if (salt_bytes != RSA_PSS_SALTLEN_AUTO && salt_bytes != RSA_PSS_SALTLEN_MAX) {
    return false;
  }
  if (count > most) return false;
  std::vector<std::uint8_t> salt(count);
  if (count != 0 && RAND_bytes_ex(library, salt.data(), count, 0) != 1) return false;
  // encoded = masked block, digest of the salted value, 0xBC
  const std::span<std::uint8_t> block = encoded.first(encoded.size() - digest_bytes - 1);
  const std::span<std::uint8_t> salted = encoded.subspan(block.size(), digest_bytes);
  const DigestContext context(EVP_MD_CTX_new());
  const std::array<std::uint8_t, 8> zeros{};
  unsigned bytes = 0;
  if (context == nullptr || EVP_DigestInit_ex(context.get(), digest, nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), zeros.data(), zeros.size()) != 1 ||
      EVP_DigestUpdate(context.get(), value.data(), value.size()) != 1 ||
      EVP_DigestUpdate(context.get(), salt.data(), salt.size()) != 1 ||
      EVP_DigestFinal_ex(context.get(), salted.data(), &bytes) != 1) {
    return false;
  }
  std::ranges::fill(block, 0);
  block[block.size() - count - 1] = 1;
  std::ranges::copy(salt, block.end() - static_cast<std::ptrdiff_t>(count));
  if (!mask(block, mask_digest, salted)) return false;
  block[0] &= 0x7F;  // the encoded number has one bit less than the modulus
  encoded.back() = 0xBC;
  return true;
}

}  // namespace penumbra::tls
