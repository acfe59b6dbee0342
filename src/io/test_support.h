// SPDX-License-Identifier: Apache-2.0
//
// Shares helpers between the tests of this folder.
#pragma once

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/scratch_folder.h"
#include "io/eal.h"
#include "io/frames.h"
#include "io/port.h"
#include "testing/pool_packets.h"

namespace penumbra::io::test {

using function_testing::Bytes;

/// Write and read whole files.
inline void write_file(const std::filesystem::path& file, const Bytes& bytes) {
  std::ofstream stream(file, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}
inline Bytes read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Writes numbers into bytes in either byte order.
class Writer {
 public:
  explicit Writer(bool big_endian) : big_endian_(big_endian) {}
  Writer& put(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      const int shift = 8 * (big_endian_ ? bytes - 1 - i : i);
      bytes_.push_back(static_cast<std::uint8_t>(value >> shift));
    }
    return *this;
  }
  Writer& put(const Bytes& more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  bool big_endian_;
  Bytes bytes_;
};

struct Record {
  std::uint64_t nanoseconds = 0;
  Bytes frame;
  bool operator==(const Record&) const = default;
};

/// The format of a pcap file.
struct PcapForm {
  bool big_endian = false;
  bool nanoseconds = true;
  std::uint32_t link_type = 1;
};

inline Bytes pcap_file(const std::vector<Record>& records, const PcapForm& form = {}) {
  Writer file(form.big_endian);
  file.put(form.nanoseconds ? 0xA1B23C4D : 0xA1B2C3D4, 4).put(2, 2).put(4, 2).put(0, 8).put(262144, 4);
  file.put(form.link_type, 4);
  for (const Record& record : records) {
    const std::uint64_t fraction = record.nanoseconds % 1'000'000'000 / (form.nanoseconds ? 1 : 1000);
    file.put(record.nanoseconds / 1'000'000'000, 4).put(fraction, 4);
    file.put(record.frame.size(), 4).put(record.frame.size(), 4).put(record.frame);
  }
  return file.bytes();
}

/// Returns a pcapng file with one interface whose timestamps are in nanoseconds.
inline Bytes pcapng_file(const std::vector<Record>& records, bool big_endian) {
  Writer file(big_endian);
  file.put(0x0A0D0D0A, 4).put(28, 4).put(0x1A2B3C4D, 4).put(1, 2).put(0, 2).put(UINT64_MAX, 8).put(28, 4);
  file.put(1, 4).put(32, 4).put(1, 2).put(0, 2).put(0, 4).put(9, 2).put(1, 2).put(9, 1).put(0, 3).put(0, 4).put(32, 4);
  for (const Record& record : records) {
    const std::uint64_t padded = (record.frame.size() + 3) / 4 * 4;
    file.put(6, 4).put(32 + padded, 4).put(0, 4).put(record.nanoseconds >> 32, 4).put(record.nanoseconds, 4);
    file.put(record.frame.size(), 4).put(record.frame.size(), 4).put(record.frame);
    file.put(0, static_cast<int>(padded - record.frame.size())).put(32 + padded, 4);
  }
  return file.bytes();
}

inline std::vector<Record> records_of(const Frames& frames) {
  std::vector<Record> records;
  for (const FrameEntry& entry : frames.entries) {
    const auto begin = frames.bytes.begin() + static_cast<std::ptrdiff_t>(entry.offset);
    records.push_back({entry.nanoseconds, Bytes(begin, begin + entry.size)});
  }
  return records;
}

/// Starts the EAL once in this process.
inline void need_eal() {
  start_eal({}, 4);
}

/// Returns a port as the configuration would define it.
inline control::PortConfig port_config(const std::string& device, const std::string& sink = "count",
                                       std::uint16_t index = 0) {
  const ConfigNode node = ConfigNode::parse("{device: '" + device + "', sink: '" + sink + "'}", "test.yaml", "/");
  control::PortConfig config;
  config.info.name = "port" + std::to_string(index);
  config.info.index = index;
  config.device = control::parse_device(node.at("device"));
  config.sink = control::parse_sink(node.at("sink"));
  config.location = node.location();
  config.device_location = node.at("device").location();
  config.sink_location = node.at("sink").location();
  return config;
}

using function_testing::bytes_of;

/// Receives and frees all packets of a finite queue, and returns their bytes.
inline std::vector<Bytes> receive_all(RxQueue& queue, std::uint16_t burst = 64) {
  std::vector<Bytes> frames;
  std::vector<rte_mbuf*> packets(burst);
  while (!queue.exhausted()) {
    const std::uint16_t count = queue.receive(packets.data(), burst);
    for (std::uint16_t i = 0; i < count; ++i) frames.push_back(bytes_of(*packets[i]));
    rte_pktmbuf_free_bulk(packets.data(), count);
  }
  return frames;
}

}  // namespace penumbra::io::test
