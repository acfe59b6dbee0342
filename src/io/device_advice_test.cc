// SPDX-License-Identifier: Apache-2.0
#include "io/device_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/scratch_folder.h"

namespace penumbra::io {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DeviceAdvice : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  std::string of(const std::string& devargs) const { return device_advice(devargs, folder_.path()); }
  ScratchFolder folder_;
};

TEST_F(DeviceAdvice, NamesTheRightsThatXdpLacks) {
  write("proc/self/status", "CapEff:\t0000000000003000");  // CAP_NET_ADMIN and CAP_NET_RAW.
  EXPECT_THAT(of("net_af_xdp0,iface=eth1"), AllOf(HasSubstr("needs CAP_BPF,"), HasSubstr("setcap")));
  write("proc/self/status", "CapEff:\t0000000000000000");
  EXPECT_THAT(of("net_af_xdp0,iface=eth1"), HasSubstr("needs CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF,"));
  write("proc/self/status", "CapEff:\t000001ffffffffff");
  EXPECT_THAT(of("net_af_xdp0,iface=eth1"), AllOf(HasSubstr("net_af_packet"), Not(HasSubstr("CAP_"))));
  EXPECT_EQ(of("net_af_packet0,iface=eth1"), "");
}

TEST_F(DeviceAdvice, ListsTheCardsThatAreThere) {
  EXPECT_EQ(of("0000:81:00.0"), "; this machine has no network card on PCI");
  write("sys/bus/pci/devices/0000:03:00.1/class", "0x020000");
  write("sys/bus/pci/devices/0000:03:00.0/class", "0x020000");
  write("sys/bus/pci/devices/0000:00:02.0/class", "0x030000");
  for (const char* devargs : {"0000:81:00.0", "81:00.0,mtu=9000", "pci:0000:81:00.0"}) {
    EXPECT_EQ(of(devargs), "; the network cards of this machine are 0000:03:00.0, 0000:03:00.1");
  }
  std::filesystem::create_symlink("../../bus/pci/drivers/ixgbe", folder_ / "sys/bus/pci/devices/0000:03:00.0/driver");
  EXPECT_THAT(of("0000:03:00.0"), AllOf(HasSubstr("bound to ixgbe"), HasSubstr("penumbra doctor")));
  EXPECT_THAT(of("03:00.1"), HasSubstr("bound to no driver"));
}

TEST_F(DeviceAdvice, LeavesBondsToLinux) {
  EXPECT_THAT(of("net_bonding0,mode=1"), HasSubstr("iface=bond0"));
}

}  // namespace
}  // namespace penumbra::io
