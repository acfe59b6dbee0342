// SPDX-License-Identifier: Apache-2.0
#include "io/frames.h"

#include <gmock/gmock.h>

#include <map>

#include "io/flow_spread.h"
#include "io/test_support.h"
#include "io/traffic_testing.h"
#include "penumbra/errors.h"

namespace penumbra::io::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<Record> some_records() {
  return {{1'700'000'000'123'456'000, Bytes(60, 0x11)},
          {1'700'000'001'000'000'000, Bytes(1, 0x22)},
          {1'700'000'002'999'999'000, Bytes(1514, 0x33)},
          {3'000'000'000'000'001'000, {}},  // After 2038.
          {0, Bytes(61, 0x44)}};
}

std::string refusal(const std::filesystem::path& file) {
  try {
    load_capture(file);
  } catch (const InputError& error) {
    EXPECT_EQ(error.location().file, file.string());
    return error.what();
  }
  return "taken";
}

TEST(LoadCapture, ReadsEveryForm) {
  const ScratchFolder folder;
  const auto file = folder / "in";
  for (const bool big_endian : {false, true}) {
    for (const bool nanoseconds : {false, true}) {
      write_file(file, pcap_file(some_records(), {big_endian, nanoseconds}));
      EXPECT_EQ(records_of(load_capture(file)), some_records()) << big_endian << nanoseconds;
    }
    write_file(file, pcapng_file(some_records(), big_endian));
    EXPECT_EQ(records_of(load_capture(file)), some_records()) << big_endian;
  }
}

TEST(LoadCapture, KeepsNanoseconds) {
  const ScratchFolder folder;
  const std::vector<Record> records{{1'700'000'000'123'456'789, Bytes(60, 1)}};
  for (const Bytes& bytes : {pcap_file(records), pcapng_file(records, false)}) {
    write_file(folder / "in", bytes);
    EXPECT_EQ(records_of(load_capture(folder / "in")), records);
  }
}

TEST(LoadCapture, TakesAnEmptyCapture) {
  const ScratchFolder folder;
  write_file(folder / "in.pcap", pcap_file({}));
  EXPECT_TRUE(load_capture(folder / "in.pcap").entries.empty());
  EXPECT_EQ(load_capture(folder / "in.pcap").largest(), 0U);
}

TEST(LoadCapture, RefusesWhatIsCutOff) {
  const ScratchFolder folder;
  const Bytes whole = pcap_file(some_records());
  std::size_t end_of_first = 24 + 16 + 60;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // The remaining sizes are similar, so only some are tested.
    if (size > 24 + 16 + 60 + 17 + 20 && size % 97 != 0) continue;
    write_file(folder / "in", Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    const bool between_records = size == 24 || size == end_of_first || size == end_of_first + 17;
    const std::string message = refusal(folder / "in");
    if (between_records) {
      EXPECT_EQ(message, "taken") << size;
    } else if (size < 24) {
      EXPECT_THAT(message, HasSubstr("not a readable capture")) << size;
    } else {
      EXPECT_THAT(message, HasSubstr(size < end_of_first ? "packet 1: " : "packet ")) << size;
      EXPECT_THAT(message, HasSubstr("cut off")) << size;
    }
  }
}

TEST(LoadCapture, RefusesWhatIsForeign) {
  const ScratchFolder folder;
  EXPECT_THAT(refusal(folder / "missing"), HasSubstr("No such file"));
  std::filesystem::create_directory(folder / "folder");
  EXPECT_THAT(refusal(folder / "folder"), HasSubstr("not a readable capture"));
  write_file(folder / "text", {'h', 'e', 'l', 'l', 'o', ' ', 'y', 'o', 'u', ',', ' ', 'a', 'l', 'l', ' ', 'o', 'f'});
  EXPECT_THAT(refusal(folder / "text"), HasSubstr("unknown file format"));
  write_file(folder / "raw", pcap_file(some_records(), {.link_type = 101}));
  EXPECT_THAT(refusal(folder / "raw"), AllOf(HasSubstr("link type RAW"), HasSubstr("editcap -T ether")));
  write_file(folder / "odd", pcap_file(some_records(), {.link_type = 60000}));
  EXPECT_THAT(refusal(folder / "odd"), HasSubstr("link type 60000"));
  write_file(folder / "large", pcap_file({{0, Bytes(60)}, {0, Bytes(65536)}}));
  EXPECT_THAT(refusal(folder / "large"), HasSubstr("packet 2: 65536 bytes"));
  write_file(folder / "largest", pcap_file({{0, Bytes(65535)}}));
  EXPECT_EQ(load_capture(folder / "largest").largest(), 65535U);
}

TEST(LoadCapture, SaysWhatToDoAboutAnUnknownFormat) {
  const ScratchFolder folder;
  Bytes archaic = pcap_file({});
  archaic[4] = 1;
  const std::vector<std::pair<Bytes, std::string>> cases{{{}, "the file is empty"},
                                                         {{0x1F, 0x8B, 8, 0, 0, 0, 0, 0}, "gunzip"},
                                                         {{0x28, 0xB5, 0x2F, 0xFD, 0, 0, 0, 0}, "unzstd"},
                                                         {{0xFD, 0x37, 0x7A, 0x58, 0x5A, 0, 0, 0}, "unxz"},
                                                         {archaic, "capture again"},
                                                         {{'s', 'n', 'o', 'o', 'p', 0, 0, 0}, "editcap -F pcap"}};
  for (const auto& [bytes, advice] : cases) {
    write_file(folder / "in", bytes);
    EXPECT_THAT(refusal(folder / "in"), HasSubstr(advice));
  }
}

/// Returns a capture whose interfaces have the given link types and snapshot lengths, and a packet of the last
/// interface.
Bytes pcapng_of_interfaces(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& interfaces) {
  Writer file(false);
  file.put(0x0A0D0D0A, 4).put(28, 4).put(0x1A2B3C4D, 4).put(1, 2).put(0, 2).put(UINT64_MAX, 8).put(28, 4);
  for (const auto& [link_type, longest] : interfaces) {
    file.put(1, 4).put(20, 4).put(link_type, 2).put(0, 2).put(longest, 4).put(20, 4);
  }
  file.put(6, 4).put(92, 4).put(interfaces.size() - 1, 4).put(0, 8).put(60, 4).put(60, 4).put(Bytes(60, 1)).put(92, 4);
  return file.bytes();
}

TEST(LoadCapture, RefusesInterfacesThatDifferWithoutCallingThemDamaged) {
  const ScratchFolder folder;
  constexpr std::uint32_t kEthernet = 1, kRaw = 101;
  for (const auto& [first, second] : {std::pair(kEthernet, kRaw), std::pair(kRaw, kEthernet)}) {
    write_file(folder / "in", pcapng_of_interfaces({{first, 65535}, {second, 65535}}));
    EXPECT_THAT(refusal(folder / "in"), AllOf(HasSubstr("different link types"), HasSubstr("editcap -F pcap -T ether"),
                                              Not(HasSubstr("damaged")), Not(HasSubstr("are not Ethernet"))));
  }
  write_file(folder / "in", pcapng_of_interfaces({{kEthernet, 65535}, {kEthernet, 1514}}));
  EXPECT_THAT(refusal(folder / "in"), AllOf(HasSubstr("different snapshot lengths"), Not(HasSubstr("damaged"))));
  write_file(folder / "in", pcapng_of_interfaces({{kEthernet, 65535}, {kEthernet, 65535}}));
  EXPECT_EQ(refusal(folder / "in"), "taken");
}

TEST(LoadCapture, RefusesSectionsOfDifferentByteOrdersWithoutCallingThemDamaged) {
  const ScratchFolder folder;
  for (const bool first : {false, true}) {
    const Bytes section = pcapng_file({{1, Bytes(60, 1)}}, first);
    const Bytes other = pcapng_file({{2, Bytes(60, 2)}}, !first);
    Bytes mixed = section;
    mixed.insert(mixed.end(), other.begin(), other.end());
    write_file(folder / "in", mixed);
    EXPECT_THAT(refusal(folder / "in"),
                AllOf(HasSubstr("sections are of different byte orders"), Not(HasSubstr("damaged"))));
    Bytes same = section;
    same.insert(same.end(), section.begin(), section.end());
    write_file(folder / "in", same);
    EXPECT_EQ(refusal(folder / "in"), "taken");
    same.resize(same.size() - 3);
    write_file(folder / "in", same);
    EXPECT_THAT(refusal(folder / "in"), HasSubstr("damaged or was cut off"));
  }
}

TEST(LoadCapture, RefusesWhatDoesNotFitIntoMemory) {
  const ScratchFolder folder;
  write_file(folder / "huge", pcap_file({}));
  std::error_code failed;
  std::filesystem::resize_file(folder / "huge", std::uintmax_t{1} << 43, failed);  // A sparse file.
  if (failed) GTEST_SKIP() << "no sparse file of 8 TiB here: " << failed.message();
  EXPECT_THAT(refusal(folder / "huge"), HasSubstr("does not fit into memory"));
}

TEST(Partition, KeepsEachFlowInOneQueueAndInOrder) {
  const Frames frames = zipf_frames(50, 5000);
  for (const std::uint16_t queues : {1, 2, 3, 7}) {
    const auto parts = partition(frames, queues);
    ASSERT_EQ(parts.size(), queues);
    std::map<std::string, std::size_t> queue_of_flow;
    std::size_t dealt = 0;
    for (std::size_t queue = 0; queue < queues; ++queue) {
      EXPECT_GT(parts[queue].size(), 0U);
      dealt += parts[queue].size();
      std::uint64_t before = 0;
      for (const FrameEntry& entry : parts[queue]) {
        EXPECT_TRUE(entry.nanoseconds > before || entry.nanoseconds == 0);
        before = entry.nanoseconds;
        const auto* packet = reinterpret_cast<const char*>(frames.bytes.data() + entry.offset);
        const std::string flow = std::string(packet + 26, 12) + packet[23];
        EXPECT_EQ(queue_of_flow.try_emplace(flow, queue).first->second, queue);
      }
    }
    EXPECT_EQ(dealt, 5000U);
    EXPECT_EQ(queue_of_flow.size(), 50U);
  }
}

}  // namespace
}  // namespace penumbra::io::test
