// SPDX-License-Identifier: Apache-2.0
//
// Where the routes of a RIB lead: a full table is a million routes but a few hundred different targets, so each is kept
// once. A target is given by its next hops, or by a next-hop object (RTM_NEWNEXTHOP), which may change under its
// routes.
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

/// A next-hop object of a source.
struct ObjectRef {
  std::uint8_t source = 0;
  std::uint32_t id = 0;
  auto operator<=>(const ObjectRef&) const = default;
};

/// What a next-hop object is: where it leads, or others of the same source, each with its share.
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

/// The owner. One thread at a time.
class RibTargets {
 public:
  using Id = std::uint32_t;
  using Spec = std::variant<FeedTarget, ObjectRef>;

  /// The target's number, made if there is none yet, with one more reference.
  Id acquire(const Spec& spec);
  void acquire(Id id) { ++targets_[id].references; }
  /// Takes one reference off.
  void release(Id id);
  /// The number of a target that has one.
  std::optional<Id> find(const Spec& spec) const;
  /// Where it leads now. A target that is not known is unreachable.
  const FeedTarget& leads(Id id) const {
    const auto& target = targets_[id].leads;
    return target ? *target : kUnreachable;
  }
  /// Whether the object that it goes by has been told of, of a group one member at least. FRR tells of a route before
  /// its object if both come about while it tells everything to a client that has just come.
  bool is_known(Id id) const { return targets_[id].leads.has_value(); }
  /// The object that it goes by.
  std::optional<std::uint32_t> object_id(Id id) const;

  void set_object(ObjectRef ref, ObjectContent content);
  /// Forgets it. Returns whether it was known.
  bool remove_object(ObjectRef ref);
  /// Forgets all of a source's, by none of which any target may go.
  void forget_objects(std::uint8_t source);

  using IsLost = std::function<bool(const FeedHop&)>;
  /// The targets given by next hops of which some are lost, with those that are left of each.
  std::map<Id, FeedTarget> lessened(const IsLost& is_lost) const;
  /// The source's objects whose next hop is lost.
  std::vector<ObjectRef> lost(std::uint8_t source, const IsLost& is_lost) const;

  /// Marks a source's objects as stale; set_object() takes the mark off.
  void begin_sync(std::uint8_t source);
  std::vector<ObjectRef> stale(std::uint8_t source) const;

  /// Works out anew where targets by objects lead, if objects have changed; returns for which targets that is news, as
  /// a set of flags by number, empty if for none.
  std::vector<bool> update();

  std::size_t size() const { return numbers_.size(); }

 private:
  static const FeedTarget kUnreachable;

  struct Target {
    const Spec* spec = nullptr;  ///< the key in numbers_; null: free
    std::uint32_t references = 0;
    std::optional<FeedTarget> leads;
  };
  struct Object {
    ObjectContent content;
    bool stale = false;
  };

  /// Where it leads; nothing if that is not known.
  std::optional<FeedTarget> work_out(const Spec& spec) const;

  std::map<Spec, Id> numbers_;
  std::deque<Target> targets_;
  std::vector<Id> free_;
  std::map<ObjectRef, Object> objects_;
  bool objects_changed_ = false;
};

}  // namespace penumbra::control
