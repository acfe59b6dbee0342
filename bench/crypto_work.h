// SPDX-License-Identifier: Apache-2.0
//
// Keys, packets and contenders of the benchmark of ciphers and digests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "crypto/ipsec_mb/worker.h"
#include "crypto/plain.h"
#include "rivals/ipsec_mb.h"

namespace penumbra::bench {

inline constexpr char kPlainForm[] = "penumbra plain", kLibraryForm[] = "penumbra ipsec_mb",
                      kBareLibrary[] = "ipsec-mb";
inline constexpr std::uint32_t kChunk = 64;  ///< Packets of a call.

/// A combination of algorithms as ESP uses it.
struct CipherSuite {
  std::string name;
  cipher_algorithm cipher;
  std::size_t secret_bytes;
  std::uint32_t digest, tag_bytes, aad_bytes;
};

/// Random secrets of a suite.
class CipherSecrets {
 public:
  CipherSecrets(const CipherSuite& suite, std::size_t keys, Random& random);

  std::span<const KeyMaterial> materials() const { return materials_; }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<KeyMaterial> materials_;
};

/// Packets that lie as in ESP, with random keys. 64 places of payload serve all packets.
class CipherPackets {
 public:
  CipherPackets(const CipherSuite& suite, std::uint32_t bytes, std::size_t chunks, std::size_t keys, Random& random);

  std::size_t chunks() const { return sealing_.size() / kChunk; }
  std::uint32_t bytes() const { return bytes_; }
  std::span<const cipher_packet> chunk(std::size_t i, bool is_sealed) const {
    return std::span(is_sealed ? sealing_ : opening_).subspan(i * kChunk, kChunk);
  }
  /// Return the ciphertexts with tags, the payloads that were opened, and those that they were made of.
  std::vector<std::uint8_t> sealed() const { return results(sealed_, bytes_ + tag_bytes_); }
  std::vector<std::uint8_t> opened() const { return results(opened_, bytes_); }
  std::vector<std::uint8_t> plain() const { return results(plain_, bytes_); }
  /// Overwrites all results.
  void forget();

 private:
  static std::vector<std::uint8_t> results(const std::vector<std::uint8_t>& room, std::size_t bytes);

  std::uint32_t bytes_, tag_bytes_;
  std::vector<std::uint8_t> plain_, sealed_, opened_, nonces_;
  std::vector<cipher_packet> sealing_, opening_;
};

/// The contenders with the keys of one suite.
class CipherForms {
 public:
  explicit CipherForms(std::span<const KeyMaterial> materials);

  /// Returns the version of the library and the instructions that it uses.
  std::string library() const { return worker_.description(); }
  /// Processes a chunk by the contender of this name. Returns the number of packets that are right.
  std::size_t run(const std::string& name, std::span<const cipher_packet> packets, bool is_sealed);
  /// Throws WrongAnswer, with `what` in its text, unless all contenders give the bytes of the plain form.
  void check(CipherPackets& packets, const std::string& what);
  /// Returns Gbit/s of payload of all chunks, `times` times over.
  double measure(const std::string& name, const CipherPackets& packets, bool is_sealed, std::size_t times);

 private:
  std::vector<cipher_key> plain_;
  ipsec_mb::Worker worker_;
  std::vector<ipsec_mb::Key> expanded_;
  BareIpsecMb bare_;
};

}  // namespace penumbra::bench
