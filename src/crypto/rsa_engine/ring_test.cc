// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa_engine/ring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "crypto/rsa/key_testing.h"
#include "crypto/rsa_engine/message.h"
#include "crypto/rsa_engine/region.h"

namespace penumbra::rsa_engine {
namespace {

Entry entry_of(std::uint32_t number) {
  Entry entry{.tag = number, .key = number + 1, .bytes = 3};
  entry.content.fill(static_cast<std::uint8_t>(number));
  return entry;
}

class RingTest : public testing::Test {
 protected:
  FileDescriptor file_;
  MappedRegion region_{file_};
  RingWriter writer_{region_->requests};
  RingReader reader_{region_->requests};
};

TEST_F(RingTest, PassesEntriesInOrder) {
  Entry got;
  EXPECT_EQ(reader_.read(got), Reading::empty);
  for (std::uint32_t turn = 0; turn < 5; ++turn) {
    for (std::uint32_t i = 0; i < kSlots; ++i) EXPECT_FALSE(writer_.write(entry_of(turn + i)));
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      ASSERT_EQ(reader_.read(got), Reading::entry);
      EXPECT_EQ(got.tag, turn + i);
      EXPECT_EQ(got.key, turn + i + 1);
      EXPECT_EQ(got.content[kMostBytes - 1], static_cast<std::uint8_t>(turn + i));
    }
    EXPECT_EQ(reader_.read(got), Reading::empty);
  }
}

TEST_F(RingTest, AsksForOneMessage) {
  EXPECT_TRUE(reader_.begin_sleep());
  EXPECT_TRUE(writer_.write(entry_of(1)));
  EXPECT_FALSE(writer_.write(entry_of(2)));
  EXPECT_FALSE(reader_.begin_sleep()) << "there are entries";
  reader_.end_sleep();
  EXPECT_FALSE(writer_.write(entry_of(3)));
}

TEST_F(RingTest, FindsImpossibleNumbers) {
  Entry got;
  for (const std::uint32_t written : {kSlots + 1, 0x80000000U, 0xFFFFFFFFU}) {
    region_->requests.written = written;
    EXPECT_EQ(reader_.read(got), Reading::broken) << written;
  }
  region_->requests.written = kSlots;
  EXPECT_EQ(reader_.read(got), Reading::entry);
}

TEST_F(RingTest, PassesEntriesBetweenThreads) {
  constexpr std::uint32_t kCount = 20'000;
  RingWriter back(region_->answers);
  RingReader answers(region_->answers);
  const std::jthread echo([&] {
    Entry entry;
    for (std::uint32_t i = 0; i < kCount;) {
      if (reader_.read(entry) != Reading::entry) continue;
      back.write(entry);
      ++i;
    }
  });
  Entry got;
  std::uint32_t sent = 0;
  for (std::uint32_t i = 0; i < kCount;) {
    while (sent < kCount && sent - i < kSlots) writer_.write(entry_of(sent++));
    if (answers.read(got) != Reading::entry) continue;
    ASSERT_EQ(got.tag, i);
    ASSERT_EQ(got.content[100], static_cast<std::uint8_t>(i));
    ++i;
  }
}

TEST_F(RingTest, TheSizeOfARegionIsSealed) {
  EXPECT_NE(ftruncate(file_.get(), 0), 0);
  EXPECT_NE(ftruncate(file_.get(), sizeof(Region) + 1), 0);
  const auto peer = MappedRegion::of_peer(file_);
  writer_.write(entry_of(5));
  EXPECT_EQ((*peer)->requests.written, 1U);
}

TEST(Region, RefusesFilesThatAPeerMayChange) {
  const FileDescriptor unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), sizeof(Region)), 0);
  EXPECT_THROW(MappedRegion::of_peer(unsealed), std::runtime_error);
  const FileDescriptor small(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(fcntl(small.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  EXPECT_THROW(MappedRegion::of_peer(small), std::runtime_error);
  EXPECT_THROW(MappedRegion::of_peer(FileDescriptor()), std::runtime_error);
}

class MessageTest : public testing::Test {
 protected:
  MessageTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    left_ = FileDescriptor(ends[0]);
    right_ = FileDescriptor(ends[1]);
  }

  FileDescriptor left_, right_;
  std::array<std::uint8_t, kMostMessage> room_{};
  Message message_{};
};

TEST_F(MessageTest, PassesDescriptorsToThoseWhoWantOne) {
  EXPECT_EQ(receive_message(right_.get(), room_, message_), Receipt::nothing);
  FileDescriptor file(memfd_create("test", MFD_CLOEXEC)), passed;
  const std::array<std::uint8_t, 2> rest{7, 8};
  ASSERT_TRUE(send_message(left_.get(), {MessageKind::region, 3}, rest, file.get()));
  ASSERT_EQ(receive_message(right_.get(), room_, message_, &passed), Receipt::message);
  EXPECT_EQ(message_.head.kind, MessageKind::region);
  EXPECT_EQ(message_.head.number, 3U);
  EXPECT_TRUE(std::ranges::equal(message_.rest, rest));
  EXPECT_TRUE(passed);
  ASSERT_TRUE(send_message(left_.get(), {MessageKind::region, 3}, rest, file.get()));
  EXPECT_EQ(receive_message(right_.get(), room_, message_), Receipt::message);
}

TEST_F(MessageTest, KeepsNoSecondDescriptor) {
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_descriptors();
  MessageHead head{MessageKind::region, 1};
  iovec part{&head, sizeof head};
  const std::array<int, 2> two{0, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof two)> control{};
  msghdr both{};
  both.msg_iov = &part;
  both.msg_iovlen = 1;
  both.msg_control = control.data();
  both.msg_controllen = control.size();
  *CMSG_FIRSTHDR(&both) = {.cmsg_len = CMSG_LEN(sizeof two), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  std::memcpy(CMSG_DATA(CMSG_FIRSTHDR(&both)), two.data(), sizeof two);
  ASSERT_GT(sendmsg(left_.get(), &both, 0), 0);
  {
    FileDescriptor passed;
    EXPECT_EQ(receive_message(right_.get(), room_, message_, &passed), Receipt::message);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(MessageTest, FindsWhatIsNoMessage) {
  ASSERT_EQ(send(left_.get(), "abc", 3, 0), 3);
  EXPECT_EQ(receive_message(right_.get(), room_, message_), Receipt::ended);
  const std::vector<char> large(kMostMessage + 1);
  ASSERT_GT(send(left_.get(), large.data(), large.size(), 0), 0);
  EXPECT_EQ(receive_message(right_.get(), room_, message_), Receipt::ended);
  left_ = FileDescriptor();
  EXPECT_EQ(receive_message(right_.get(), room_, message_), Receipt::ended);
  EXPECT_FALSE(send_message(right_.get(), {MessageKind::wake, 0}));
}

TEST_F(MessageTest, PassesKeys) {
  const rsa::KeyParts key{rsa::kModulus,   rsa::kPublicExponent, rsa::kPrime1,     rsa::kPrime2,
                          rsa::kExponent1, rsa::kExponent2,      rsa::kCoefficient};
  const std::size_t bytes = write_key(room_, key);
  ASSERT_GT(bytes, 256U + 5 * 128);
  const auto same = read_key(std::span(room_).first(bytes));
  ASSERT_TRUE(same);
  EXPECT_TRUE(std::ranges::equal(same->modulus, key.modulus));
  EXPECT_TRUE(std::ranges::equal(same->coefficient, key.coefficient));
  for (std::size_t fewer = 0; fewer < bytes; ++fewer) EXPECT_FALSE(read_key(std::span(room_).first(fewer)));
  EXPECT_FALSE(read_key(std::span(room_).first(bytes + 1)));
  EXPECT_EQ(write_key(std::span(room_).first(bytes - 1), key), 0U);
  EXPECT_EQ(write_key(std::span(room_).first(5), key), 0U);
}

}  // namespace
}  // namespace penumbra::rsa_engine
