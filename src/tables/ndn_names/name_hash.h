// SPDX-License-Identifier: Apache-2.0
//
// The digests of all prefixes of a name in one pass. The hash is SipHash-1-3 (J.-P. Aumasson, D. Bernstein: SipHash: a
// Fast Short-Input PRF, INDOCRYPT 2012) over the components, finalised after each component. An attacker without the
// key cannot choose names whose digests collide.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "name_tlv.h"
#include "ndn_names.shader.h"

namespace penumbra::ndn {

/// The key of a table's digests.
struct NameKey {
  std::uint64_t low = 0, high = 0;
};

class NameHash {
 public:
  explicit NameHash(NameKey key)
      : a_(key.low ^ 0x736f'6d65'7073'6575),
        b_(key.high ^ 0x646f'7261'6e64'6f6d),
        c_(key.low ^ 0x6c79'6765'6e65'7261),
        d_(key.high ^ 0x7465'6462'7974'6573) {}

  /// Hashes one more component. The component's type and length come first, so that different names are different
  /// inputs.
  void add(const Element& component) {
    const Bytes value = component.value;
    absorb(component.type | std::uint64_t{value.size()} << 32);
    std::size_t at = 0;
    for (; at + 8 <= value.size(); at += 8) absorb(load<std::uint64_t>(value.data() + at));
    if (at < value.size()) absorb(tail(value, value.size() - at));
  }
  /// Returns the digest of the components so far.
  std::uint64_t digest() const {
    NameHash end = *this;
    end.c_ ^= 0xFF;
    for (int i = 0; i < 3; ++i) end.round();
    return end.a_ ^ end.b_ ^ end.c_ ^ end.d_;
  }

 private:
  /// Returns the last 1 to 7 bytes of a value without reading past its end.
  static std::uint64_t tail(Bytes value, std::size_t count) {
    if (value.size() >= 8) return load<std::uint64_t>(value.data() + value.size() - 8) >> (64 - 8 * count);
    const std::uint8_t* const at = value.data();
    if (count >= 4) {
      return load<std::uint32_t>(at) | std::uint64_t{load<std::uint32_t>(at + count - 4)} << (8 * count - 32);
    }
    return at[0] | std::uint64_t{at[count / 2]} << (count / 2 * 8) | std::uint64_t{at[count - 1]} << (8 * count - 8);
  }
  void absorb(std::uint64_t word) {
    d_ ^= word;
    round();
    a_ ^= word;
  }
  void round() {
    a_ += b_;
    c_ += d_;
    b_ = std::rotl(b_, 13) ^ a_;
    d_ = std::rotl(d_, 16) ^ c_;
    a_ = std::rotl(a_, 32);
    c_ += b_;
    a_ += d_;
    b_ = std::rotl(b_, 17) ^ c_;
    d_ = std::rotl(d_, 21) ^ a_;
    c_ = std::rotl(c_, 32);
  }

  std::uint64_t a_, b_, c_, d_;
};

/// The digests of a table's prefixes: NameHash's digests cut to `bits` bits. `bits` is NDN_NAMES_DIGEST_BITS except in
/// tests of collisions.
struct NameDigests {
  NameKey key;
  unsigned bits = NDN_NAMES_DIGEST_BITS;

  std::uint64_t cut(std::uint64_t digest) const { return digest & ((std::uint64_t{1} << bits) - 1); }
  /// Writes the digests of the prefixes of a name, up to `most` components. The components must be valid.
  void fill(Bytes name, std::uint32_t most, ndn_names_key& key_of_name) const {
    NameHash hash(key);
    std::uint32_t components = 0;
    for (Element component; components < most && take_component(name, component);) {
      hash.add(component);
      key_of_name.digest[components++] = cut(hash.digest());
    }
    key_of_name.components = components;
  }
};

}  // namespace penumbra::ndn
