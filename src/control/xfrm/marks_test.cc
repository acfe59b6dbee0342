// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/marks.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "base/scratch_folder.h"

namespace penumbra::control::xfrm {
namespace {

class Marks : public ::testing::Test {
 protected:
  HighWaterMarks open() const { return {folder_ / "marks", folder_ / "witness"}; }
  Sa sa_of(std::uint8_t first_byte) {
    Sa sa;
    sa.keys = keys_.allocate();
    sa.keys->cipher[0] = first_byte;
    sa.keys->cipher[1] = 0xA5;
    sa.settings.algorithms.aead = Algorithm{"rfc4106(gcm(aes))", 160, 128};
    return sa;
  }
  std::string content() const {
    std::ifstream file(folder_ / "marks", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(folder_ / "marks", std::ios::binary) << bytes; }

  ScratchFolder folder_;
  KeyStore keys_;
};

constexpr std::uint64_t kNow = 2'000'000'000;

void store(HighWaterMarks& marks, const HighWaterMarks::Fingerprint& key, std::uint64_t number, bool permanent,
           std::uint64_t now) {
  marks.raise(key, number, permanent, now);
  marks.save(now);
}

TEST_F(Marks, OutliveTheProcess) {
  const Sa first = sa_of(1), second = sa_of(2);
  {
    HighWaterMarks marks = open();
    EXPECT_EQ(marks.find(marks.fingerprint(first)), 0U);
    store(marks, marks.fingerprint(first), 65536, true, kNow);
    store(marks, marks.fingerprint(first), 131072, true, kNow);
    store(marks, marks.fingerprint(second), 7, false, kNow);
  }
  HighWaterMarks marks = open();
  EXPECT_EQ(marks.why_lost(), "");
  EXPECT_EQ(marks.find(marks.fingerprint(first)), 131072U);
  EXPECT_EQ(marks.find(marks.fingerprint(second)), 7U);
}

TEST_F(Marks, DependOnTheKeyAlone) {
  HighWaterMarks marks = open();
  Sa sa = sa_of(1);
  const auto key = marks.fingerprint(sa);
  sa.settings.id.spi = 99;
  EXPECT_EQ(marks.fingerprint(sa), key);
  sa.keys->cipher[19] = 1;
  EXPECT_NE(marks.fingerprint(sa), key);
}

TEST_F(Marks, NeverGoBack) {
  HighWaterMarks marks = open();
  const auto key = marks.fingerprint(sa_of(1));
  store(marks, key, 100, true, kNow);
  store(marks, key, 50, true, kNow);
  EXPECT_EQ(marks.find(key), 100U);
  EXPECT_EQ(open().find(key), 100U);
}

TEST_F(Marks, ContainNoKey) {
  HighWaterMarks marks = open();
  Sa sa = sa_of(0x77);
  for (int i = 0; i < 20; ++i) sa.keys->cipher[i] = static_cast<std::uint8_t>(0xC0 + i);
  store(marks, marks.fingerprint(sa), 1, true, kNow);
  const std::string key(reinterpret_cast<const char*>(sa.keys->cipher), 4);
  EXPECT_EQ(content().find(key), std::string::npos);
}

TEST_F(Marks, IgnoreATornLastRecord) {
  HighWaterMarks::Fingerprint key{};
  {
    HighWaterMarks marks = open();
    key = marks.fingerprint(sa_of(1));
    store(marks, key, 10, true, kNow);
    store(marks, key, 20, true, kNow);
  }
  const std::string whole = content();
  for (const std::size_t lost : {1U, 39U, 20U}) {
    write(whole.substr(0, whole.size() - lost));
    const HighWaterMarks marks = open();
    EXPECT_EQ(marks.why_lost(), "");
    EXPECT_EQ(marks.find(key), 10U);
  }
}

TEST_F(Marks, NoticeDamageLossAndReplacement) {
  {
    HighWaterMarks marks = open();
    const auto key = marks.fingerprint(sa_of(1));
    for (std::uint64_t number = 1; number <= 3; ++number) store(marks, key, number, true, kNow);
  }
  const std::string whole = content();
  std::string damaged = whole;
  damaged[whole.size() - 100] ^= 1;
  write(damaged);
  EXPECT_NE(open().why_lost(), "");
  write("something else, which is long enough to be a header");
  EXPECT_NE(open().why_lost(), "");
  std::filesystem::remove(folder_ / "marks");
  EXPECT_NE(open().why_lost(), "");
  std::string other = whole;
  other[22] ^= 1;  // The first byte of the salt.
  write(other);
  EXPECT_NE(open().why_lost(), "");
  HighWaterMarks marks = open();
  marks.begin_again();
  EXPECT_EQ(marks.why_lost(), "");
  EXPECT_EQ(open().why_lost(), "");
}

TEST_F(Marks, AfterTheMachineStartedAgainNeedNoWitness) {
  HighWaterMarks::Fingerprint key{};
  {
    HighWaterMarks marks = open();
    key = marks.fingerprint(sa_of(1));
    store(marks, key, 10, true, kNow);
  }
  std::filesystem::remove(folder_ / "witness");
  const HighWaterMarks marks = open();
  EXPECT_EQ(marks.why_lost(), "");
  EXPECT_EQ(marks.find(key), 10U);
}

TEST_F(Marks, ForgetOldKeysOfAKeyExchangeOnly) {
  HighWaterMarks::Fingerprint passing{}, lasting{};
  {
    HighWaterMarks marks = open();
    passing = marks.fingerprint(sa_of(1));
    lasting = marks.fingerprint(sa_of(2));
    store(marks, passing, 10, false, 1);
    store(marks, lasting, 20, true, 1);
  }
  const HighWaterMarks marks = open();
  EXPECT_EQ(marks.find(passing), 0U);
  EXPECT_EQ(marks.find(lasting), 20U);
}

TEST_F(Marks, OfAKeyStayPermanent) {
  HighWaterMarks::Fingerprint key{};
  {
    HighWaterMarks marks = open();
    key = marks.fingerprint(sa_of(1));
    store(marks, key, 10, true, 1);
    store(marks, key, 20, false, 1);
  }
  EXPECT_EQ(open().find(key), 20U);
}

/// Limits the size of files of this process, so that a write fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(Marks, OutliveARewriteThatFails) {
  HighWaterMarks::Fingerprint first{}, second{};
  {
    HighWaterMarks marks = open();
    first = marks.fingerprint(sa_of(1));
    second = marks.fingerprint(sa_of(2));
    store(marks, first, 10, true, kNow);
    store(marks, second, 20, true, kNow);
  }
  for (rlim_t bytes = 0; bytes < content().size(); bytes += 13) {
    const FileSizeLimit limit(bytes);
    EXPECT_THROW(open(), std::system_error) << bytes;
  }
  const HighWaterMarks marks = open();
  EXPECT_EQ(marks.why_lost(), "");
  EXPECT_EQ(marks.find(first), 10U);
  EXPECT_EQ(marks.find(second), 20U);
}

TEST_F(Marks, OfManyKeysAreSavedAtOnce) {
  HighWaterMarks marks = open();
  const std::string before = content();
  std::vector<HighWaterMarks::Fingerprint> keys;
  for (std::uint32_t spi = 1; spi <= 100; ++spi) {
    keys.push_back(marks.fingerprint(sa_of(spi)));
    marks.raise(keys.back(), spi, true, kNow);
  }
  EXPECT_EQ(content(), before);
  marks.save(kNow);
  // A crash cannot tear several records, because the file was replaced as a whole.
  EXPECT_EQ(content().size(), before.size() + std::size_t{100} * 40);
  HighWaterMarks again = open();
  for (std::uint32_t spi = 1; spi <= 100; ++spi) EXPECT_EQ(again.find(keys[spi - 1]), spi);
}

TEST_F(Marks, ThatCouldNotBeSavedAreSavedTheNextTime) {
  HighWaterMarks marks = open();
  const auto first = marks.fingerprint(sa_of(1)), second = marks.fingerprint(sa_of(2));
  for (const bool has_both : {false, true}) {
    marks.raise(first, has_both ? 20 : 10, true, kNow);
    if (has_both) marks.raise(second, 30, true, kNow);
    {
      const FileSizeLimit limit(content().size());
      EXPECT_THROW(marks.save(kNow), std::system_error);
    }
    marks.save(kNow);
    EXPECT_EQ(open().find(first), has_both ? 20U : 10U);
  }
  EXPECT_EQ(open().find(second), 30U);
}

TEST_F(Marks, StayFewRecordsForFewKeys) {
  HighWaterMarks marks = open();
  const auto key = marks.fingerprint(sa_of(1));
  for (std::uint64_t number = 1; number <= 100; ++number) store(marks, key, number, true, kNow);
  EXPECT_LT(content().size(), 80U * 40U);
  EXPECT_EQ(open().find(key), 100U);
}

}  // namespace
}  // namespace penumbra::control::xfrm
