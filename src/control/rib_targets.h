// SPDX-License-Identifier: Apache-2.0
//
// Stores the targets of the routes of a RIB. A full table has a million routes but a few hundred different targets, so
// each target is stored once. A target is a set of next hops or a next-hop object (RTM_NEWNEXTHOP), which may change
// under its routes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "penumbra/route_feed.h"

namespace penumbra::control {

/// Identifies a next-hop object of a source.
struct ObjectRef {
  std::uint8_t source = 0;
  std::uint32_t id = 0;
  auto operator<=>(const ObjectRef&) const = default;
};

/// Holds the content of a next-hop group: other objects of the same source with their weights.
struct ObjectGroup {
  struct Member {
    std::uint32_t id = 0;
    std::uint16_t weight = 1;
    bool operator==(const Member&) const = default;
  };
  std::vector<Member> members;
  bool operator==(const ObjectGroup&) const = default;
};
using ObjectContent = std::variant<FeedTarget, ObjectGroup>;

/// Counts references to targets and deduplicates them. One thread at a time may use it.
class RibTargets {
 public:
  using Id = std::uint32_t;
  using Spec = std::variant<FeedTarget, ObjectRef>;

  /// Returns the id of a target and adds a reference. Creates the target if it does not exist.
  Id acquire(const Spec& spec);
  void acquire(Id id) { ++targets_[id].references; }
  /// Removes one reference.
  void release(Id id);
  /// Returns the id of an existing target, or nothing.
  std::optional<Id> find(const Spec& spec) const;
  /// Returns the current next hops of a target. A target whose object is unknown is unreachable.
  const FeedTarget& leads(Id id) const {
    const auto& target = targets_[id].leads;
    return target ? *target : kUnreachable;
  }
  /// Returns true if the target's object has been reported; of a group, at least one member. FRR may report a route
  /// before its object while it reports everything to a new client.
  bool is_known(Id id) const { return targets_[id].leads.has_value(); }
  /// Returns the id of the target's next-hop object, or nothing if the target has none.
  std::optional<std::uint32_t> object_id(Id id) const;

  void set_object(ObjectRef ref, ObjectContent content);
  /// Forgets an object. Returns true if it was known.
  bool remove_object(ObjectRef ref);
  /// Forgets all objects of a source. No target may refer to them.
  void forget_objects(std::uint8_t source);

  using IsLost = std::function<bool(const FeedHop&)>;
  /// Returns the targets with explicit next hops that have a lost hop, each with its remaining hops.
  std::map<Id, FeedTarget> lessened(const IsLost& is_lost) const;
  /// Returns the source's objects that have a lost next hop.
  std::vector<ObjectRef> lost(std::uint8_t source, const IsLost& is_lost) const;

  /// Marks a source's objects as stale; set_object() clears the mark.
  void begin_sync(std::uint8_t source);
  std::vector<ObjectRef> stale(std::uint8_t source) const;

  /// Recomputes the targets that refer to objects, if objects have changed. Returns a flag for each id whose next hops
  /// changed; empty if none did.
  std::vector<bool> update();

  std::size_t size() const { return numbers_.size(); }

 private:
  static const FeedTarget kUnreachable;

  struct Target {
    const Spec* spec = nullptr;  ///< The key in numbers_; null: the slot is free.
    std::uint32_t references = 0;
    std::optional<FeedTarget> leads;
  };
  struct Object {
    ObjectContent content;
    bool stale = false;
  };

  /// Returns the next hops of a target, or nothing if its object is unknown.
  std::optional<FeedTarget> work_out(const Spec& spec) const;

  std::map<Spec, Id> numbers_;
  std::deque<Target> targets_;
  std::vector<Id> free_;
  std::map<ObjectRef, Object> objects_;
  bool objects_changed_ = false;
};

}  // namespace penumbra::control
