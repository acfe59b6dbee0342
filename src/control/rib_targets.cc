// SPDX-License-Identifier: Apache-2.0
#include "control/rib_targets.h"

#include <algorithm>

namespace penumbra::control {

const FeedTarget RibTargets::kUnreachable{.kind = FeedTarget::Kind::unreachable, .hops = {}};

RibTargets::Id RibTargets::acquire(const Spec& spec) {
  const auto [at, fresh] = numbers_.try_emplace(spec, 0);
  if (fresh) {
    if (free_.empty()) {
      free_.push_back(static_cast<Id>(targets_.size()));
      targets_.emplace_back();
    }
    at->second = free_.back();
    free_.pop_back();
    targets_[at->second] = {.spec = &at->first, .references = 0, .leads = work_out(spec)};
  }
  ++targets_[at->second].references;
  return at->second;
}

void RibTargets::release(Id id) {
  if (--targets_[id].references > 0) return;
  numbers_.erase(numbers_.find(*targets_[id].spec));
  targets_[id] = {};
  free_.push_back(id);
}

std::optional<RibTargets::Id> RibTargets::find(const Spec& spec) const {
  const auto found = numbers_.find(spec);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> RibTargets::object_id(Id id) const {
  const auto* const ref = std::get_if<ObjectRef>(targets_[id].spec);
  return ref == nullptr ? std::nullopt : std::optional(ref->id);
}

std::optional<FeedTarget> RibTargets::work_out(const Spec& spec) const {
  if (const auto* const target = std::get_if<FeedTarget>(&spec)) return *target;
  const auto ref = std::get<ObjectRef>(spec);
  const auto object = objects_.find(ref);
  if (object == objects_.end()) return std::nullopt;
  if (const auto* const target = std::get_if<FeedTarget>(&object->second.content)) return *target;
  FeedTarget sum;
  bool any = false;
  for (const auto& member : std::get<ObjectGroup>(object->second.content).members) {
    const auto found = objects_.find({ref.source, member.id});
    if (found == objects_.end()) continue;
    any = true;
    const auto* const target = std::get_if<FeedTarget>(&found->second.content);
    if (target == nullptr || target->kind != FeedTarget::Kind::unicast) continue;
    for (FeedHop hop : target->hops) {
      hop.weight = member.weight;
      sum.hops.push_back(std::move(hop));
    }
  }
  if (!any) return std::nullopt;
  return sum.hops.empty() ? kUnreachable : sum;
}

void RibTargets::set_object(ObjectRef ref, ObjectContent content) {
  const auto [at, fresh] = objects_.try_emplace(ref);
  at->second.stale = false;
  if (!fresh && at->second.content == content) return;
  at->second.content = std::move(content);
  objects_changed_ = true;
}

bool RibTargets::remove_object(ObjectRef ref) {
  if (objects_.erase(ref) == 0) return false;
  objects_changed_ = true;
  return true;
}

void RibTargets::forget_objects(std::uint8_t source) {
  std::erase_if(objects_, [source](const auto& object) { return object.first.source == source; });
}

std::map<RibTargets::Id, FeedTarget> RibTargets::lessened(const IsLost& is_lost) const {
  std::map<Id, FeedTarget> found;
  for (const auto& [spec, id] : numbers_) {
    const auto* const target = std::get_if<FeedTarget>(&spec);
    if (target == nullptr || target->kind != FeedTarget::Kind::unicast) continue;
    FeedTarget rest = *target;
    if (std::erase_if(rest.hops, is_lost) > 0) found.emplace(id, std::move(rest));
  }
  return found;
}

std::vector<ObjectRef> RibTargets::lost(std::uint8_t source, const IsLost& is_lost) const {
  std::vector<ObjectRef> found;
  for (const auto& [ref, object] : objects_) {
    const auto* const target = std::get_if<FeedTarget>(&object.content);
    if (ref.source == source && target != nullptr && std::ranges::any_of(target->hops, is_lost)) found.push_back(ref);
  }
  return found;
}

void RibTargets::begin_sync(std::uint8_t source) {
  for (auto& [ref, object] : objects_) {
    if (ref.source == source) object.stale = true;
  }
}

std::vector<ObjectRef> RibTargets::stale(std::uint8_t source) const {
  std::vector<ObjectRef> found;
  for (const auto& [ref, object] : objects_) {
    if (ref.source == source && object.stale) found.push_back(ref);
  }
  return found;
}

std::vector<bool> RibTargets::update() {
  std::vector<bool> changed;
  if (!std::exchange(objects_changed_, false)) return changed;
  for (Id id = 0; id < targets_.size(); ++id) {
    Target& target = targets_[id];
    if (target.spec == nullptr || !std::holds_alternative<ObjectRef>(*target.spec)) continue;
    auto now = work_out(*target.spec);
    if (now == target.leads) continue;
    target.leads = std::move(now);
    changed.resize(targets_.size());
    changed[id] = true;
  }
  return changed;
}

}  // namespace penumbra::control
