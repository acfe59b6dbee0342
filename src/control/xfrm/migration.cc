// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/migration.h"

#include <algorithm>
#include <cerrno>
#include <span>

#include "control/xfrm/fields.h"
#include "control/xfrm/read_message.h"

namespace penumbra::control::xfrm {
namespace {

Move to_move(const xfrm_user_migrate& raw) {
  return {.old_destination = to_address(raw.old_daddr),
          .old_source = to_address(raw.old_saddr),
          .new_destination = to_address(raw.new_daddr),
          .new_source = to_address(raw.new_saddr),
          .old_family = raw.old_family,
          .new_family = raw.new_family,
          .protocol = raw.proto,
          .mode = static_cast<Mode>(raw.mode),
          .request = raw.reqid};
}

bool have_same_old_ends(const Move& a, const Move& b) {
  return a.old_destination == b.old_destination && a.old_source == b.old_source && a.protocol == b.protocol &&
         a.mode == b.mode && a.request == b.request && a.old_family == b.old_family;
}

void check(const std::vector<Move>& moves) {
  require(!moves.empty() && moves.size() <= kMostTemplates, EINVAL, "a migration has 1 to 6 moves");
  for (auto at = moves.begin(); at != moves.end(); ++at) {
    require(!at->new_destination.is_any() && !at->new_source.is_any(), EINVAL, "a move needs both new addresses");
    require(address_bits(at->old_family) != 0 && address_bits(at->new_family) != 0, EINVAL,
            "a family of a move is neither IPv4 nor IPv6");
    require(std::none_of(moves.begin(), at, [&](const Move& other) { return have_same_old_ends(*at, other); }), EINVAL,
            "two moves begin at the same ends");
  }
}

bool is_for(const Move& move, const SaSettings& sa) {
  return sa.mode == move.mode && sa.id.protocol == move.protocol && sa.id.family == move.old_family &&
         (move.request == 0 || sa.request == move.request) && sa.id.destination == move.old_destination &&
         sa.source == move.old_source;
}

bool is_for(const Move& move, const Template& wanted) {
  if (wanted.mode != move.mode || wanted.id.protocol != move.protocol) return false;
  if (move.request != 0 && wanted.request != move.request) return false;
  if (wanted.mode == Mode::transport) return true;
  return (wanted.mode == Mode::tunnel || wanted.mode == Mode::beet) && wanted.family == move.old_family &&
         wanted.id.destination == move.old_destination && wanted.source == move.old_source;
}

}  // namespace

Migration read_migration(const xfrm_userpolicy_id& raw, const Attributes& attributes) {
  Migration migration;
  migration.policy = read_policy_key(raw, attributes);
  std::span<const std::uint8_t> rest = attributes.bytes(XFRMA_MIGRATE);
  for (; rest.size() >= sizeof(xfrm_user_migrate); rest = rest.subspan(sizeof(xfrm_user_migrate))) {
    migration.moves.push_back(to_move(fixed_part<xfrm_user_migrate>(rest)));
  }
  check(migration.moves);
  migration.encapsulation = read_encapsulation(attributes);
  migration.ike = attributes.get<xfrm_user_kmaddress>(XFRMA_KMADDRESS);
  return migration;
}

bool migrate(const Migration& migration, SaSettings& sa) {
  if (migration.policy.interface_id != 0 && sa.interface_id != migration.policy.interface_id) return false;
  bool is_moved = false;
  for (const Move& move : migration.moves) {
    if (!is_for(move, sa)) continue;
    is_moved = true;
    sa.id.destination = move.new_destination;
    sa.id.family = move.new_family;
    sa.source = move.new_source;
  }
  if (is_moved && migration.encapsulation) sa.encapsulation = migration.encapsulation;
  return is_moved;
}

bool migrate(const Migration& migration, std::vector<Template>& templates) {
  bool is_moved = false;
  for (Template& wanted : templates) {
    for (const Move& move : migration.moves) {
      if (!is_for(move, wanted)) continue;
      is_moved = true;
      if (wanted.mode == Mode::transport) continue;
      wanted.id.destination = move.new_destination;
      wanted.source = move.new_source;
      wanted.family = move.new_family;
    }
  }
  return is_moved;
}

xfrm_user_migrate raw_move(const Move& move) {
  return {.old_daddr = raw_address(move.old_destination),
          .old_saddr = raw_address(move.old_source),
          .new_daddr = raw_address(move.new_destination),
          .new_saddr = raw_address(move.new_source),
          .proto = move.protocol,
          .mode = static_cast<std::uint8_t>(move.mode),
          .reserved = 0,
          .reqid = move.request,
          .old_family = move.old_family,
          .new_family = move.new_family};
}

}  // namespace penumbra::control::xfrm
