// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/xfrm/model.h"

namespace penumbra::control::xfrm {

/// Selects a policy by what makes it unique. Two policies differ in one field at least.
struct PolicyKey {
  Direction direction = Direction::in;
  std::uint8_t type = 0;
  std::uint32_t interface_id = 0;
  Mark mark;
  Selector selector;

  bool operator==(const PolicyKey&) const = default;
};

PolicyKey key_of(const Policy& policy);

/// True if an SA has every property that the template names: mode, family, protocol, reqid, SPI and addresses. A field
/// of 0 names none. Addresses of a template in transport mode are the packet's.
bool fits(const Template& wanted, const SaSettings& sa);
/// True if an SA fits the first template of a policy, and has the policy's `if_id`.
bool serves(const SaSettings& sa, const Policy& policy);

/// True if a policy lets packets pass in clear on a condition that packets of the data plane do not have. Without the
/// condition, other packets would pass too.
bool is_conditional_bypass(const Policy& policy);

/// Holds the policies with the rules of Linux's XFRM. One thread uses it. Methods that refuse a request throw Refused.
class Spd {
 public:
  using ByNumber = std::map<std::uint64_t, Policy>;

  /// Adds a policy, or replaces the one of the same key if `replace` is true. Sets the index if it is 0, which a
  /// replaced policy hands on. Throws Refused with EEXIST, or EOPNOTSUPP for a conditional bypass.
  Policy& insert(Policy policy, bool replace);
  /// Returns the policy of the key, or null.
  Policy* find(const PolicyKey& key);
  /// Returns the policy of an index, a direction, a type and an interface id, or null.
  Policy* find(std::uint32_t index, const PolicyKey& key);
  /// Returns the policy of a number, or null.
  Policy* find_number(std::uint64_t number);
  /// True if an outbound policy waits for packets to seal by such an SA. The SPI does not matter, because a daemon adds
  /// an SA before it names the SPI in the policy.
  bool wants(const SaSettings& sa) const;
  /// Removes and returns a policy of this SPD.
  Policy remove(const Policy& policy);
  /// Removes all policies of a type and returns their count.
  std::size_t flush(std::uint8_t type);

  /// Returns all policies by number. Linux lists the newest first.
  const ByNumber& all() const { return by_number_; }
  ByNumber& all() { return by_number_; }
  /// Returns the policies of a direction in the order of evaluation: by priority, then by age.
  std::vector<const Policy*> in_order(Direction direction) const;
  /// Returns the number of policies of a direction.
  std::size_t count(Direction direction) const;

 private:
  struct Hash {
    std::size_t operator()(const PolicyKey& key) const;
  };

  std::uint32_t new_index(Direction direction);

  ByNumber by_number_;
  std::unordered_map<PolicyKey, std::uint64_t, Hash> by_key_;
  std::unordered_multimap<std::uint32_t, std::uint64_t> by_index_;
  std::unordered_multimap<std::uint32_t, std::uint64_t> by_request_;  ///< Outbound policies with a template.
  std::uint64_t last_number_ = 0;
  std::uint32_t next_index_ = 0;
};

}  // namespace penumbra::control::xfrm
