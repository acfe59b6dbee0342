// SPDX-License-Identifier: Apache-2.0
#include "functions/megaflows/messages.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "functions/megaflows/testing.h"

namespace penumbra::megaflows {
namespace {

using packet_fields::field_bits;

Request random_request(Random& random) {
  const SparseWords bits = field_bits();
  Request request{.type = MEGAFLOWS_ADD, .id = random.below(1000), .ufid = {random.next(), random.next()}};
  for (std::size_t word = 0; word < bits.size(); ++word) {
    if (random.below(2) == 0) continue;
    request.match.mask[word] = bits[word] & random.next();
    request.match.value[word] = request.match.mask[word] & random.next();
  }
  for (std::uint32_t i = random.below(6); i > 0; --i) request.actions.push_back(testing_support::random_action(random));
  return request;
}

TEST(MegaflowMessages, AreReadAsTheyAreWritten) {
  Random random(4);
  for (int round = 0; round < 2'000; ++round) {
    const Request request = random_request(random);
    ASSERT_EQ(read_request(write_request(request)), request);
  }
  for (const std::uint8_t type : {MEGAFLOWS_DELETE, MEGAFLOWS_FLUSH, MEGAFLOWS_COUNTS, MEGAFLOWS_PORTS}) {
    const Request request{.type = type, .id = 5, .ufid = {6, 7}};
    EXPECT_EQ(read_request(write_request(request)), request);
  }
}

/// A cut message that says its own length is answered with an error.
TEST(MegaflowMessages, OfEveryLengthAreRefusedUnlessWhole) {
  Random random(5);
  Request request = random_request(random);
  request.actions.resize(3, testing_support::random_action(random));
  const std::vector<std::byte> whole = write_request(request);
  for (std::size_t bytes = 0; bytes <= whole.size() + 8; ++bytes) {
    std::vector<std::byte> message = whole;
    message.resize(bytes);
    if (bytes == whole.size()) continue;
    EXPECT_FALSE(read_request(message)) << "another length than the header says: " << bytes;
    if (bytes < sizeof(megaflows_header)) continue;
    const auto told = static_cast<std::uint16_t>(bytes);
    std::memcpy(message.data() + offsetof(megaflows_header, bytes), &told, sizeof told);
    const auto read = read_request(message);
    ASSERT_TRUE(read) << bytes;
    EXPECT_NE(read->error, 0) << bytes;
    EXPECT_EQ(read->id, request.id);
  }
}

TEST(MegaflowMessages, ThatAreWrongAreAnsweredWithAnError) {
  const auto error_of = [](const Request& request, const auto& change) {
    std::vector<std::byte> message = write_request(request);
    change(message.data());
    const auto read = read_request(message);
    return read ? read->error : -1;
  };
  const auto put = [](std::size_t at, auto value) {
    return [at, value](std::byte* message) { std::memcpy(message + at, &value, sizeof value); };
  };
  Request add{.type = MEGAFLOWS_ADD, .id = 1, .ufid = {1, 2}};
  add.match.mask[0] = add.match.value[0] = 1;
  add.actions = parse_actions("output:2");
  constexpr std::size_t kPair = sizeof(megaflows_add), kAction = kPair + sizeof(megaflows_pair);
  EXPECT_EQ(error_of(add, put(0, std::uint8_t{MEGAFLOWS_VERSION})), 0);
  EXPECT_EQ(error_of(add, put(0, std::uint8_t{2})), -1) << "another version";
  EXPECT_EQ(error_of(add, put(1, std::uint8_t{99})), EOPNOTSUPP) << "another type";
  EXPECT_EQ(error_of(add, put(kPair, std::uint64_t{3})), EINVAL) << "a value outside the mask";
  EXPECT_EQ(error_of(add, put(kPair + 8, std::uint64_t{0})), EINVAL) << "no mask";
  EXPECT_EQ(error_of(add, put(kAction, std::uint32_t{9})), EOPNOTSUPP) << "another action";
  EXPECT_EQ(error_of(add, put(kAction + 4, std::uint32_t{65536})), EOPNOTSUPP) << "a port of more than 16 bits";
  EXPECT_EQ(error_of(add, put(kAction + 8, std::uint64_t{1})), EOPNOTSUPP) << "a value of an output";
  EXPECT_EQ(error_of(add, put(offsetof(megaflows_add, words), std::uint16_t{0x4001})), EINVAL) << "a 15th word";
  EXPECT_EQ(error_of(add, put(offsetof(megaflows_add, actions), std::uint16_t{65})), EINVAL) << "too many actions";
  add.match.mask[13] = 1;
  EXPECT_EQ(error_of(add, put(0, std::uint8_t{MEGAFLOWS_VERSION})), EOPNOTSUPP) << "a bit of no field";
}

TEST(MegaflowMessages, OfMeters) {
  const Request set{
      .type = MEGAFLOWS_METER_SET,
      .id = 3,
      .meter = {.number = 70'000, .counts_packets = true, .bands = {{.rate = 5, .burst = 6}, {.rate = 7}}}};
  std::vector<std::byte> message = write_request(set);
  EXPECT_EQ(read_request(message), set);
  const auto error_with = [&](std::size_t at, std::uint8_t value) {
    std::vector<std::byte> changed = message;
    changed[at] = static_cast<std::byte>(value);
    return read_request(changed)->error;
  };
  EXPECT_EQ(error_with(offsetof(megaflows_meter, unit), 2), EINVAL);
  EXPECT_EQ(error_with(offsetof(megaflows_meter, bands), 1), EINVAL) << "bytes after the last band";
  EXPECT_EQ(error_with(offsetof(megaflows_meter, bands), 3), EINVAL) << "no third band";
  EXPECT_EQ(error_with(sizeof(megaflows_meter), 0), EINVAL) << "a rate of 0";
  const MeterCounts counts{.in = {1, 2}, .dropped = {{3, 4}, {5, 6}}};
  const auto reply = write_reply({.type = MEGAFLOWS_METER_COUNTS, .id = 9}, counts);
  ASSERT_EQ(reply.size(), sizeof(megaflows_reply) + 2 * sizeof(megaflows_band_counts));
  megaflows_band_counts last{};
  std::memcpy(&last, reply.data() + reply.size() - sizeof last, sizeof last);
  EXPECT_EQ(last.packets, 5U);
  EXPECT_EQ(last.bytes, 6U);
}

TEST(MegaflowMessages, OfPortsHaveNumbersAndNames) {
  const std::vector<std::string> names{"a", "", std::string(100, 'c')};
  const auto message = write_reply({.type = MEGAFLOWS_PORTS, .id = 3}, {.packets = 4}, names);
  ASSERT_EQ(message.size(), sizeof(megaflows_reply) + 2 * sizeof(megaflows_port));
  megaflows_reply reply{};
  megaflows_port last{};
  std::memcpy(&reply, message.data(), sizeof reply);
  std::memcpy(&last, message.data() + sizeof reply + sizeof last, sizeof last);
  EXPECT_EQ(reply.header.type, 0x85);
  EXPECT_EQ(reply.header.bytes, message.size());
  EXPECT_EQ(reply.ports, 2U);
  EXPECT_EQ(reply.packets, 4U);
  EXPECT_EQ(last.number, 3U);
  EXPECT_EQ(std::string(last.name), std::string(MEGAFLOWS_NAME_BYTES - 1, 'c'));
}

}  // namespace
}  // namespace penumbra::megaflows
