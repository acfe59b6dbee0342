// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/algorithms.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "control/xfrm/refused.h"
#include "penumbra/errors.h"

namespace penumbra::control::xfrm {
namespace {

struct Known {
  AlgorithmKind kind;
  std::string_view name;
  std::string_view short_name;        ///< Name that older programs send, or empty.
  std::array<std::uint32_t, 2> keys;  ///< Permitted key bits with the salt; both 0: any length up to the store's.
  std::uint32_t salt;                 ///< Bits of the salt at the key's end.
  std::array<std::uint32_t, 3> tags;  ///< Permitted tag bits of an AEAD; a digest's default and full tag.
  cipher_algorithm cipher = CIPHER_NONE;
  std::uint32_t digest = 0;
};

constexpr AlgorithmKind kAead = AlgorithmKind::aead, kCipher = AlgorithmKind::cipher, kDigest = AlgorithmKind::digest;
constexpr std::array<Known, 10> kKnown{{
    {kAead, "rfc4106(gcm(aes))", "", {160, 288}, 32, {64, 96, 128}, CIPHER_AES_GCM},
    {kAead, "rfc4543(gcm(aes))", "", {160, 288}, 32, {128, 128, 128}, CIPHER_AES_GMAC},
    {kAead, "rfc7539esp(chacha20,poly1305)", "", {288, 288}, 32, {128, 128, 128}, CIPHER_CHACHA20_POLY1305},
    {kCipher, "cbc(aes)", "aes", {128, 256}, 0, {}, CIPHER_AES_CBC},
    {kCipher, "rfc3686(ctr(aes))", "", {160, 288}, 32, {}, CIPHER_AES_CTR},
    {kCipher, "ecb(cipher_null)", "cipher_null", {0, 0}, 0, {}, CIPHER_NONE},
    {kDigest, "hmac(sha1)", "sha1", {0, 0}, 0, {96, 160}, CIPHER_NONE, HMAC_SHA1},
    {kDigest, "hmac(sha256)", "sha256", {0, 0}, 0, {96, 256}, CIPHER_NONE, HMAC_SHA256},
    {kDigest, "hmac(sha384)", "", {0, 0}, 0, {192, 384}, CIPHER_NONE, HMAC_SHA384},
    {kDigest, "hmac(sha512)", "", {0, 0}, 0, {256, 512}, CIPHER_NONE, HMAC_SHA512},
}};

const Known* find(std::string_view name, AlgorithmKind kind) {
  const auto found = std::ranges::find_if(kKnown, [&](const Known& known) {
    return known.kind == kind && (known.name == name || (!known.short_name.empty() && known.short_name == name));
  });
  return found == kKnown.end() ? nullptr : found;
}

const Known& require_known(std::string_view name, AlgorithmKind kind) {
  const Known* const known = find(name, kind);
  if (known != nullptr) return *known;
  throw Refused(ENOSYS,
                "no algorithm " + quote(name) + "; " + did_you_mean_or_list(std::string(name), algorithm_names(kind)));
}

constexpr std::uint32_t kLeastDigestTag = 96;  // RFC 8221, section 6, has no shorter one.

void check_key(const Known& known, std::uint32_t bits) {
  require(bits % 8 == 0, EINVAL, "a key has whole bytes");
  if (known.keys[0] != 0) {
    require(bits == known.keys[0] || bits == known.keys[1], EINVAL,
            "the key has a length that the algorithm does not have");
  } else if (known.kind == kDigest) {
    require(bits != 0 && bits <= kMostDigestKey * 8, EINVAL, "a key of a digest has 1 to 128 bytes");
  } else {
    require(bits == 0, EINVAL, "the null cipher has no key");
  }
}

}  // namespace

void complete(Algorithm& algorithm, AlgorithmKind kind, bool has_tag) {
  const Known& known = require_known(algorithm.name, kind);
  if (kind == kAead && std::ranges::find(known.tags, algorithm.tag_bits) == known.tags.end()) {
    throw Refused(ENOSYS, "the algorithm has no ICV of this length");
  }
  check_key(known, algorithm.key_bits);
  algorithm.name = known.name;
  if (kind == kCipher) algorithm.tag_bits = 0;
  if (kind != kDigest) return;
  if (!has_tag || algorithm.tag_bits == 0) algorithm.tag_bits = known.tags[0];
  require(algorithm.tag_bits % 8 == 0 && algorithm.tag_bits >= kLeastDigestTag && algorithm.tag_bits <= known.tags[1],
          EINVAL, "the ICV has a length that the digest does not have");
}

void check_together(const Algorithms& algorithms) {
  if (algorithms.aead) {
    require(!algorithms.cipher && !algorithms.digest, EINVAL, "an AEAD algorithm takes no other algorithm");
    return;
  }
  require(algorithms.digest.has_value(), EINVAL,
          "RFC 8221 forbids ESP without authentication; add a digest or take an AEAD algorithm");
}

KeyMaterial key_material(const Sa& sa) {
  const Algorithms& used = sa.settings.algorithms;
  KeyMaterial material;
  const AlgorithmKind kind = used.aead ? kAead : kCipher;
  const std::optional<Algorithm>& main = used.aead ? used.aead : used.cipher;
  if (main) {
    const Known& known = require_known(main->name, kind);
    const std::size_t bytes = main->key_bits / 8, salt = known.salt / 8;
    const std::span<const std::uint8_t> all(sa.keys->cipher, bytes);
    material.cipher = known.cipher;
    material.secret = all.first(bytes - salt);
    material.salt = all.last(salt);
    material.tag_bytes = main->tag_bits / 8;
  }
  if (used.digest) {
    material.digest = require_known(used.digest->name, kDigest).digest;
    material.digest_secret = {sa.keys->digest, used.digest->key_bits / 8};
    material.tag_bytes = used.digest->tag_bits / 8;
  }
  return material;
}

bool needs_unique_iv(const Algorithms& algorithms) {
  return algorithms.aead || (algorithms.cipher && algorithms.cipher->name == "rfc3686(ctr(aes))");
}

std::vector<std::string_view> algorithm_names(AlgorithmKind kind) {
  std::vector<std::string_view> names;
  for (const Known& known : kKnown) {
    if (known.kind == kind) names.push_back(known.name);
  }
  return names;
}

}  // namespace penumbra::control::xfrm
