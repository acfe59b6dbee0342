// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/sa_table.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include "control/xfrm/algorithms.h"
#include "functions/ipsec/settings.h"

namespace penumbra::ipsec {
namespace {

namespace xfrm = control::xfrm;

bool have_same_keys(const xfrm::Sa& a, const xfrm::Sa& b) {
  return a.settings.algorithms == b.settings.algorithms &&
         equal_bytes(a.keys->cipher, b.keys->cipher, sizeof a.keys->cipher) != 0 &&
         equal_bytes(a.keys->digest, b.keys->digest, sizeof a.keys->digest) != 0;
}

/// Adds the address of this router that a policy names. Policies have a direction, and SAs do not.
void add_own_end(const xfrm::Policy& policy, Snapshot& snapshot) {
  if (policy.templates.empty()) return;
  const xfrm::Template& wanted = policy.templates.front();
  const bool is_out = policy.direction == xfrm::Direction::out;
  if (wanted.mode == xfrm::Mode::tunnel) {
    const xfrm::Address& end = is_out ? wanted.source : wanted.id.destination;
    if (!end.is_any()) snapshot.own.insert({end, wanted.family});
    return;
  }
  const xfrm::Selector& selector = policy.selector;
  const std::uint8_t prefix = is_out ? selector.source_prefix : selector.destination_prefix;
  if (policy.direction == xfrm::Direction::forward || prefix != xfrm::address_bits(selector.family)) return;
  snapshot.own.insert({is_out ? selector.source : selector.destination, selector.family});
}

}  // namespace

SaTable::SaTable(std::size_t most, GracePeriods& readers)
    : readers_(readers), keys_(most, readers), snapshot_(std::make_unique<Snapshot>()), current_(snapshot_.get()) {}

void SaTable::put(xfrm::Sa&& sa) {
  const xfrm::SaId id = sa.settings.id;
  const auto old = sas_.find(id);
  const bool continues = old != sas_.end() && have_same_keys(old->second->sa, sa);
  if (continues && old->second->sa.settings == sa.settings) return;
  DataSa* const before = continues ? old->second.get() : nullptr;
  place(make(std::move(sa), before), before);
}

std::shared_ptr<DataSa> SaTable::make(xfrm::Sa&& sa, const DataSa* before) {
  const std::optional<std::uint32_t> key =
      before != nullptr ? std::nullopt : std::optional(keys_.add(xfrm::key_material(sa)));
  auto made = std::make_shared<DataSa>(std::move(sa));
  if (key) {
    made->format.key = *key;
  } else {
    made->continue_from(*before);
  }
  return made;
}

void SaTable::place(std::shared_ptr<DataSa> made, DataSa* before) {
  if (before != nullptr) before->owns_key = false;
  const xfrm::SaId id = made->sa.settings.id;
  remove(id);
  made->number = ++last_number_;
  by_number_.emplace(made->number, made.get());
  sas_.emplace(id, std::move(made));
  has_changes_ = true;
}

void SaTable::migrate(const xfrm::Migration& migration) {
  struct Moved {
    std::shared_ptr<DataSa> before, now;
  };
  // Nothing changes until all objects exist. They need no further room for keys.
  std::vector<Moved> moved;
  for (const auto& [id, sa] : sas_) {
    xfrm::SaSettings settings = sa->sa.settings;
    if (!xfrm::migrate(migration, settings)) continue;
    xfrm::Sa copy = copy_of(sa->sa, store_);
    copy.settings = std::move(settings);
    moved.push_back({sa, make(std::move(copy), sa.get())});
  }
  for (const Moved& each : moved) remove(each.before->sa.settings.id);
  for (Moved& each : moved) place(std::move(each.now), each.before.get());
  xfrm::Policy* const policy = spd_.find(migration.policy);
  if (policy != nullptr && xfrm::migrate(migration, policy->templates)) has_changes_ = true;
}

void SaTable::remove(const xfrm::SaId& id) {
  const auto found = sas_.find(id);
  if (found == sas_.end()) return;
  by_number_.erase(found->second->number);
  removed_.push_back(std::move(found->second));
  sas_.erase(found);
  has_changes_ = true;
}

void SaTable::put(xfrm::Policy policy) {
  spd_.insert(std::move(policy), true);
  has_changes_ = true;
}

void SaTable::remove(std::uint32_t index, const xfrm::PolicyKey& key) {
  const xfrm::Policy* const found = index != 0 ? spd_.find(index, key) : spd_.find(key);
  if (found == nullptr) return;
  spd_.remove(*found);
  has_changes_ = true;
}

void SaTable::remove_sas() {
  while (!sas_.empty()) remove(sas_.begin()->first);
}

void SaTable::remove_policies() {
  has_changes_ = true;
  spd_ = {};
}

void SaTable::remove_policies(std::uint8_t type) {
  has_changes_ = true;
  spd_.flush(type);
}

void SaTable::set_defaults(const Defaults& defaults) {
  defaults_ = defaults;
  has_changes_ = true;
}

void SaTable::set_ports(std::vector<PortEnd> ports) {
  ports_ = std::move(ports);
  has_changes_ = true;
}

DataSa* SaTable::find(const xfrm::SaId& id) {
  const auto found = sas_.find(id);
  return found == sas_.end() ? nullptr : found->second.get();
}

DataSa* SaTable::find(std::uint64_t number) {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

bool SaTable::has_waiting_successor(const DataSa& sa) const {
  const xfrm::SaSettings& old = sa.sa.settings;
  return std::any_of(by_number_.upper_bound(sa.number), by_number_.end(), [&](const auto& entry) {
    const xfrm::SaSettings& other = entry.second->sa.settings;
    return other.request == old.request && other.mode == old.mode && other.source == old.source &&
           other.id.destination == old.id.destination && entry.second->numbers.left() == 0 &&
           !entry.second->is_expired.load(std::memory_order_relaxed);
  });
}

std::vector<PolicyEntry> SaTable::entries(xfrm::Direction direction) const {
  std::vector<PolicyEntry> entries;
  std::unordered_map<std::uint32_t, std::vector<DataSa*>> by_request;
  if (direction == xfrm::Direction::out) {
    for (const auto& [number, sa] : std::views::reverse(by_number_)) {
      by_request[sa->sa.settings.request].push_back(sa);
    }
  }
  for (const xfrm::Policy* const policy : spd_.in_order(direction)) {
    PolicyEntry& entry = entries.emplace_back();
    entry.policy = *policy;
    const xfrm::Template* const wanted = entry.wanted();
    if (wanted == nullptr || direction != xfrm::Direction::out) continue;
    const auto add = [&](DataSa* sa) {
      if (serves(sa->sa.settings, *policy)) entry.sas.push_back(sa);
    };
    // The newest SA is the first choice, because a peer deletes the older one of a rekeying soon.
    if (const auto found = by_request.find(wanted->request); wanted->request == 0) {
      for (const auto& [number, sa] : std::views::reverse(by_number_)) add(sa);
    } else if (found != by_request.end()) {
      for (DataSa* const sa : found->second) add(sa);
    }
  }
  return entries;
}

void SaTable::commit(bool knows_policies) {
  auto next = std::make_unique<Snapshot>();
  next->generation = ++generation_;
  next->has_policies = knows_policies && !spd_.all().empty();
  next->in = entries(xfrm::Direction::in);
  next->out = entries(xfrm::Direction::out);
  next->forward = entries(xfrm::Direction::forward);
  next->defaults = defaults_;
  next->ports = ports_;
  for (const PortEnd& port : ports_) next->own.insert(port.addresses.begin(), port.addresses.end());
  next->nat_ports.push_back(kNatPort);
  for (const auto* const list : {&next->in, &next->forward, &next->out}) {
    for (const PolicyEntry& each : *list) add_own_end(each.policy, *next);
  }
  for (const auto& [number, sa] : by_number_) {
    const xfrm::SaId& id = sa->sa.settings.id;
    next->inbound.emplace(InboundKey{id.destination, id.spi, id.family}, sa);
    next->sas.push_back(sas_.at(id));
    const auto& encapsulation = sa->sa.settings.encapsulation;
    if (encapsulation && std::ranges::find(next->nat_ports, encapsulation->destination_port) == next->nat_ports.end() &&
        next->is_own(id.destination, id.family)) {
      next->nat_ports.push_back(encapsulation->destination_port);
    }
  }
  current_.store(next.get(), std::memory_order_release);
  std::unique_ptr<const Snapshot> before = std::exchange(snapshot_, std::move(next));
  for (const auto& sa : removed_) {
    if (sa->owns_key) keys_.remove(sa->format.key);
  }
  removed_.clear();
  // The old snapshot owns the removed SAs, too.
  retired_.push_back({readers_.start(), std::move(before)});
  has_changes_ = false;
}

void SaTable::free_retired(bool wait) {
  std::erase_if(retired_, [&](const Retired& each) { return readers_.elapsed(each.token, wait); });
  keys_.erase_removed(wait);
}

}  // namespace penumbra::ipsec
