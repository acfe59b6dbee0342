// SPDX-License-Identifier: Apache-2.0
//
// Converts between the structures of linux/xfrm.h and the model.
#pragma once

#include <linux/xfrm.h>

#include "control/xfrm/model.h"

namespace penumbra::control::xfrm {

Address to_address(const xfrm_address_t& raw);
xfrm_address_t raw_address(const Address& address);
Selector to_selector(const xfrm_selector& raw);
xfrm_selector raw_selector(const Selector& selector);
Limits to_limits(const xfrm_lifetime_cfg& raw);
xfrm_lifetime_cfg raw_limits(const Limits& limits);
Usage to_usage(const xfrm_lifetime_cur& raw);
xfrm_lifetime_cur raw_usage(const Usage& usage);
SaId to_id(const xfrm_usersa_id& raw);
SaId to_id(const xfrm_usersa_info& raw);
xfrm_usersa_id raw_id(const SaId& id);
Template to_template(const xfrm_user_tmpl& raw);
xfrm_user_tmpl raw_template(const Template& wanted);
/// Returns the fixed part of messages about an SA.
xfrm_usersa_info raw_sa(const Sa& sa);
/// Returns the fixed part of messages about a policy.
xfrm_userpolicy_info raw_policy(const Policy& policy);

}  // namespace penumbra::control::xfrm
