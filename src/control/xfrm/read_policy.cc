// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>

#include <cerrno>

#include "control/xfrm/fields.h"
#include "control/xfrm/read_message.h"

namespace penumbra::control::xfrm {
namespace {

void check_direction(std::uint8_t direction) {
  require(direction < XFRM_POLICY_MAX, EINVAL, "a direction is in, out or fwd");
}

void check(const xfrm_userpolicy_info& raw) {
  require(raw.share <= XFRM_SHARE_UNIQUE, EINVAL, "unknown kind of sharing");
  require(raw.action == XFRM_POLICY_ALLOW || raw.action == XFRM_POLICY_BLOCK, EINVAL, "an action is allow or block");
  const unsigned bits = address_bits(raw.sel.family);
  require(bits != 0, EINVAL, "the selector's family is neither IPv4 nor IPv6");
  require(raw.sel.prefixlen_d <= bits && raw.sel.prefixlen_s <= bits, EINVAL,
          "a prefix of the selector is longer than an address");
  check_direction(raw.dir);
  require(raw.index == 0 || (raw.index & XFRM_POLICY_MASK) == raw.dir, EINVAL,
          "the index belongs to another direction");
}

void check_template(const xfrm_user_tmpl& raw, std::uint8_t direction, std::uint16_t previous_family) {
  switch (raw.mode) {
    case XFRM_MODE_TUNNEL:
    case XFRM_MODE_BEET:
      require(raw.optional == 0 || direction != XFRM_POLICY_OUT, EINVAL,
              "a tunnel of an out policy cannot be optional");
      break;
    default:
      require(raw.family == previous_family, EINVAL, "only a tunnel changes the family");
  }
  require(raw.mode < XFRM_MODE_MAX, EINVAL, "unknown mode of a template");
  require(address_bits(raw.family) != 0, EINVAL, "a template's family is neither IPv4 nor IPv6");
  switch (raw.id.proto) {
    case IPPROTO_AH:
    case IPPROTO_ESP:
    case IPPROTO_COMP:
    case IPPROTO_ROUTING:
    case IPPROTO_DSTOPTS:
      return;
    default:
      throw Refused(EINVAL, "unknown protocol of a template");
  }
}

std::vector<Template> read_templates(const xfrm_userpolicy_info& raw, const Attributes& attributes) {
  const std::span<const std::uint8_t> bytes = attributes.bytes(XFRMA_TMPL);
  const std::size_t count = bytes.size() / sizeof(xfrm_user_tmpl);
  require(count <= kMostTemplates, EINVAL, "a policy has at most 6 templates");
  std::vector<Template> templates;
  std::uint16_t family = raw.sel.family;
  for (std::size_t i = 0; i < count; ++i) {
    auto one = fixed_part<xfrm_user_tmpl>(bytes.subspan(i * sizeof(xfrm_user_tmpl)));
    if (one.family == AF_UNSPEC) one.family = raw.sel.family;
    check_template(one, raw.dir, family);
    family = one.family;
    templates.push_back(to_template(one));
  }
  return templates;
}

}  // namespace

std::uint8_t read_policy_type(const Attributes& attributes) {
  const auto type = attributes.get<xfrm_userpolicy_type>(XFRMA_POLICY_TYPE);
  if (!type) return XFRM_POLICY_TYPE_MAIN;
  require(type->type <= XFRM_POLICY_TYPE_SUB, EINVAL, "unknown type of policies");
  return type->type;
}

Policy read_policy(const xfrm_userpolicy_info& raw, const Attributes& attributes, std::uint64_t now) {
  check(raw);
  Policy policy;
  policy.selector = to_selector(raw.sel);
  policy.limits = to_limits(raw.lft);
  policy.usage.add_time = now;
  policy.priority = raw.priority;
  policy.index = raw.index;
  policy.direction = static_cast<Direction>(raw.dir);
  policy.action = static_cast<Action>(raw.action);
  policy.flags = raw.flags;
  policy.share = raw.share;
  policy.type = read_policy_type(attributes);
  policy.templates = read_templates(raw, attributes);
  policy.mark = read_whole_mark(attributes);
  policy.interface_id = attributes.get<std::uint32_t>(XFRMA_IF_ID).value_or(0);
  return policy;
}

PolicyKey read_policy_key(const xfrm_userpolicy_id& raw, const Attributes& attributes) {
  PolicyKey key;
  key.type = read_policy_type(attributes);
  check_direction(raw.dir);
  key.direction = static_cast<Direction>(raw.dir);
  key.interface_id = attributes.get<std::uint32_t>(XFRMA_IF_ID).value_or(0);
  key.mark = read_whole_mark(attributes);
  key.selector = to_selector(raw.sel);
  return key;
}

std::optional<std::size_t> fixed_bytes(std::uint16_t type) {
  switch (type) {
    case XFRM_MSG_NEWSA:
    case XFRM_MSG_UPDSA:
      return sizeof(xfrm_usersa_info);
    case XFRM_MSG_DELSA:
    case XFRM_MSG_GETSA:
      return sizeof(xfrm_usersa_id);
    case XFRM_MSG_NEWPOLICY:
    case XFRM_MSG_UPDPOLICY:
      return sizeof(xfrm_userpolicy_info);
    case XFRM_MSG_DELPOLICY:
    case XFRM_MSG_GETPOLICY:
      return sizeof(xfrm_userpolicy_id);
    case XFRM_MSG_ALLOCSPI:
      return sizeof(xfrm_userspi_info);
    case XFRM_MSG_ACQUIRE:
      return sizeof(xfrm_user_acquire);
    case XFRM_MSG_EXPIRE:
      return sizeof(xfrm_user_expire);
    case XFRM_MSG_POLEXPIRE:
      return sizeof(xfrm_user_polexpire);
    case XFRM_MSG_FLUSHSA:
      return sizeof(xfrm_usersa_flush);
    case XFRM_MSG_FLUSHPOLICY:
      return 0;
    case XFRM_MSG_NEWAE:
    case XFRM_MSG_GETAE:
      return sizeof(xfrm_aevent_id);
    case XFRM_MSG_MIGRATE:
      return sizeof(xfrm_userpolicy_id);
    case XFRM_MSG_GETSADINFO:
    case XFRM_MSG_NEWSPDINFO:
    case XFRM_MSG_GETSPDINFO:
      return sizeof(std::uint32_t);
    case XFRM_MSG_SETDEFAULT:
    case XFRM_MSG_GETDEFAULT:
      return sizeof(xfrm_userpolicy_default);
    default:
      return std::nullopt;
  }
}

}  // namespace penumbra::control::xfrm
