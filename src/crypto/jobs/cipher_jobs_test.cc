// SPDX-License-Identifier: Apache-2.0
//
// Tests jobs of all algorithms on every engine: batches that mix keys, directions and lengths, against OpenSSL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "crypto/jobs/cipher_jobs.shader.h"
#include "crypto/jobs/cipher_keys.h"
#include "crypto/suites_testing.h"
#include "engines/conformance.h"
#include "penumbra/huge_memory.h"
#include "penumbra/sample_input.h"

namespace penumbra::crypto_testing {
namespace {

constexpr std::uint8_t kUnwritten = 0xA5;
constexpr std::size_t kGap = 24;  // bytes between destinations

/// A job with what it must give.
struct Expected {
  cipher_job job{};
  Bytes source;
  std::size_t room = 0;
  cipher_status status = CIPHER_DONE;
  Bytes destination;  ///< The first bytes of the room; the rest stays as it was.
};

std::vector<OwnedMaterial> materials(Random& random) {
  std::vector<OwnedMaterial> all;
  for (const Suite& suite : suites()) all.emplace_back(suite, random);
  return all;
}

void put(std::uint8_t* to, std::uint8_t& count, const Bytes& bytes) {
  std::ranges::copy(bytes, to);
  count = static_cast<std::uint8_t>(bytes.size());
}

/// Returns a job of the suite for a payload of about `bytes` bytes.
Expected expected(const Suite& suite, const KeyMaterial& material, std::uint32_t key, std::size_t bytes,
                  Random& random) {
  if (suite.cipher == CIPHER_AES_CBC) bytes = bytes / 16 * 16;
  Message message;
  message.nonce = random_bytes(random, suite.cipher == CIPHER_AES_CBC ? 16 : 12);
  message.payload = random_bytes(random, bytes);
  const Bytes prefix = random_bytes(random, random.below(CIPHER_MOST_PREFIX + 1));
  if (suite.digest != 0) {
    message.aad = prefix;
    if (random.below(2) == 0) message.trailer = random_bytes(random, CIPHER_MOST_TRAILER);
  } else if (suite.tag_bytes != 0) {
    message.aad = random_bytes(random, random.below(CIPHER_MOST_AAD + 1));
  }
  const Sealed sealed = openssl_seal(material, message);
  Expected made;
  made.job.key = key;
  put(made.job.nonce, made.job.nonce_bytes, message.nonce);
  put(made.job.prefix, made.job.prefix_bytes, prefix);
  put(made.job.trailer, made.job.trailer_bytes, message.trailer);
  if (suite.digest == 0) put(made.job.aad, made.job.aad_bytes, message.aad);
  Bytes packet = prefix;
  packet.insert(packet.end(), sealed.payload.begin(), sealed.payload.end());
  packet.insert(packet.end(), sealed.tag.begin(), sealed.tag.end());
  made.job.direction = static_cast<std::uint8_t>(random.below(2) == 0 ? CIPHER_SEAL : CIPHER_OPEN);
  const bool is_open = made.job.direction == CIPHER_OPEN;
  made.source = is_open ? packet : message.payload;
  made.destination = is_open ? message.payload : packet;
  made.room = made.destination.size() + random.below(8);
  if (is_open && suite.tag_bytes != 0 && random.below(4) == 0) {
    made.source[random.below(static_cast<std::uint32_t>(made.source.size() - prefix.size())) + prefix.size()] ^= 1;
    made.status = CIPHER_WRONG_TAG;
  }
  return made;
}

/// The columns and the payload of all jobs, in memory that can be shared.
class Columns {
 public:
  explicit Columns(const std::vector<Expected>& all) : all_(all) {
    std::size_t in = 0, out = 0;
    for (const Expected& each : all) {
      jobs_.push_back(each.job);
      source_.push_back(in += 1 + each.source.size() % 5);
      lengths_.push_back(static_cast<std::uint32_t>(each.source.size()));
      destination_.push_back(out += kGap);
      rooms_.push_back(static_cast<std::uint32_t>(each.room));
      in += each.source.size();
      out += each.room;
    }
    written_.assign(all.size(), ~0U);
    status_.assign(all.size(), 0xFF);
    sources = std::make_shared<HugeMemory>(in + 64);
    destinations = std::make_shared<HugeMemory>(out + kGap);
    std::memset(destinations->data(), kUnwritten, destinations->bytes());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].source.empty()) std::memcpy(sources->data() + source_[i], all[i].source.data(), lengths_[i]);
    }
  }

  void run(conformance::ShaderQueue& queue, std::uint32_t batch_items) {
    queue({jobs_.data(), source_.data(), lengths_.data(), destination_.data(), rooms_.data()},
          {written_.data(), status_.data()}, jobs_.size(), batch_items, {sources->data(), destinations->data()});
  }

  void expect_answers() const {
    const auto* const out = reinterpret_cast<const std::uint8_t*>(destinations->data());
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const Expected& right = all_[i];
      SCOPED_TRACE("job " + std::to_string(i) + ", cipher key " + std::to_string(right.job.key));
      ASSERT_EQ(status_[i], right.status);
      ASSERT_EQ(written_[i], right.status == CIPHER_DONE ? right.destination.size() : 0);
      const std::uint8_t* const begin = out + destination_[i];
      if (right.status == CIPHER_WRONG_TAG) {  // Engines that copy the destination copy nothing.
        const bool is_unwritten = right.destination.empty() || *begin == kUnwritten;
        ASSERT_EQ(Bytes(begin, begin + right.destination.size()),
                  Bytes(right.destination.size(), is_unwritten ? kUnwritten : std::uint8_t{0}));
      } else {
        ASSERT_EQ(Bytes(begin, begin + right.destination.size()), right.destination);
      }
      const std::uint8_t* const end = begin + right.destination.size();
      const std::size_t rest = right.room - right.destination.size() + kGap;
      ASSERT_EQ(Bytes(end, end + rest), Bytes(rest, kUnwritten));
    }
  }

  std::shared_ptr<HugeMemory> sources, destinations;

 private:
  const std::vector<Expected>& all_;
  std::vector<cipher_job> jobs_;
  std::vector<std::uint64_t> source_, destination_;
  std::vector<std::uint32_t> lengths_, rooms_, written_;
  std::vector<std::uint8_t> status_;
};

class CipherJobs : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (create_engine(GetParam())->find_shader("cipher_jobs") == nullptr) {
      GTEST_SKIP() << "the engine " << GetParam() << " does not run ciphers";
    }
  }
};

TEST_P(CipherJobs, GiveWhatOpensslGives) {
  Random random(1);
  NoReaders readers;
  const std::vector<Suite> all_suites = suites();
  const std::vector<OwnedMaterial> all_materials = materials(random);
  CipherKeys keys(all_suites.size() + 8, readers);
  std::vector<std::uint32_t> indexes;
  indexes.reserve(all_materials.size());
  for (const OwnedMaterial& each : all_materials) indexes.push_back(keys.add(each.get()));
  std::vector<Expected> all;
  for (const std::uint32_t most : {0U, 65U, 600U, 1500U, 9000U}) {
    for (std::size_t i = 0; i < all_suites.size() * (most > 2000 ? 1 : (kSanitizerScale > 1 ? 1 : 8)); ++i) {
      const std::size_t suite = i % all_suites.size();
      all.push_back(
          expected(all_suites[suite], all_materials[suite].get(), indexes[suite], random.below(most + 1), random));
    }
  }
  for (const bool is_shared : {false, true}) {
    conformance::ShaderRun run(GetParam(), "cipher_jobs", keys.table());
    const auto queue = run.open_queue();
    for (const std::uint32_t batch_items : {1U, 7U, 64U, 250U}) {
      Columns columns(all);
      if (is_shared) {
        queue->share(columns.sources);
        queue->share(columns.destinations);
      }
      columns.run(*queue, batch_items);
      ASSERT_NO_FATAL_FAILURE(columns.expect_answers());
    }
  }
}

TEST_P(CipherJobs, RefuseWhatTheKeyCannotTakeAndWriteNothing) {
  Random random(2);
  NoReaders readers;
  const Suite gcm{"Gcm", CIPHER_AES_GCM, 16, 0, 16}, cbc{"Cbc", CIPHER_AES_CBC, 16, HMAC_SHA1, 12};
  const OwnedMaterial of_gcm(gcm, random), of_cbc(cbc, random);
  CipherKeys keys(4, readers);
  const std::uint32_t gcm_key = keys.add(of_gcm.get()), cbc_key = keys.add(of_cbc.get());
  std::vector<Expected> all;
  const auto add = [&](const Suite& suite, const OwnedMaterial& material, std::uint32_t key, cipher_direction direction,
                       cipher_status status, auto change) {
    Expected made;
    do {
      made = expected(suite, material.get(), key, 160, random);
    } while (made.job.direction != direction || made.status != CIPHER_DONE);
    made.status = status;
    made.destination.clear();
    change(made);
    all.push_back(made);
  };
  for (const cipher_direction direction : {CIPHER_SEAL, CIPHER_OPEN}) {
    add(gcm, of_gcm, gcm_key, direction, CIPHER_NO_KEY, [](Expected& each) { each.job.key = 3; });
    add(gcm, of_gcm, gcm_key, direction, CIPHER_NO_KEY, [](Expected& each) { each.job.key = 4; });
    add(gcm, of_gcm, gcm_key, direction, CIPHER_NO_KEY, [](Expected& each) { each.job.key = ~0U; });
    add(gcm, of_gcm, gcm_key, direction, CIPHER_WRONG_LENGTH, [](Expected& each) { each.room = 159; });
    add(gcm, of_gcm, gcm_key, direction, CIPHER_WRONG_LENGTH, [](Expected& each) { each.job.nonce_bytes = 0; });
    add(gcm, of_gcm, gcm_key, direction, CIPHER_WRONG_LENGTH, [](Expected& each) { each.job.nonce_bytes = 17; });
    add(gcm, of_gcm, gcm_key, direction, CIPHER_WRONG_LENGTH, [](Expected& each) { each.job.aad_bytes = 25; });
    add(gcm, of_gcm, gcm_key, direction, CIPHER_WRONG_LENGTH, [](Expected& each) { each.job.prefix_bytes = 25; });
    add(gcm, of_gcm, gcm_key, direction, CIPHER_WRONG_LENGTH, [](Expected& each) { each.job.trailer_bytes = 5; });
    add(gcm, of_gcm, gcm_key, direction, CIPHER_WRONG_LENGTH, [](Expected& each) { each.job.trailer_bytes = 4; });
    add(cbc, of_cbc, cbc_key, direction, CIPHER_WRONG_LENGTH, [](Expected& each) { each.source.pop_back(); });
    add(cbc, of_cbc, cbc_key, direction, CIPHER_WRONG_LENGTH, [](Expected& each) { each.job.nonce_bytes = 12; });
  }
  add(gcm, of_gcm, gcm_key, CIPHER_OPEN, CIPHER_WRONG_LENGTH,
      [](Expected& each) { each.source.resize(each.job.prefix_bytes + 15U); });
  add(gcm, of_gcm, gcm_key, CIPHER_SEAL, CIPHER_WRONG_LENGTH, [](Expected& each) { each.room = 3; });
  conformance::ShaderRun run(GetParam(), "cipher_jobs", keys.table());
  Columns columns(all);
  columns.run(*run.open_queue(), 64);
  columns.expect_answers();
}

TEST_P(CipherJobs, UseNewKeysAndNoRemovedOnes) {
  Random random(3);
  NoReaders readers;
  const Suite suite{"Gcm", CIPHER_AES_GCM, 16, 0, 16};
  CipherKeys keys(2, readers);
  conformance::ShaderRun run(GetParam(), "cipher_jobs", keys.table());
  const auto queue = run.open_queue();
  for (int i = 0; i < 5; ++i) {
    const OwnedMaterial material(suite, random);
    const std::uint32_t key = keys.add(material.get());
    std::vector<Expected> all{expected(suite, material.get(), key, 100, random)};
    Columns columns(all);
    columns.run(*queue, 1);
    ASSERT_NO_FATAL_FAILURE(columns.expect_answers());
    keys.remove(key);
    keys.erase_removed(true);
    EXPECT_EQ(keys.size(), 0U);
    all[0].status = CIPHER_NO_KEY;
    all[0].destination.clear();
    Columns again(all);
    again.run(*queue, 1);
    ASSERT_NO_FATAL_FAILURE(again.expect_answers());
  }
}

/// Every added or removed key is another state of the table, which changes while a worker's jobs are in flight.
TEST_P(CipherJobs, KeepTheirKeyWhileOtherKeysChange) {
  constexpr int kRounds = 40;
  Random random(6);
  NoReaders readers;
  const Suite suite{"Gcm", CIPHER_AES_GCM, 16, 0, 16};
  CipherKeys keys(8, readers);
  const OwnedMaterial material(suite, random);
  const std::uint32_t key = keys.add(material.get());
  constexpr std::size_t kJobs = 64;
  std::vector<Expected> all;
  all.reserve(kJobs);
  while (all.size() < kJobs) all.push_back(expected(suite, material.get(), key, random.below(1500), random));
  conformance::ShaderRun run(GetParam(), "cipher_jobs", keys.table());
  std::atomic<bool> is_over{false};
  std::jthread worker([&] {
    const auto queue = run.open_queue();
    for (int round = 0; round < kRounds && !testing::Test::HasFatalFailure(); ++round) {
      Columns columns(all);
      columns.run(*queue, 16);
      columns.expect_answers();
    }
    is_over = true;
  });
  int changes = 0;
  for (; !is_over || changes == 0; ++changes) {
    const OwnedMaterial other(suite, random);
    keys.remove(keys.add(other.get()));
    keys.erase_removed(true);
  }
}

PENUMBRA_FOR_EACH_ENGINE_AND_SETTING(CipherJobs);

TEST(CipherSample, IsAJobThatSucceeds) {
  const auto sample = make_sample_input("cipher_jobs");
  ASSERT_NE(sample, nullptr);
  for (const std::uint32_t length : {64U, 1408U}) {
    cipher_job job{};
    sample->fill_column(0, std::as_writable_bytes(std::span(&job, 1)));
    const Bytes source(length, 1);
    Bytes destination(sample->room(length));
    const std::uint64_t position = 0;
    const auto room = static_cast<std::uint32_t>(destination.size());
    std::uint32_t written = 0;
    std::uint8_t status = CIPHER_NO_KEY;
    conformance::ShaderRun run("scalar", "cipher_jobs", *sample->table());
    run({&job, &position, &length, &position, &room}, {&written, &status}, 1, 1,
        {reinterpret_cast<const std::byte*>(source.data()), reinterpret_cast<std::byte*>(destination.data())});
    EXPECT_EQ(status, CIPHER_DONE);
    EXPECT_EQ(written, room);
  }
}

/// `auto` measures all members of this machine, CPU engines at least.
TEST(CipherSample, LetsAutoMeasureByLength) {
  NoReaders readers;
  CipherKeys keys(1, readers);
  const auto engine = create_engine(kAuto);
  engine->use_table(keys.table());
  const Shader* const shader = engine->find_shader("cipher_jobs");
  ASSERT_NE(shader, nullptr);
  engine->announce(*shader, keys.table());
  const auto queue = engine->open_queue();
  engine->load_calibrations({});
  std::vector<std::uint32_t> lengths;
  for (const EngineCalibration& each : engine->calibrations()) {
    EXPECT_EQ(each.shader, "cipher_jobs");
    lengths.push_back(each.length);
  }
  EXPECT_THAT(lengths, testing::ElementsAre(64, 512, 1408));
  EXPECT_THAT(engine->notes(), testing::Contains(testing::StartsWith("cipher_jobs of 1408 bytes: ")));
}

TEST(CipherKeys, SayWhyTheyTakeNoKey) {
  Random random(4);
  NoReaders readers;
  CipherKeys keys(1, readers);
  const OwnedMaterial material({"Gcm", CIPHER_AES_GCM, 16, 0, 16}, random);
  KeyMaterial wrong = material.get();
  wrong.tag_bytes = 3;
  EXPECT_THROW(keys.add(wrong), std::invalid_argument);
  keys.add(material.get());
  EXPECT_THROW(keys.add(material.get()), std::length_error);
  EXPECT_EQ(keys.size(), 1U);
}

TEST(CipherKeys, EraseARemovedKeyBeforeTheyUseItsPlaceAgain) {
  Random random(5);
  NoReaders readers;
  CipherKeys keys(1, readers);
  const OwnedMaterial material({"Gcm", CIPHER_AES_GCM, 16, 0, 16}, random);
  const std::uint32_t key = keys.add(material.get());
  keys.remove(key);
  keys.erase_removed(true);
  const auto* const view = static_cast<const cipher_jobs_view*>(keys.table().view());
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(view->key + key);
  EXPECT_EQ(Bytes(bytes, bytes + sizeof(cipher_key)), Bytes(sizeof(cipher_key), 0));
  EXPECT_EQ(keys.add(material.get()), key);
}

}  // namespace
}  // namespace penumbra::crypto_testing
