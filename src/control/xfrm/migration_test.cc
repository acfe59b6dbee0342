// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/migration.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "control/xfrm/manager_testing.h"

namespace penumbra::control::xfrm {
namespace {

using testing::address;
using testing::esp_sa;
using testing::gcm_sa;
using testing::id_of;
using testing::kOwner;
using testing::ManagerTest;
using testing::Message;
using testing::out_policy;
using testing::policy_for;

/// Returns a move of the SAs of esp_sa() to another source, by default, or destination.
xfrm_user_migrate move_to(const char* source, const char* destination = "192.0.2.2") {
  xfrm_user_migrate raw{};
  raw.old_saddr = address("192.0.2.1");
  raw.old_daddr = address("192.0.2.2");
  raw.new_saddr = address(source);
  raw.new_daddr = address(destination);
  raw.proto = 50;
  raw.mode = XFRM_MODE_TUNNEL;
  raw.old_family = raw.new_family = AF_INET;
  return raw;
}

xfrm_userpolicy_id policy_id() {
  xfrm_userpolicy_id raw{};
  raw.sel = out_policy().sel;
  raw.dir = XFRM_POLICY_OUT;
  return raw;
}

Message migrate_by(const std::vector<xfrm_user_migrate>& moves) {
  Message message(XFRM_MSG_MIGRATE, policy_id());
  message.attribute_bytes(
      XFRMA_MIGRATE, {reinterpret_cast<const std::uint8_t*>(moves.data()), moves.size() * sizeof(xfrm_user_migrate)});
  return message;
}

class MigrationTest : public ManagerTest {
 protected:
  Message get_at(std::uint32_t spi, const char* destination) const {
    xfrm_usersa_id id = id_of(esp_sa(spi));
    id.daddr = address(destination);
    return {XFRM_MSG_GETSA, id, NLM_F_REQUEST};
  }
};

TEST_F(MigrationTest, MovesAnSaAndItsPolicyAtOnce) {
  ASSERT_EQ(error(policy_for(0)), 0);
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x100)), 0);
  const Outcome outcome = ask(migrate_by({move_to("192.0.2.7", "198.51.100.2")}));
  ASSERT_EQ(error_in(outcome), 0);
  EXPECT_EQ(error(get_at(0x100, "192.0.2.2")), ESRCH);
  const auto raw = fixed_of<xfrm_usersa_info>(ask(get_at(0x100, "198.51.100.2")).replies[0]);
  EXPECT_EQ(raw.saddr.a4, address("192.0.2.7").a4);
  const Template wanted = manager_.spd().all().begin()->second.templates.front();
  EXPECT_EQ(to_string(wanted.source, AF_INET), "192.0.2.7");
  EXPECT_EQ(to_string(wanted.id.destination, AF_INET), "198.51.100.2");

  // Listeners hear of it without keys, and the data plane gets the next sequence numbers: the key is the same.
  ASSERT_EQ(to_group(outcome, XFRMNLGRP_MIGRATE).size(), 1U);
  EXPECT_EQ(type_of(*to_group(outcome, XFRMNLGRP_MIGRATE)[0]), XFRM_MSG_MIGRATE);
  ASSERT_EQ(outcome.notifications.size(), 2U);
  const Notification& told = outcome.notifications[1];
  EXPECT_EQ(told.group, unsigned{PENUMBRA_XFRM_GROUP_DATA_PLANE});
  EXPECT_FALSE(has_key(told.message));
  const auto lent = fixed_of<penumbra_xfrm_lend>(told.lent);
  EXPECT_EQ(lent.first, 65537U);
  EXPECT_EQ(lent.id.daddr.a4, address("198.51.100.2").a4);
}

TEST_F(MigrationTest, MovesAllSasOfThePair) {
  // During a rekeying there are two.
  ASSERT_EQ(error(policy_for(0)), 0);
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x100)), 0);
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x101)), 0);
  ASSERT_EQ(error(migrate_by({move_to("192.0.2.7")})), 0);
  for (const auto& [number, sa] : manager_.sad().all()) EXPECT_EQ(to_string(sa.settings.source, AF_INET), "192.0.2.7");
  EXPECT_EQ(manager_.sad().all().size(), 2U);
}

TEST_F(MigrationTest, LendsNoMoreThanADatagramHolds) {
  ASSERT_EQ(error(policy_for(0)), 0);
  manager_.set_has_data_plane(false);
  constexpr std::uint32_t kSas = 1500;
  for (std::uint32_t i = 0; i < kSas; ++i) ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x100 + i)), 0);
  manager_.set_has_data_plane(true);
  const Outcome outcome = ask(migrate_by({move_to("192.0.2.7")}));
  ASSERT_EQ(error_in(outcome), 0);
  const Notification& told = outcome.notifications.back();
  constexpr std::size_t kMostDatagram = 65536;
  EXPECT_LT(told.message.size() + told.lent.size(), kMostDatagram);
  EXPECT_GT(told.lent.size(), kMostDatagram / 4);
}

TEST_F(MigrationTest, ChangesNothingUnlessAllCanMove) {
  ASSERT_EQ(error(policy_for(0)), 0);
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x100)), 0);
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x101)), 0);
  // At the new destination, the second SPI is taken.
  xfrm_usersa_info taken = esp_sa(0x101);
  taken.id.daddr = address("198.51.100.2");
  Message other(XFRM_MSG_NEWSA, taken);
  other.algorithm<xfrm_algo_aead>(XFRMA_ALG_AEAD, "rfc4106(gcm(aes))", 20, 128);
  ASSERT_EQ(error(other), 0);
  const Outcome outcome = ask(migrate_by({move_to("192.0.2.7", "198.51.100.2")}));
  EXPECT_EQ(error_in(outcome), ENODATA);
  EXPECT_TRUE(outcome.notifications.empty());
  for (const std::uint32_t spi : {0x100U, 0x101U}) EXPECT_EQ(error(get_at(spi, "192.0.2.2")), -1) << "it is there";
  EXPECT_EQ(to_string(manager_.spd().all().begin()->second.templates.front().source, AF_INET), "192.0.2.1");
}

TEST_F(MigrationTest, TakesAnotherEncapsulation) {
  ASSERT_EQ(error(policy_for(0)), 0);
  ASSERT_EQ(error(gcm_sa(XFRM_MSG_NEWSA, 0x100)), 0);
  xfrm_encap_tmpl encap{};
  encap.encap_type = 2;
  encap.encap_sport = htons(4500);
  encap.encap_dport = htons(1024);
  Message message = migrate_by({move_to("192.0.2.7")});
  message.attribute(XFRMA_ENCAP, encap);
  ASSERT_EQ(error(message), 0);
  const auto& encapsulation = manager_.sad().all().begin()->second.settings.encapsulation;
  ASSERT_TRUE(encapsulation.has_value());
  EXPECT_EQ(encapsulation->destination_port, 1024U);
  encap.encap_type = 7;
  Message unknown = migrate_by({move_to("192.0.2.8")});
  unknown.attribute(XFRMA_ENCAP, encap);
  EXPECT_EQ(error(unknown), EPROTONOSUPPORT);
}

TEST_F(MigrationTest, RefusesWhatLinuxRefuses) {
  const xfrm_user_migrate move = move_to("192.0.2.7");
  EXPECT_EQ(error(migrate_by({move})), ENOENT);
  ASSERT_EQ(error(policy_for(3)), 0);
  EXPECT_EQ(error({XFRM_MSG_MIGRATE, policy_id()}), EINVAL);
  EXPECT_EQ(error(migrate_by({move_to("0.0.0.0")})), EINVAL);
  EXPECT_EQ(error(migrate_by({move, move})), EINVAL);
  EXPECT_EQ(error(migrate_by(std::vector(7, move))), EINVAL);
  xfrm_user_migrate other = move;
  other.old_saddr = address("192.0.2.9");
  EXPECT_EQ(error(migrate_by({other})), ENODATA);
  other = move;
  other.reqid = 4;
  EXPECT_EQ(error(migrate_by({other})), ENODATA);
  other.reqid = 3;
  EXPECT_EQ(error(migrate_by({other})), 0) << "a policy may have no SA";
}

}  // namespace
}  // namespace penumbra::control::xfrm
