// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/attributes.h"

#include <linux/netlink.h>

#include <algorithm>
#include <string>

namespace penumbra::control::xfrm {
namespace {

/// Returns the fewest bytes of an attribute's content.
constexpr std::size_t least_bytes(std::uint16_t type) {
  switch (type) {
    case XFRMA_SA:
      return sizeof(xfrm_usersa_info);
    case XFRMA_POLICY:
      return sizeof(xfrm_userpolicy_info);
    case XFRMA_LASTUSED:
      return sizeof(std::uint64_t);
    case XFRMA_ALG_AUTH_TRUNC:
      return sizeof(xfrm_algo_auth);
    case XFRMA_ALG_AEAD:
      return sizeof(xfrm_algo_aead);
    case XFRMA_ALG_AUTH:
    case XFRMA_ALG_CRYPT:
    case XFRMA_ALG_COMP:
      return sizeof(xfrm_algo);
    case XFRMA_ENCAP:
      return sizeof(xfrm_encap_tmpl);
    case XFRMA_TMPL:
      return sizeof(xfrm_user_tmpl);
    case XFRMA_SEC_CTX:
      return sizeof(xfrm_user_sec_ctx);
    case XFRMA_LTIME_VAL:
      return sizeof(xfrm_lifetime_cur);
    case XFRMA_REPLAY_VAL:
      return sizeof(xfrm_replay_state);
    case XFRMA_REPLAY_ESN_VAL:
      return sizeof(xfrm_replay_state_esn);
    case XFRMA_SRCADDR:
    case XFRMA_COADDR:
      return sizeof(xfrm_address_t);
    case XFRMA_POLICY_TYPE:
      return sizeof(xfrm_userpolicy_type);
    case XFRMA_MIGRATE:
      return sizeof(xfrm_user_migrate);
    case XFRMA_KMADDRESS:
      return sizeof(xfrm_user_kmaddress);
    case XFRMA_MARK:
      return sizeof(xfrm_mark);
    case XFRMA_PROTO:
      return sizeof(std::uint8_t);
    case XFRMA_ADDRESS_FILTER:
      return sizeof(xfrm_address_filter);
    case XFRMA_OFFLOAD_DEV:
      return sizeof(xfrm_user_offload);
    case XFRMA_REPLAY_THRESH:
    case XFRMA_ETIMER_THRESH:
    case XFRMA_TFCPAD:
    case XFRMA_SA_EXTRA_FLAGS:
    case XFRMA_SET_MARK:
    case XFRMA_SET_MARK_MASK:
    case XFRMA_IF_ID:
    case XFRMA_MTIMER_THRESH:
      return sizeof(std::uint32_t);
    default:
      return 0;
  }
}

}  // namespace

Attributes::Attributes(std::span<const std::uint8_t> bytes) {
  while (bytes.size() >= sizeof(nlattr)) {
    nlattr head;
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.nla_len < sizeof head || head.nla_len > bytes.size()) return;
    const std::uint16_t type = head.nla_type & NLA_TYPE_MASK;
    if (type != XFRMA_UNSPEC && type <= XFRMA_MAX) {
      const std::span<const std::uint8_t> content = bytes.subspan(sizeof head, head.nla_len - sizeof head);
      if (content.size() < least_bytes(type)) {
        throw Refused(ERANGE, "attribute " + std::to_string(type) + " is too short");
      }
      by_type_.at(type) = content;
    }
    bytes = bytes.subspan(std::min<std::size_t>(NLA_ALIGN(head.nla_len), bytes.size()));
  }
}

}  // namespace penumbra::control::xfrm
