// SPDX-License-Identifier: Apache-2.0
//
// Meters of megaflows: they drop packets above a rate. A meter acts as that of Open vSwitch in user space.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace penumbra::megaflows {

struct MeterBand {
  std::uint32_t rate = 1;   ///< kilobits or packets in a second; not 0
  std::uint32_t burst = 0;  ///< kilobits or packets
  bool operator==(const MeterBand&) const = default;
};

struct MeterConfig {
  std::uint32_t number = 0;
  bool counts_packets = false;        ///< the unit of the bands
  std::vector<MeterBand> bands = {};  // NOLINT(readability-redundant-member-init): initialisers may omit it
  bool operator==(const MeterConfig&) const = default;
};

struct MeterCounts {
  struct Packets {
    std::uint64_t packets = 0, bytes = 0;
  };
  Packets in;
  std::vector<Packets> dropped;  ///< by band
};

/// Each band is a bucket, which is full at first. A packet that a bucket cannot pay for is dropped; the other buckets
/// pay nevertheless. The band with the highest rate of those counts it. Any thread may call the functions.
class Meter {
 public:
  explicit Meter(MeterConfig config);

  const MeterConfig& config() const { return config_; }
  /// Returns false if a packet of `bytes` bytes at `now_ns` (by steady_ns()) must be dropped.
  bool admit(std::uint32_t bytes, std::uint64_t now_ns) noexcept;
  MeterCounts counts() const;

 private:
  struct Counts {
    std::atomic<std::uint64_t> packets{0}, bytes{0};
    void add(std::uint32_t more) noexcept;
    MeterCounts::Packets get() const noexcept;
  };
  /// The bucket is a theoretical arrival time (ITU-T I.371, GCRA), so that it takes one atomic word.
  struct Band {
    std::uint64_t rate = 1, depth = 0;  ///< the depth in ticks
    std::atomic<std::uint64_t> arrival{0};
    Counts dropped;
  };
  static bool pay(Band& band, std::uint64_t volume, std::uint64_t now) noexcept;

  const MeterConfig config_;
  std::vector<Band> bands_;
  Counts in_;
};

}  // namespace penumbra::megaflows
