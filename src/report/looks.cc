// SPDX-License-Identifier: Apache-2.0
#include "report/looks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

namespace penumbra::report {
namespace {

std::string part_of_name(const std::string& curve, std::size_t number) {
  const auto parts = parts_of_name(curve);
  return number < parts.size() ? parts[number] : "";
}

/// Two kinds are too few: if a part is missing in most names, nearly all would have one colour.
constexpr std::size_t kFewKinds = 2;

/// Returns the index of the name part that distinguishes the kinds. Returns nothing if every part has too few or too
/// many kinds.
std::optional<std::size_t> part_that_tells_kinds(const std::vector<std::string>& names) {
  std::size_t most_parts = 0, most_kinds = kFewKinds;
  for (const std::string& name : names) most_parts = std::max(most_parts, parts_of_name(name).size());
  std::optional<std::size_t> found;
  for (std::size_t part = 0; part < most_parts; ++part) {
    std::set<std::string> kinds;
    for (const std::string& name : names) kinds.insert(part_of_name(name, part));
    if (kinds.size() <= most_kinds || kinds.size() > Looks::kColours) continue;
    most_kinds = kinds.size();
    found = part;
  }
  return found;
}

/// Shapes and dashes advance at different rates, so that a pair repeats only after all combinations.
Looks::Look look_of(std::size_t colour, std::size_t number) {
  return {colour, (colour + number) % Looks::kShapes, (number + number / Looks::kShapes) % Looks::kDashes};
}

}  // namespace

std::vector<std::string> parts_of_name(const std::string& curve) {
  constexpr std::array<std::string_view, 2> kBetween{", ", " by "};
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    std::size_t end = std::string::npos, next = 0;
    for (const std::string_view between : kBetween) {
      const std::size_t at = curve.find(between, begin);
      if (at >= end) continue;
      end = at;
      next = at + between.size();
    }
    parts.push_back(curve.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = next;
  }
}

std::string Looks::Look::classes(Role role) const {
  const std::string dashes = dash == 0 ? "" : fmt::format(" d{}", dash);
  return fmt::format("c{} {}{}", colour, name_of(role), dashes);
}

Looks::Looks(const std::vector<const Plot*>& plots) {
  std::vector<std::string> names;
  std::size_t limits = 0;
  for (const Plot* plot : plots) {
    for (const Panel& panel : plot->panels) {
      for (const Curve& curve : panel.curves) {
        const bool is_limit = curve.role == Role::limit;
        if (!looks_.try_emplace({is_limit, curve.name}).second) continue;
        if (is_limit) {
          looks_[{true, curve.name}] = {0, limits++ % kShapes, 0};
        } else {
          names.push_back(curve.name);
        }
      }
    }
  }
  const auto kind_part = names.size() > kColours ? part_that_tells_kinds(names) : std::nullopt;
  std::map<std::string, std::size_t> kinds;
  std::array<std::size_t, kColours> used{};
  for (const std::string& name : names) {
    const std::string kind = kind_part ? part_of_name(name, *kind_part) : name;
    const std::size_t colour = kinds.try_emplace(kind, kinds.size()).first->second % kColours;
    looks_[{false, name}] = look_of(colour, used[colour]++);
  }
}

Looks::Look Looks::of(const std::string& curve, Role role) const {
  const auto found = looks_.find({role == Role::limit, curve});
  return found == looks_.end() ? Look{} : found->second;
}

}  // namespace penumbra::report
