// SPDX-License-Identifier: Apache-2.0
//
// Who seals with an SA: the kernel or Penumbra.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "control/xfrm/kernel_follower_testing.h"

namespace penumbra::control::xfrm {
namespace {

using testing::cbc;
using testing::deleted;
using testing::esp_sa;
using testing::gcm;
using testing::id_of;
using testing::kDaemon;
using testing::kEnd;
using testing::kernel_policy;
using testing::KernelFollowerTest;
using testing::KernelSa;
using testing::kOwner;
using testing::Message;
using testing::policy_for;

TEST_F(KernelFollowerTest, LocksBeforeItLends) {
  kernel_.policies.push_front(kernel_policy(0));
  synchronize();
  kernel_.add(0x100, gcm);
  kernel_.tell(0x100);
  std::size_t known_before_lock = 99;
  kernel_.before_answer = [&](std::uint16_t type) {
    if (type == XFRM_MSG_NEWAE) {
      known_before_lock = known();
      HighWaterMarks stored(folder_ / "marks", folder_ / "witness");
      EXPECT_EQ(stored.size(), 1U) << "the mark precedes the lock";
    }
  };
  const Outcome outcome = receive();
  EXPECT_EQ(known_before_lock, 0U);
  const auto end = kernel_.asked.end();
  const std::vector<std::uint16_t> last(end - 4, end);
  EXPECT_EQ(last, (std::vector<std::uint16_t>{XFRM_MSG_GETSA, XFRM_MSG_GETSA, XFRM_MSG_NEWAE, XFRM_MSG_GETSA}));
  EXPECT_EQ(kernel_.at(0x100).sent, kEnd);
  EXPECT_EQ(counters().locks, 1U);
  // The SA comes with its first numbers, because a policy waits for it.
  const bool lent =
      std::ranges::any_of(outcome.notifications, [](const Notification& one) { return !one.lent.empty(); });
  EXPECT_TRUE(lent);
  EXPECT_EQ(first_number(0x100), PENUMBRA_XFRM_FIRST_BLOCK + 1U);
}

TEST_F(KernelFollowerTest, NeverSealsWithACounterModeThatTheKernelHasUsed) {
  kernel_.add(0x100, gcm);
  kernel_.seal(0x100, 1);
  kernel_.add(0x200, gcm);
  // The kernel seals until the lock holds.
  kernel_.before_answer = [&](std::uint16_t type) {
    if (type == XFRM_MSG_NEWAE) kernel_.seal(0x200, 1);
  };
  kernel_.add(0x300, gcm).sent = 7;
  synchronize();
  for (const std::uint32_t spi : {0x100U, 0x200U, 0x300U}) {
    EXPECT_NE(why(spi), "") << spi;
    EXPECT_EQ(first_number(spi), 0U);
    EXPECT_EQ(error_in(outcome_), EKEYREJECTED);
  }
}

TEST_F(KernelFollowerTest, AsksForASuccessorOnce) {
  kernel_.add(0x100, gcm);
  kernel_.seal(0x100, 1);
  kernel_.add(0x200, gcm);
  kernel_.seal(0x200, 1);
  synchronize();
  EXPECT_EQ(first_number(0x100), 0U);
  follower_.forward(outcome_.notifications);
  ASSERT_EQ(kernel_.expired.size(), 1U);
  EXPECT_EQ(kernel_.expired[0].state.id.spi, htonl(0x100));
  EXPECT_EQ(kernel_.expired[0].hard, 0);
  // The same SA, and another one of its reqid in the same minute.
  for (const std::uint32_t spi : {0x100U, 0x200U}) {
    EXPECT_EQ(first_number(spi), 0U);
    follower_.forward(outcome_.notifications);
  }
  EXPECT_EQ(kernel_.expired.size(), 1U);
  // The kernel repeats the expiry, which is not sent back.
  xfrm_user_expire repeated{};
  repeated.state = esp_sa(0x100);
  kernel_.tell(Message(XFRM_MSG_EXPIRE, repeated));
  EXPECT_TRUE(receive().notifications.empty());
  now_ += 60;
  Outcome outcome;
  manager_.tick(outcome);
  EXPECT_EQ(first_number(0x200), 0U);
  follower_.forward(outcome_.notifications);
  EXPECT_EQ(kernel_.expired.size(), 2U);
}

TEST_F(KernelFollowerTest, ContinuesTheNumbersOfCbc) {
  kernel_.add(0x100, cbc);
  kernel_.seal(0x100, 5);
  kernel_.before_answer = [&](std::uint16_t type) {
    if (type == XFRM_MSG_NEWAE) kernel_.seal(0x100, 2);
  };
  synchronize();
  EXPECT_EQ(why(0x100), "");
  EXPECT_EQ(kernel_.at(0x100).sent, kEnd);
  LaterProcess later(*this, folder_ / "marks", folder_ / "witness");
  EXPECT_EQ(first_number(0x100, later.manager), 8U) << "a later process continues, too";
  EXPECT_EQ(first_number(0x100), 8U);
}

TEST_F(KernelFollowerTest, ALaterProcessContinuesAboveTheMark) {
  kernel_.add(0x100, gcm);
  kernel_.add(0x200, gcm);
  synchronize();
  EXPECT_EQ(first_number(0x100), 1U);
  LaterProcess later(*this, folder_ / "marks", folder_ / "witness");
  EXPECT_EQ(first_number(0x100, later.manager), 11U);
  EXPECT_EQ(first_number(0x200, later.manager), 1U) << "locked, and never lent";
  EXPECT_EQ(later.manager.kernel().locks, 0U);
}

TEST_F(KernelFollowerTest, ALockWithoutMarkIsNotTrusted) {
  kernel_.add(0x100, gcm).sent = kEnd;
  kernel_.add(0x200, cbc).sent = kEnd;
  synchronize();
  // The message of an update has the daemon's numbers, which are not those of the kernel.
  const std::uint64_t sent = std::exchange(kernel_.at(0x100).sent, 0);
  kernel_.tell(0x100, XFRM_MSG_UPDSA);
  kernel_.at(0x100).sent = sent;
  receive();
  for (const std::uint32_t spi : {0x100U, 0x200U}) {
    EXPECT_NE(why(spi), "") << spi;
    EXPECT_EQ(first_number(spi), 0U);
  }
  // Who used the key is not known, even if the SA comes again with other numbers.
  kernel_.at(0x100).sent = 0;
  kernel_.tell(0x100);
  receive();
  EXPECT_EQ(first_number(0x100), 0U);
}

TEST_F(KernelFollowerTest, WhatCannotBeLockedOpensOnly) {
  kernel_.add(0x100, [](const xfrm_usersa_info& raw) {
    return gcm(raw).attribute(XFRMA_SA_EXTRA_FLAGS, std::uint32_t{XFRM_SA_XFLAG_OSEQ_MAY_WRAP});
  });
  synchronize();
  EXPECT_NE(why(0x100), "");
  EXPECT_EQ(kernel_.at(0x100).sent, 0U) << "it would begin again at 0";
  kernel_.errors[XFRM_MSG_NEWAE] = EPERM;
  kernel_.add(0x200, gcm);
  kernel_.tell(0x200);
  receive();
  EXPECT_NE(why(0x200), "");
  EXPECT_EQ(first_number(0x200), 0U);
  EXPECT_EQ(counters().lock_failures, 1U);
  // It is deleted between the notification and the lock.
  kernel_.errors[XFRM_MSG_NEWAE] = ESRCH;
  kernel_.add(0x300, gcm);
  kernel_.tell(0x300);
  receive();
  EXPECT_EQ(find(0x300), nullptr);
  kernel_.errors.clear();
  kernel_.add(0x400, gcm);
  kernel_.tell(0x400);
  kernel_.remove(0x400);
  receive();
  EXPECT_EQ(find(0x400), nullptr);
}

TEST_F(KernelFollowerTest, AnIgnoredLockIsNoticed) {
  kernel_.add(0x100, gcm);
  kernel_.before_answer = [&](std::uint16_t type) {
    // The second request for the SA follows the lock.
    if (type == XFRM_MSG_GETSA && std::ranges::count(kernel_.asked, XFRM_MSG_NEWAE) == 1) kernel_.at(0x100).sent = 0;
  };
  synchronize();
  EXPECT_NE(why(0x100), "");
  EXPECT_EQ(counters().locks, 0U);
}

TEST_F(KernelFollowerTest, LocksExtendedNumbersUnlessTheKernelHasAnOffload) {
  const auto extended = [&](std::uint32_t spi) {
    KernelSa& sa = kernel_.add(spi, gcm);
    sa.raw.flags = XFRM_STATE_ESN;
    sa.is_extended = true;
    sa.window = {1, 2, 3, 4};
  };
  extended(0x100);
  synchronize();
  EXPECT_EQ(kernel_.at(0x100).sent, kUnlimited);
  EXPECT_EQ(first_number(0x100), 1U);
  has_offload_ = true;
  extended(0x200);
  kernel_.tell(0x200);
  kernel_.add(0x300, gcm);
  kernel_.tell(0x300);
  receive();
  EXPECT_EQ(first_number(0x200), 0U);
  EXPECT_EQ(first_number(0x300), 1U);
}

TEST_F(KernelFollowerTest, AnSaThatLostItsLockLeaves) {
  kernel_.add(0x100, gcm);
  synchronize();
  EXPECT_EQ(first_number(0x100), 1U);
  kernel_.at(0x100).sent = 0;
  kernel_.seal(0x100, 1);
  synchronize();
  EXPECT_EQ(find(0x100), nullptr);
  synchronize();
  EXPECT_EQ(first_number(0x100), 0U);
}

TEST_F(KernelFollowerTest, AKeyThatTheKernelHasUsedIsSpentForGood) {
  synchronize();
  kernel_.add(0x100, gcm);
  kernel_.seal(0x100, 1);
  kernel_.tell(0x100);
  receive();
  EXPECT_NE(why(0x100), "");
  // The same key comes again, and the kernel counts from 0.
  kernel_.tell(Message(XFRM_MSG_DELSA, id_of(esp_sa(0x100))));
  kernel_.remove(0x100);
  kernel_.add(0x100, gcm);
  kernel_.tell(0x100);
  receive();
  EXPECT_EQ(first_number(0x100), 0U);
  LaterProcess later(*this, folder_ / "marks", folder_ / "witness");
  EXPECT_EQ(first_number(0x100, later.manager), 0U);
  // A keeper that gets the key from a daemon lends nothing either.
  Manager without_kernel(later.marks, [this] { return now_; }, kOwner);
  without_kernel.set_has_data_plane(true);
  Sender daemon{.user = kDaemon};
  Outcome outcome;
  without_kernel.handle(daemon, policy_for(0).bytes(), outcome);
  without_kernel.handle(daemon, gcm(esp_sa(0x100)).bytes(), outcome);
  ASSERT_EQ(without_kernel.sad().all().size(), 1U);
  EXPECT_EQ(first_number(0x100, without_kernel), 0U);
}

TEST_F(KernelFollowerTest, ADeletedSaTellsWhetherTheKernelHasSealed) {
  synchronize();
  // The SA that the first message tells is gone when the keeper asks for it.
  kernel_.add(0x100, gcm);
  kernel_.tell(0x100);
  xfrm_usersa_info used = esp_sa(0x100);
  used.curlft.packets = 1;
  kernel_.tell(deleted(used, gcm));
  kernel_.tell(0x100);
  kernel_.add(0x200, gcm);
  kernel_.tell(deleted(esp_sa(0x200), gcm));
  kernel_.tell(0x200);
  const Outcome outcome = receive();
  EXPECT_EQ(first_number(0x100), 0U);
  EXPECT_EQ(first_number(0x200), 1U);
}

TEST_F(KernelFollowerTest, LostMarksStayLost) {
  kernel_.add(0x100, gcm);
  kernel_.add(0x200, cbc);
  kernel_.add(0x300, cbc);
  kernel_.seal(0x300, 1);
  std::ofstream(folder_ / "marks", std::ios::binary | std::ios::app) << std::string(100, 'x');
  LaterProcess later(*this, folder_ / "marks", folder_ / "witness");
  ASSERT_NE(later.marks.why_lost(), "");
  EXPECT_NE(HighWaterMarks(folder_ / "marks", folder_ / "witness").why_lost(), "");
  for (const std::uint32_t spi : {0x100U, 0x200U, 0x300U}) EXPECT_EQ(first_number(spi, later.manager), 0U);
}

TEST_F(KernelFollowerTest, TheDataPlaneGivesUpNumbersAtOnce) {
  kernel_.add(0x100, gcm);
  synchronize();
  EXPECT_EQ(first_number(0x100), 1U);
  kernel_.at(0x100).sent = 0;
  kernel_.seal(0x100, 1);
  EXPECT_EQ(types_to_data_plane(synchronize()), (std::vector<std::uint16_t>{PENUMBRA_XFRM_REVOKE, XFRM_MSG_DELSA}));
  // The SA comes again, to open packets.
  EXPECT_EQ(types_to_data_plane(synchronize()), (std::vector<std::uint16_t>{PENUMBRA_XFRM_REVOKE, XFRM_MSG_NEWSA}));
  // A data plane that connects may have numbers from an earlier keeper.
  penumbra_xfrm_hello hello{};
  hello.options = PENUMBRA_XFRM_DATA_PLANE;
  const Outcome outcome = ask({PENUMBRA_XFRM_HELLO, hello}, kOwner);
  ASSERT_EQ(outcome.replies.size(), 2U);
  EXPECT_EQ(type_of(outcome.replies[0]), PENUMBRA_XFRM_REVOKE);
  EXPECT_EQ(fixed_of<xfrm_usersa_id>(outcome.replies[0]).spi, htonl(0x100));
}

TEST_F(KernelFollowerTest, ContinuesCbcAfterACrashThatFollowsTheLock) {
  kernel_.add(0x100, cbc);
  kernel_.before_answer = [&](std::uint16_t type) {
    if (type != XFRM_MSG_NEWAE) return;
    kernel_.seal(0x100, 7);
    std::filesystem::copy_file(folder_ / "marks", folder_ / "crashed");
  };
  synchronize();
  kernel_.before_answer = nullptr;
  LaterProcess later(*this, folder_ / "crashed", folder_ / "crashed-witness");
  EXPECT_EQ(first_number(0x100, later.manager), 8U);
}

TEST_F(KernelFollowerTest, ManySasNeedFewWritesToTheDisk) {
  constexpr std::uint32_t kSas = 200;
  for (std::uint32_t i = 1; i <= kSas; ++i) {
    kernel_.add(0x100 * i, cbc);
    kernel_.seal(0x100 * i, 1);
  }
  std::pair<ino_t, off_t> last;
  int writes = 0;
  kernel_.before_answer = [&](std::uint16_t type) {
    if (type != XFRM_MSG_NEWAE) return;
    struct stat file{};
    ASSERT_EQ(stat((folder_ / "marks").c_str(), &file), 0);
    const std::pair now(file.st_ino, file.st_size);
    if (std::exchange(last, now) != now) ++writes;
  };
  synchronize();
  EXPECT_EQ(counters().locks, kSas);
  EXPECT_EQ(writes, 1) << "before the first lock";
}

}  // namespace
}  // namespace penumbra::control::xfrm
