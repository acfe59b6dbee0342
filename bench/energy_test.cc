// SPDX-License-Identifier: Apache-2.0
//
// Tests the readings of power and GPUs with fake meters and a fake driver.
#include "energy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/scratch_folder.h"
#include "machine.h"
#include "nvml.h"

namespace penumbra::bench {
namespace {

/// A driver with two GPUs; the second supports no queries.
struct MadeUpDriver {
  static constexpr int kNotSupported = 3;
  static inline bool is_begun = false;
  static inline unsigned long long millijoules = 0;

  static bool is_first(const void* device) { return device == &is_begun; }
  static NvmlFunctions functions() {
    return {.init =
                [] {
                  is_begun = true;
                  return 0;
                },
            .shutdown =
                [] {
                  is_begun = false;
                  return 0;
                },
            .driver_version =
                [](char* text, unsigned bytes) {
                  constexpr std::string_view kVersion = "580.95.05";
                  std::fill_n(text, bytes, '\0');
                  std::ranges::copy(kVersion, text);
                  return 0;
                },
            .device_count =
                [](unsigned* count) {
                  *count = 2;
                  return 0;
                },
            .device_handle =
                [](unsigned index, void** device) {
                  *device = index == 0 ? static_cast<void*>(&is_begun) : &millijoules;
                  return 0;
                },
            .device_energy =
                [](void* device, unsigned long long* taken) {
                  *taken = millijoules;
                  return is_first(device) ? 0 : kNotSupported;
                },
            .device_pcie_generation =
                [](void* device, unsigned* generation) {
                  *generation = 5;
                  return is_first(device) ? 0 : kNotSupported;
                },
            .device_pcie_width =
                [](void* /*device*/, unsigned* lanes) {
                  *lanes = 16;
                  return 0;
                }};
  }
  static NvmlFunctions without_gpus() {
    NvmlFunctions all = functions();
    all.init = [] { return 1; };
    return all;
  }
};

TEST(Nvml, TellsOfDriverAndBusWhatTheDriverTells) {
  {
    const Nvml nvml(MadeUpDriver::functions());
    EXPECT_TRUE(MadeUpDriver::is_begun);
    EXPECT_EQ(nvml.gpus(), 2U);
    EXPECT_EQ(nvml.driver_version(), "580.95.05");
    EXPECT_EQ(nvml.bus(0), "PCIe generation 5, 16 lanes");
    EXPECT_EQ(nvml.bus(1), "");
    const nlohmann::json machine = describe_machine(nvml);
    EXPECT_EQ(machine["gpu driver"], "580.95.05");
    EXPECT_EQ(machine["gpu bus"], "PCIe generation 5, 16 lanes");
  }
  EXPECT_FALSE(MadeUpDriver::is_begun) << "it is ended";
}

TEST(Nvml, IsEmptyWithoutADriverThatBegins) {
  const Nvml nvml(MadeUpDriver::without_gpus());
  EXPECT_EQ(nvml.gpus(), 0U);
  EXPECT_EQ(nvml.driver_version(), "");
  const nlohmann::json machine = describe_machine(nvml);
  EXPECT_FALSE(machine.contains("gpu driver") || machine.contains("gpu bus"));
  EXPECT_TRUE(machine.contains("cores"));
}

/// A powercap folder with a zone.
class Zone {
 public:
  Zone(const ScratchFolder& folder, const std::string& zone, const std::string& name) : path_(folder / zone) {
    std::filesystem::create_directory(path_);
    put("name", name);
    put("max_energy_range_uj", "10000000");
    put("energy_uj", "9000000");
  }
  void put(const std::string& file, const std::string& text) const { std::ofstream(path_ / file) << text << '\n'; }

 private:
  std::filesystem::path path_;
};

TEST(EnergyMeters, TellProcessorsAndGpusApart) {
  const ScratchFolder powercap;
  const Zone package(powercap, "intel-rapl:0", "package-0"), core(powercap, "intel-rapl:0:0", "core"),
      same_again(powercap, "intel-rapl-mmio:0", "package-0");
  MadeUpDriver::millijoules = 5000;
  const Nvml nvml(MadeUpDriver::functions());
  EnergyMeters meters(nvml, powercap.path());
  package.put("energy_uj", "9500000");
  core.put("energy_uj", "9100000");
  same_again.put("energy_uj", "9500000");
  MadeUpDriver::millijoules = 7000;
  Energy taken = meters.since_last();
  EXPECT_NEAR(taken.processors.value(), 0.5, 1e-9);
  EXPECT_NEAR(taken.gpus.value(), 2, 1e-9);
  package.put("energy_uj", "500000");
  taken = meters.since_last();
  EXPECT_NEAR(taken.processors.value(), 1, 1e-9) << "the counter restarted";
  EXPECT_NEAR(taken.gpus.value(), 0, 1e-9);
}

TEST(EnergyMeters, TellNothingOfWhatHasNoMeter) {
  const ScratchFolder powercap;
  const Nvml none(MadeUpDriver::without_gpus()), nvml(MadeUpDriver::functions());
  Energy taken = EnergyMeters(none, powercap / "missing").since_last();
  EXPECT_FALSE(taken.processors || taken.gpus);
  taken = EnergyMeters(nvml, powercap.path()).since_last();
  EXPECT_FALSE(taken.processors);
  EXPECT_TRUE(taken.gpus);
}

}  // namespace
}  // namespace penumbra::bench
