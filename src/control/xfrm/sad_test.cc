// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/sad.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>

#include "control/xfrm/refused.h"

namespace penumbra::control::xfrm {
namespace {

Sa sa_of(std::uint32_t spi, Mark mark = {}) {
  Sa sa;
  sa.settings.id = {
      .destination = parse_address("192.0.2.2", AF_INET).value(), .spi = spi, .family = AF_INET, .protocol = 50};
  sa.settings.source = parse_address("192.0.2.1", AF_INET).value();
  sa.settings.mark = mark;
  return sa;
}

template <class Call>
int error_of(const Call& call) {
  try {
    call();
    return 0;
  } catch (const Refused& refused) {
    return refused.error();
  }
}

TEST(Sad, FindsAnSaByItsIdAndMark) {
  Sad sad;
  sad.add(sa_of(1, {.value = 5, .mask = 0xFF}));
  sad.add(sa_of(1, {.value = 6, .mask = 0xFF}));
  const SaId id = sa_of(1).settings.id;
  EXPECT_EQ(sad.find(id, 0), nullptr);
  EXPECT_EQ(sad.find(id, 0x105)->settings.mark.value, 5U);
  EXPECT_EQ(sad.find(id, 6)->settings.mark.value, 6U);
  SaId other = id;
  other.destination = parse_address("192.0.2.3", AF_INET).value();
  EXPECT_EQ(sad.find(other, 5), nullptr);
  EXPECT_EQ(error_of([&] { sad.add(sa_of(1, {.value = 5, .mask = 0xFF})); }), EEXIST);
}

TEST(Sad, UpdatesLimitsButNoKeys) {
  Sad sad;
  Sa first = sa_of(1);
  first.replay.out = 9;
  first.settings.algorithms.digest = Algorithm{"hmac(sha1)", 160, 96};
  sad.add(std::move(first));
  Sa second = sa_of(1);
  second.settings.limits.soft_packets = 77;
  second.settings.algorithms.digest = Algorithm{"hmac(sha256)", 256, 128};
  const Sa& now = sad.update(std::move(second));
  EXPECT_EQ(now.settings.limits.soft_packets, 77U);
  EXPECT_EQ(now.settings.algorithms.digest.value().name, "hmac(sha1)");
  EXPECT_EQ(now.replay.out, 9U);
  EXPECT_EQ(error_of([&] { sad.update(sa_of(2)); }), ESRCH);
  Sa encapsulated = sa_of(1);
  encapsulated.settings.encapsulation =
      Encapsulation{.type = 2, .source_port = 4500, .destination_port = 4500, .original = {}};
  EXPECT_EQ(error_of([&] { sad.update(std::move(encapsulated)); }), EINVAL);
}

TEST(Sad, AllocatesEverySpiOfARangeOnce) {
  Sad sad;
  std::set<std::uint32_t> spis;
  for (int i = 0; i < 8; ++i) spis.insert(sad.allocate_spi(sa_of(0), 0x100, 0x107).settings.id.spi);
  EXPECT_EQ(spis.size(), 8U);
  EXPECT_EQ(*spis.begin(), 0x100U);
  EXPECT_EQ(error_of([&] { sad.allocate_spi(sa_of(0), 0x100, 0x107); }), ENOENT);
  EXPECT_EQ(error_of([&] { sad.allocate_spi(sa_of(0), 0, 0); }), ENOENT);
  EXPECT_EQ(error_of([&] { sad.add(sa_of(0x103)); }), EEXIST);
  Sa& keyed = sad.update(sa_of(0x103));
  EXPECT_FALSE(keyed.larval);
  EXPECT_EQ(sad.all().size(), 8U);
}

TEST(Sad, ReplacesTheLarvalSaOfAnAcquire) {
  Sad sad;
  Sa wanted = sa_of(0);
  wanted.settings.sequence = 3;
  wanted.settings.request = 12;
  ASSERT_NE(sad.acquire(std::move(wanted)), nullptr);
  Sa again = sa_of(0);
  again.settings.request = 12;
  EXPECT_EQ(sad.acquire(std::move(again)), nullptr);
  Sa answer = sa_of(5);
  answer.settings.sequence = 3;
  sad.add(std::move(answer));
  EXPECT_EQ(sad.all().size(), 1U);
  EXPECT_NE(sad.find(sa_of(5).settings.id, 0), nullptr);
}

TEST(Sad, RemovesAndFlushes) {
  Sad sad;
  for (std::uint32_t spi = 1; spi <= 3; ++spi) sad.add(sa_of(spi));
  sad.remove(*sad.find(sa_of(2).settings.id, 0));
  EXPECT_EQ(sad.find(sa_of(2).settings.id, 0), nullptr);
  EXPECT_EQ(sad.flush(51), 0U);
  EXPECT_EQ(sad.flush(255), 2U);
  EXPECT_EQ(sad.find(sa_of(1).settings.id, 0), nullptr);
  EXPECT_EQ(sad.flush(0), 0U);
}

TEST(Limits, AreReportedOnceSoftThenHard) {
  Limits limits;
  limits.soft_packets = 10;
  limits.hard_packets = 20;
  limits.hard_add_seconds = 100;
  limits.soft_use_seconds = 30;
  Usage usage{.bytes = 0, .packets = 9, .add_time = 1000};
  EXPECT_EQ(expiry_of(limits, usage, false, 1001), Expiry::none);
  usage.packets = 10;
  EXPECT_EQ(expiry_of(limits, usage, false, 1001), Expiry::soft);
  EXPECT_EQ(expiry_of(limits, usage, true, 1001), Expiry::none);
  usage.packets = 20;
  EXPECT_EQ(expiry_of(limits, usage, true, 1001), Expiry::hard);
  usage.packets = 0;
  EXPECT_EQ(expiry_of(limits, usage, false, 1099), Expiry::none);
  EXPECT_EQ(expiry_of(limits, usage, false, 1100), Expiry::hard);
  EXPECT_EQ(expiry_of(limits, usage, false, 900), Expiry::none) << "the clock was set back";
  usage.use_time = 1010;
  EXPECT_EQ(expiry_of(limits, usage, false, 1039), Expiry::none);
  EXPECT_EQ(expiry_of(limits, usage, false, 1040), Expiry::soft);
}

}  // namespace
}  // namespace penumbra::control::xfrm
