// SPDX-License-Identifier: Apache-2.0
//
// Tests that every form of the ciphers gives what OpenSSL gives, and writes nothing else.
#include "crypto/cipher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "crypto/forms_testing.h"
#include "crypto/openssl_oracle.h"
#include "crypto/suites_testing.h"

namespace penumbra::crypto_testing {
namespace {

constexpr std::size_t kGuard = 16;  // bytes before and after each destination
constexpr std::uint8_t kUntouched = 0xA5;

/// Returns the bytes from `begin` to before `end`.
Bytes part(const Bytes& bytes, std::size_t begin, std::size_t end) {
  return {bytes.data() + begin, bytes.data() + end};
}

Message random_message(const Suite& suite, std::size_t bytes, Random& random) {
  if (suite.cipher == CIPHER_AES_CBC) bytes = bytes / 16 * 16;
  std::size_t nonce = 12;
  if (suite.cipher == CIPHER_AES_CBC) nonce = 16;
  const bool takes_any_nonce = suite.cipher == CIPHER_AES_GCM || suite.cipher == CIPHER_AES_GMAC;
  if (takes_any_nonce && random.below(4) == 0) nonce = 1 + random.below(80);
  const bool has_tag = suite.tag_bytes != 0;
  return {.nonce = random_bytes(random, nonce),
          .aad = random_bytes(random, has_tag ? random.below(41) : 0),
          .payload = random_bytes(random, bytes),
          .trailer = random_bytes(random, suite.digest != 0 && random.below(2) == 0 ? 4 : 0)};
}

/// Where a packet's parts lie: adjacent as in ESP, or each in memory of its own.
enum class Layout { adjacent, scattered };
enum class Direction { seal, open };

/// Packets with guards around everything that a form writes.
class Batch {
 public:
  Batch(Direction direction, Layout layout) : direction_(direction), layout_(layout) {}

  void add(std::uint32_t key, const Message& message, const Bytes& payload, const Bytes& tag) {
    Item item{key, message, payload.size(), tag.size(), message.aad, tag, Bytes(tag.size() + 2 * kGuard, kUntouched),
              {},  {}};
    item.in.insert(item.in.end(), payload.begin(), payload.end());
    item.in.insert(item.in.end(), tag.begin(), tag.end());
    item.out.assign(item.in.size() + 2 * kGuard, kUntouched);
    if (direction_ == Direction::seal) std::ranges::copy(message.aad, item.out.begin() + kGuard);
    item.before = item.in;
    items_.push_back(item);
  }

  /// Returns the packets. They are valid until add().
  std::vector<cipher_packet> packets() {
    std::vector<cipher_packet> all;
    for (Item& item : items_) {
      const std::size_t aad = item.message.aad.size();
      cipher_packet packet{};
      packet.source = item.in.data() + aad;
      packet.destination = item.out.data() + kGuard + aad;
      packet.nonce = item.message.nonce.data();
      packet.trailer = item.message.trailer.data();
      if (layout_ == Layout::adjacent) {
        packet.aad = direction_ == Direction::seal ? item.out.data() + kGuard : item.in.data();
        packet.received_tag = packet.source + item.bytes;
        packet.tag = packet.destination + item.bytes;
      } else {
        packet.aad = item.message.aad.data();
        packet.received_tag = item.received_tag.data();
        packet.tag = item.tag.data() + kGuard;
      }
      packet.bytes = static_cast<std::uint32_t>(item.bytes);
      packet.nonce_bytes = static_cast<std::uint32_t>(item.message.nonce.size());
      packet.aad_bytes = static_cast<std::uint32_t>(aad);
      packet.trailer_bytes = static_cast<std::uint32_t>(item.message.trailer.size());
      packet.key = item.key;
      all.push_back(packet);
    }
    return all;
  }

  bool is_source_intact(std::size_t i) const { return items_[i].in == items_[i].before; }
  /// Return what a form wrote. Fail if it wrote anything else.
  Bytes destination(std::size_t i) const {
    const Item& item = items_[i];
    const std::size_t begin = kGuard + item.message.aad.size(), end = begin + item.bytes;
    const bool has_tag = direction_ == Direction::seal && layout_ == Layout::adjacent;
    const std::size_t untouched = end + (has_tag ? item.tag_bytes : 0);
    EXPECT_EQ(part(item.out, untouched, item.out.size()), Bytes(item.out.size() - untouched, kUntouched));
    EXPECT_EQ(part(item.out, 0, kGuard), Bytes(kGuard, kUntouched));
    return part(item.out, begin, end);
  }
  Bytes tag(std::size_t i) const {
    const Item& item = items_[i];
    const std::size_t end = kGuard + item.message.aad.size() + item.bytes;
    if (layout_ == Layout::adjacent) return part(item.out, end, end + item.tag_bytes);
    EXPECT_EQ(part(item.tag, 0, kGuard), Bytes(kGuard, kUntouched));
    EXPECT_EQ(part(item.tag, kGuard + item.tag_bytes, item.tag.size()), Bytes(kGuard, kUntouched));
    return part(item.tag, kGuard, kGuard + item.tag_bytes);
  }

 private:
  struct Item {
    std::uint32_t key;
    Message message;
    std::size_t bytes, tag_bytes;
    Bytes in, received_tag, tag, out, before;
  };

  Direction direction_;
  Layout layout_;
  std::vector<Item> items_;
};

class EveryForm : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Forms, EveryForm, testing::ValuesIn(form_names()),
                         [](const auto& test) { return test.param; });

/// Seals messages of the given lengths with random keys in batches, and checks the results. Also opens what OpenSSL
/// sealed.
void check_messages(Form& form, const std::vector<OwnedMaterial>& materials, const std::vector<Suite>& of_keys,
                    const std::vector<std::size_t>& lengths, std::size_t batch, Layout layout, Random& random) {
  for (std::size_t from = 0; from < lengths.size(); from += batch) {
    const std::size_t count = std::min(batch, lengths.size() - from);
    Batch sealing(Direction::seal, layout), opening(Direction::open, layout);
    std::vector<Message> messages;
    std::vector<Sealed> right;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t key = random.below(static_cast<std::uint32_t>(materials.size()));
      messages.push_back(random_message(of_keys[key], lengths[from + i], random));
      right.push_back(openssl_seal(materials[key].get(), messages.back()));
      sealing.add(key, messages.back(), messages.back().payload, Bytes(right.back().tag.size()));
      opening.add(key, messages.back(), right.back().payload, right.back().tag);
    }
    Bytes are_done(count, 2), are_right(count, 2);
    form.seal(sealing.packets(), are_done.data());
    form.open(opening.packets(), are_right.data());
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t length = lengths[from + i];
      ASSERT_EQ(are_done[i], 1) << length;
      ASSERT_EQ(sealing.destination(i), right[i].payload) << length;
      ASSERT_EQ(sealing.tag(i), right[i].tag) << length;
      ASSERT_EQ(are_right[i], 1) << length;
      ASSERT_TRUE(sealing.is_source_intact(i) && opening.is_source_intact(i)) << length;
      ASSERT_EQ(opening.destination(i), messages[i].payload) << length;
    }
  }
}

TEST_P(EveryForm, GivesWhatOpenSslGivesForEveryLength) {
  for (const Suite& suite : suites()) {
    SCOPED_TRACE(suite);
    const auto form = make_form(GetParam());
    Random random(1);
    std::vector<OwnedMaterial> materials;
    materials.reserve(5);
    for (int i = 0; i < 5; ++i) materials.emplace_back(suite, random);
    for (const OwnedMaterial& material : materials) form->add(material.get());
    std::vector<std::size_t> lengths;
    for (std::size_t length = 0; length <= 300 / kSanitizerScale + 64; ++length) lengths.push_back(length);
    for (std::size_t i = 0; i < 64 / kSanitizerScale; ++i) lengths.push_back(random.below(9001));
    lengths.insert(lengths.end(), {1408, 1500, 8999, 9000});
    for (const Layout layout : {Layout::adjacent, Layout::scattered}) {
      check_messages(*form, materials, std::vector(materials.size(), suite), lengths, 37, layout, random);
    }
    if (HasFatalFailure()) return;
  }
}

TEST_P(EveryForm, TakesKeysOfAllAlgorithmsInOneBatch) {
  const auto form = make_form(GetParam());
  const std::vector<Suite> all = suites();
  Random random(2);
  std::vector<OwnedMaterial> materials;
  materials.reserve(all.size());
  for (const Suite& suite : all) materials.emplace_back(suite, random);
  for (const OwnedMaterial& material : materials) form->add(material.get());
  std::vector<std::size_t> lengths(1000);
  for (std::size_t& length : lengths) length = random.below(600);
  check_messages(*form, materials, all, lengths, lengths.size(), Layout::adjacent, random);
  check_messages(*form, materials, all, std::vector<std::size_t>(1500, 9000 / kSanitizerScale), 1500, Layout::scattered,
                 random);
}

/// Changes a bit of one packet of a batch. Returns false if there is no such bit.
using Change = bool (*)(Message& message, Sealed& sealed, Random& random);

bool flip(Bytes& bytes, Random& random) {
  if (bytes.empty()) return false;
  bytes[random.below(static_cast<std::uint32_t>(bytes.size()))] ^= static_cast<std::uint8_t>(1U << random.below(8));
  return true;
}

const std::vector<Change>& changes() {
  static const std::vector<Change> kAll{
      [](Message&, Sealed& sealed, Random& random) { return flip(sealed.tag, random); },
      [](Message&, Sealed& sealed, Random& random) { return flip(sealed.payload, random); },
      [](Message& message, Sealed&, Random& random) { return flip(message.aad, random); },
      [](Message& message, Sealed&, Random& random) { return flip(message.trailer, random); },
  };
  return kAll;
}

TEST_P(EveryForm, WritesZerosInPlaceOfAPacketWithAWrongBit) {
  for (const Suite& suite : suites()) {
    if (suite.tag_bytes == 0) continue;
    SCOPED_TRACE(suite);
    const auto form = make_form(GetParam());
    Random random(3);
    const OwnedMaterial material(suite, random);
    form->add(material.get());
    for (const Change change : changes()) {
      for (int round = 0; round < 10; ++round) {
        Batch batch(Direction::open, round % 2 == 0 ? Layout::adjacent : Layout::scattered);
        std::vector<Message> messages;
        std::vector<bool> is_changed;
        for (std::size_t i = 0; i < 20; ++i) {
          Message message = random_message(suite, random.below(200), random);
          Sealed sealed = openssl_seal(material.get(), message);
          messages.push_back(message);
          is_changed.push_back(random.below(3) == 0 && change(message, sealed, random));
          batch.add(0, message, sealed.payload, sealed.tag);
        }
        Bytes are_right(messages.size(), 2);
        form->open(batch.packets(), are_right.data());
        for (std::size_t i = 0; i < messages.size(); ++i) {
          ASSERT_EQ(are_right[i], is_changed[i] ? 0 : 1);
          ASSERT_EQ(batch.destination(i), is_changed[i] ? Bytes(messages[i].payload.size()) : messages[i].payload);
        }
      }
    }
  }
}

TEST_P(EveryForm, RefusesLengthsThatDoNotFit) {
  struct Case {
    Suite suite;
    std::size_t bytes, nonce, trailer;
  };
  const std::vector<Case> cases{
      {{"Cbc", CIPHER_AES_CBC, 16, HMAC_SHA1, 12}, 17, 16, 0},
      {{"Cbc", CIPHER_AES_CBC, 16, HMAC_SHA1, 12}, 32, 12, 0},
      {{"Cbc", CIPHER_AES_CBC, 16, 0, 0}, 15, 16, 0},
      {{"Ctr", CIPHER_AES_CTR, 16, HMAC_SHA1, 12}, 32, 16, 0},
      {{"Gcm", CIPHER_AES_GCM, 16, 0, 16}, 32, 0, 0},
      {{"Gcm", CIPHER_AES_GCM, 16, 0, 16}, 32, 12, 4},
      {{"Gmac", CIPHER_AES_GMAC, 16, 0, 16}, 32, 12, 4},
      {{"ChaCha20", CIPHER_CHACHA20_POLY1305, 32, 0, 16}, 32, 8, 0},
      {{"ChaCha20", CIPHER_CHACHA20_POLY1305, 32, 0, 16}, 32, 12, 4},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.suite);
    const auto form = make_form(GetParam());
    Random random(4);
    const OwnedMaterial material(each.suite, random);
    form->add(material.get());
    const Message message{.nonce = random_bytes(random, each.nonce),
                          .aad = {},
                          .payload = random_bytes(random, each.bytes),
                          .trailer = random_bytes(random, each.trailer)};
    Batch sealing(Direction::seal, Layout::scattered), opening(Direction::open, Layout::scattered);
    sealing.add(0, message, message.payload, Bytes(each.suite.tag_bytes, 1));
    opening.add(0, message, message.payload, Bytes(each.suite.tag_bytes, 1));
    Bytes is_done{2}, is_right{2};
    form->seal(sealing.packets(), is_done.data());
    EXPECT_EQ(is_done[0], 0);
    EXPECT_EQ(sealing.destination(0), Bytes(each.bytes, kUntouched));
    EXPECT_EQ(sealing.tag(0), Bytes(each.suite.tag_bytes, kUntouched));
    form->open(opening.packets(), is_right.data());
    EXPECT_EQ(is_right[0], 0);
    EXPECT_EQ(opening.destination(0), Bytes(each.bytes));
  }
}

TEST(LibraryForm, RefusesPacketsThatItCannotAuthenticate) {
  const auto form = make_form("ipsec_mb");
  Random random(5);
  const OwnedMaterial material({"NullSha1", CIPHER_NONE, 0, HMAC_SHA1, 12}, random);
  form->add(material.get());
  for (const std::uint32_t bytes : {ipsec_mb::kMostBytes, ipsec_mb::kMostBytes + 1}) {
    const Message message{.nonce = {}, .aad = {}, .payload = Bytes(bytes, 1), .trailer = {}};
    const Sealed right = openssl_seal(material.get(), message);
    Batch batch(Direction::open, Layout::adjacent);
    batch.add(0, message, right.payload, right.tag);
    Bytes is_right{2};
    form->open(batch.packets(), is_right.data());
    EXPECT_EQ(is_right[0], bytes == ipsec_mb::kMostBytes ? 1 : 0);
    EXPECT_EQ(batch.destination(0), bytes == ipsec_mb::kMostBytes ? message.payload : Bytes(bytes));
  }
}

TEST(LibraryForm, NamesTheLibrary) {
  const ipsec_mb::Worker worker;
  EXPECT_TRUE(worker.description().starts_with(imb_get_version_str())) << worker.description();
}

}  // namespace
}  // namespace penumbra::crypto_testing
