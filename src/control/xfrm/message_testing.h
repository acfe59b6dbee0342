// SPDX-License-Identifier: Apache-2.0
//
// Builds and reads XFRM messages for tests, apart from the code under test.
#pragma once

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/xfrm.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace penumbra::control::xfrm::testing {

using Bytes = std::vector<std::uint8_t>;

/// A request under construction.
class Message {
 public:
  template <class Fixed>
  Message(std::uint16_t type, const Fixed& fixed, std::uint16_t flags = NLM_F_REQUEST | NLM_F_ACK) {
    bytes_.reserve(sizeof(nlmsghdr) + sizeof fixed);
    append(nlmsghdr{.nlmsg_len = 0, .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = 7, .nlmsg_pid = 0});
    append(fixed);
  }
  template <class Content>
  Message& attribute(std::uint16_t type, const Content& content) {
    return attribute_bytes(type, {reinterpret_cast<const std::uint8_t*>(&content), sizeof content});
  }
  Message& attribute_bytes(std::uint16_t type, std::span<const std::uint8_t> content) {
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
    append(nlattr{.nla_len = static_cast<std::uint16_t>(sizeof(nlattr) + content.size()), .nla_type = type});
    bytes_.insert(bytes_.end(), content.begin(), content.end());
    return *this;
  }
  /// Adds an algorithm with a key of the bytes 1, 2, 3 and so on. `bits` is the ICV's length for structures that have
  /// one.
  template <class Raw>
  Message& algorithm(std::uint16_t type, const std::string& name, std::uint32_t key_bytes, std::uint32_t bits = 0) {
    Bytes content(sizeof(Raw) + key_bytes);
    Raw raw{};
    std::memcpy(raw.alg_name, name.data(), name.size());
    raw.alg_key_len = key_bytes * 8;
    if constexpr (requires { raw.alg_icv_len; }) raw.alg_icv_len = bits;
    if constexpr (requires { raw.alg_trunc_len; }) raw.alg_trunc_len = bits;
    std::memcpy(content.data(), &raw, sizeof raw);
    for (std::uint32_t i = 0; i < key_bytes; ++i) content[sizeof raw + i] = static_cast<std::uint8_t>(i + 1);
    return attribute_bytes(type, content);
  }
  void set_sequence(std::uint32_t sequence) {
    std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_seq), &sequence, sizeof sequence);
  }
  void set_flags(std::uint16_t flags) {
    std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_flags), &flags, sizeof flags);
  }
  template <class Fixed>
  void set_fixed(const Fixed& fixed) {
    std::memcpy(bytes_.data() + sizeof(nlmsghdr), &fixed, sizeof fixed);
  }
  /// Removes bytes from the end.
  void cut(std::size_t count) { bytes_.resize(bytes_.size() - count); }
  void append_word(std::uint32_t word) { append(word); }
  void set_type(std::uint16_t type) { std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_type), &type, sizeof type); }
  Bytes bytes() const {
    Bytes whole = bytes_;
    const auto length = static_cast<std::uint32_t>(whole.size());
    std::memcpy(whole.data(), &length, sizeof length);
    return whole;
  }

 private:
  template <class Content>
  void append(const Content& content) {
    const auto* const first = reinterpret_cast<const std::uint8_t*>(&content);
    bytes_.insert(bytes_.end(), first, first + sizeof content);
  }

  Bytes bytes_;
};

inline xfrm_address_t address(const char* text) {
  xfrm_address_t raw{};
  inet_pton(AF_INET, text, &raw);
  return raw;
}

inline xfrm_lifetime_cfg no_limits() {
  return {XFRM_INF, XFRM_INF, XFRM_INF, XFRM_INF, 0, 0, 0, 0};
}

/// Returns an SA of ESP from 192.0.2.1 to 192.0.2.2 in tunnel mode.
inline xfrm_usersa_info esp_sa(std::uint32_t spi) {
  xfrm_usersa_info raw{};
  raw.id.daddr = address("192.0.2.2");
  raw.id.spi = htonl(spi);
  raw.id.proto = 50;
  raw.saddr = address("192.0.2.1");
  raw.lft = no_limits();
  raw.family = AF_INET;
  raw.mode = XFRM_MODE_TUNNEL;
  return raw;
}

inline xfrm_usersa_id id_of(const xfrm_usersa_info& sa) {
  xfrm_usersa_id raw{};
  raw.daddr = sa.id.daddr;
  raw.spi = sa.id.spi;
  raw.family = sa.family;
  raw.proto = sa.id.proto;
  return raw;
}

/// Returns an out policy from 10.0.0.0/24 to 10.1.0.0/16.
inline xfrm_userpolicy_info out_policy() {
  xfrm_userpolicy_info raw{};
  raw.sel.daddr = address("10.1.0.0");
  raw.sel.saddr = address("10.0.0.0");
  raw.sel.prefixlen_d = 16;
  raw.sel.prefixlen_s = 24;
  raw.sel.family = AF_INET;
  raw.lft = no_limits();
  raw.dir = XFRM_POLICY_OUT;
  return raw;
}

/// Returns the request to add a policy for SAs of esp_sa() with a reqid.
inline Message policy_for(std::uint32_t request) {
  xfrm_user_tmpl wanted{};
  wanted.id.daddr = address("192.0.2.2");
  wanted.saddr = address("192.0.2.1");
  wanted.id.proto = 50;
  wanted.family = AF_INET;
  wanted.mode = XFRM_MODE_TUNNEL;
  wanted.reqid = request;
  Message message(XFRM_MSG_NEWPOLICY, out_policy());
  message.attribute(XFRMA_TMPL, wanted);
  return message;
}

inline Message gcm_sa(std::uint16_t type, std::uint32_t spi) {
  Message message(type, esp_sa(spi));
  message.algorithm<xfrm_algo_aead>(XFRMA_ALG_AEAD, "rfc4106(gcm(aes))", 20, 128);
  return message;
}

}  // namespace penumbra::control::xfrm::testing
