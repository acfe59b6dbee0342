// SPDX-License-Identifier: Apache-2.0
//
// Names made of text, and a slow but obvious table of names, for tests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "name_table.h"

namespace penumbra::ndn::testing_support {

/// The components of a name, each a type and a value, encoded by code that is independent of the product.
using Components = std::vector<std::pair<std::uint16_t, std::string>>;

inline void append_number(std::string& bytes, std::size_t number) {
  if (number >= 253) {
    bytes += '\xFD';
    bytes += static_cast<char>(number >> 8);
  }
  bytes += static_cast<char>(number);
}

/// Returns the encoding of the first `count` components.
inline std::string encoded(const Components& components, std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    append_number(bytes, components[i].first);
    append_number(bytes, components[i].second.size());
    bytes += components[i].second;
  }
  return bytes;
}
inline std::string encoded(const Components& components) {
  return encoded(components, components.size());
}

inline Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// Returns the labels of a domain name, last label first.
inline Components reversed_domain(std::string_view domain) {
  Components components;
  while (!domain.empty()) {
    const std::size_t dot = domain.rfind('.');
    const std::string_view label = dot == std::string_view::npos ? domain : domain.substr(dot + 1);
    if (!label.empty()) components.emplace_back(kGenericType, std::string(label));
    domain = dot == std::string_view::npos ? "" : domain.substr(0, dot);
  }
  return components;
}

/// Returns up to `most` components of few different letters, so that names share prefixes. Some components are long,
/// empty or of another type.
inline Components any_name(Random& random, std::uint32_t most) {
  Components components(random.below(most + 1));
  for (auto& [type, value] : components) {
    type = random.below(8) == 0 ? static_cast<std::uint16_t>(50 + random.below(1000)) : std::uint16_t{kGenericType};
    const std::uint32_t kind = random.below(40);
    const std::uint32_t length = kind == 0 ? 0 : kind == 1 ? 200 + random.below(200) : 1 + random.below(2);
    for (std::uint32_t i = 0; i < length; ++i) value += static_cast<char>('a' + random.below(3));
  }
  return components;
}

class NameOracle {
 public:
  bool insert(const Components& name, std::uint16_t next_hop) {
    return names_.insert_or_assign(encoded(name), next_hop).second;
  }
  bool remove(const Components& name) { return names_.erase(encoded(name)) > 0; }
  std::uint16_t match(const Components& name) const {
    for (std::size_t count = name.size() + 1; count-- > 0;) {
      const auto found = names_.find(encoded(name, count));
      if (found != names_.end()) return found->second;
    }
    return NameTable::kNoRoute;
  }
  const std::map<std::string, std::uint16_t>& names() const { return names_; }

 private:
  std::map<std::string, std::uint16_t> names_;
};

}  // namespace penumbra::ndn::testing_support
