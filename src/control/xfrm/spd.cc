// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/spd.h"

#include <linux/xfrm.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "control/xfrm/refused.h"

namespace penumbra::control::xfrm {
namespace {

constexpr std::uint32_t kIndexStep = 8;  // The lowest bits of an index are the direction.

bool seals(const Policy& policy) {
  return policy.direction == Direction::out && !policy.templates.empty();
}

/// Removes the entry of a policy's number from a map.
void remove_entry(std::unordered_multimap<std::uint32_t, std::uint64_t>& map, std::uint32_t key, std::uint64_t number) {
  const auto [first, end] = map.equal_range(key);
  map.erase(std::find_if(first, end, [&](const auto& entry) { return entry.second == number; }));
}

}  // namespace

PolicyKey key_of(const Policy& policy) {
  return {policy.direction, policy.type, policy.interface_id, policy.mark, policy.selector};
}

bool fits(const Template& wanted, const SaSettings& sa) {
  if (wanted.mode != sa.mode || (wanted.family != 0 && wanted.family != sa.id.family)) return false;
  if (wanted.id.protocol != 0 && wanted.id.protocol != sa.id.protocol) return false;
  if (wanted.request != 0 && wanted.request != sa.request) return false;
  if (wanted.id.spi != 0 && wanted.id.spi != sa.id.spi) return false;
  return (wanted.id.destination.is_any() || wanted.id.destination == sa.id.destination) &&
         (wanted.source.is_any() || wanted.source == sa.source);
}

bool serves(const SaSettings& sa, const Policy& policy) {
  return sa.interface_id == policy.interface_id && !policy.templates.empty() && fits(policy.templates.front(), sa);
}

std::size_t Spd::Hash::operator()(const PolicyKey& key) const {
  const auto bytes_of = [](const Address& address) {
    return std::string_view(reinterpret_cast<const char*>(address.bytes.data()), address.bytes.size());
  };
  constexpr std::size_t kOdd = 0x9E3779B97F4A7C15U;
  const std::hash<std::string_view> hash;
  std::size_t mixed = hash(bytes_of(key.selector.destination)) * kOdd + hash(bytes_of(key.selector.source));
  mixed = mixed * kOdd + key.selector.destination_port + (std::size_t{key.selector.source_port} << 16U);
  mixed = mixed * kOdd + key.interface_id + (std::size_t{key.mark.value} << 32U);
  return mixed * kOdd + key.selector.protocol + static_cast<std::size_t>(key.direction);
}

std::uint32_t Spd::new_index(Direction direction) {
  for (;;) {
    const std::uint32_t index = next_index_ | static_cast<std::uint32_t>(direction);
    next_index_ += kIndexStep;
    if (index != 0 && !by_index_.contains(index)) return index;
  }
}

bool is_conditional_bypass(const Policy& policy) {
  return policy.action == Action::allow && policy.templates.empty() &&
         (policy.mark != Mark{} || policy.selector.interface != 0 || policy.selector.user != 0 ||
          policy.type == XFRM_POLICY_TYPE_SUB);
}

Policy& Spd::insert(Policy policy, bool replace) {
  require(!is_conditional_bypass(policy), EOPNOTSUPP,
          "packets in clear would depend on a mark, an interface, a user or a sub-policy; leave it out of the policy");
  const PolicyKey key = key_of(policy);
  if (Policy* const old = find(key); old != nullptr) {
    if (!replace) throw Refused(EEXIST, "there is a policy of this selector, direction and mark");
    policy.index = old->index;
    remove(*old);
  }
  if (policy.index == 0) policy.index = new_index(policy.direction);
  policy.number = ++last_number_;
  by_key_.emplace(key, policy.number);
  by_index_.emplace(policy.index, policy.number);
  if (seals(policy)) by_request_.emplace(policy.templates.front().request, policy.number);
  return by_number_.emplace(policy.number, std::move(policy)).first->second;
}

Policy* Spd::find(const PolicyKey& key) {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &by_number_.at(found->second);
}

Policy* Spd::find(std::uint32_t index, const PolicyKey& key) {
  const auto [first, end] = by_index_.equal_range(index);
  for (auto at = first; at != end; ++at) {
    Policy& policy = by_number_.at(at->second);
    if (policy.direction == key.direction && policy.type == key.type && policy.interface_id == key.interface_id) {
      return &policy;
    }
  }
  return nullptr;
}

Policy* Spd::find_number(std::uint64_t number) {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : &found->second;
}

bool Spd::wants(const SaSettings& sa) const {
  // A template with reqid 0 takes SAs of any.
  return std::ranges::any_of(std::array{sa.request, std::uint32_t{0}}, [&](std::uint32_t request) {
    const auto [first, end] = by_request_.equal_range(request);
    return std::any_of(first, end, [&](const auto& entry) {
      const Policy& policy = by_number_.at(entry.second);
      Template wanted = policy.templates.front();
      wanted.id.spi = 0;
      return sa.interface_id == policy.interface_id && fits(wanted, sa);
    });
  });
}

Policy Spd::remove(const Policy& policy) {
  const auto at = by_number_.find(policy.number);
  by_key_.erase(key_of(policy));
  remove_entry(by_index_, policy.index, at->first);
  if (seals(policy)) remove_entry(by_request_, policy.templates.front().request, at->first);
  Policy removed = std::move(at->second);
  by_number_.erase(at);
  return removed;
}

std::size_t Spd::flush(std::uint8_t type) {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, policy] : by_number_) {
    if (policy.type == type) numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) remove(by_number_.at(number));
  return numbers.size();
}

std::vector<const Policy*> Spd::in_order(Direction direction) const {
  std::vector<const Policy*> policies;
  for (const auto& [number, policy] : by_number_) {
    if (policy.direction == direction) policies.push_back(&policy);
  }
  std::ranges::stable_sort(policies, {}, [](const Policy* policy) { return policy->priority; });
  return policies;
}

std::size_t Spd::count(Direction direction) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(by_number_, [&](const auto& entry) { return entry.second.direction == direction; }));
}

}  // namespace penumbra::control::xfrm
