// SPDX-License-Identifier: Apache-2.0
#include "base/alias_places.h"

namespace penumbra {
namespace {

/// Not a valid path of a ConfigNode: the path of a key that is not a scalar.
constexpr const char* kOddKey = "?";

}  // namespace

/// Returns the path of the node that begins now. `scalar` is the node's text if it is a scalar, which may be a key.
std::string AliasPlaces::begin_node(const std::string& scalar) {
  if (open_.empty()) return "";
  Open& parent = open_.back();
  if (!parent.is_map) return parent.path + "[" + std::to_string(parent.index++) + "]";
  parent.has_key = !parent.has_key;
  if (parent.has_key) {
    parent.key = scalar;
    return kOddKey;
  }
  return parent.path.empty() ? parent.key : parent.path + "." + parent.key;
}

void AliasPlaces::OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) {
  begin_node(kOddKey);
}

void AliasPlaces::OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) {
  const bool key = is_key();
  const std::string path = begin_node(kOddKey);
  if (!key) places_.emplace(path, mark);
}

void AliasPlaces::OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                           const std::string& value) {
  begin_node(value);
}

void AliasPlaces::OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                                  YAML::EmitterStyle::value /*style*/) {
  open_.push_back({.path = begin_node(kOddKey), .is_map = false, .has_key = false, .key = {}, .index = 0});
}

void AliasPlaces::OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                             YAML::EmitterStyle::value /*style*/) {
  open_.push_back({.path = begin_node(kOddKey), .is_map = true, .has_key = false, .key = {}, .index = 0});
}

}  // namespace penumbra
