// SPDX-License-Identifier: Apache-2.0
#include "control/device_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penumbra::control {
namespace {

using ::testing::HasSubstr;

TEST(DeviceArguments, AreReadFromDevargs) {
  EXPECT_EQ(devarg("net_x0,iface=eth1,qpairs=2", "iface"), "eth1");
  EXPECT_EQ(devarg("net_x0,iface=eth1,qpairs=2", "qpairs"), "2");
  EXPECT_EQ(devarg("net_x0,iface=eth1", "face"), "");
  EXPECT_EQ(devarg("net_x0", "iface"), "");
}

TEST(DeviceArguments, NameDevicesAndInterfaces) {
  EXPECT_EQ(device_name("net_af_packet0,iface=eth1"), "net_af_packet0");
  EXPECT_EQ(device_name("81:00.0"), device_name("pci:0000:81:00.0,mprq_en=1"));
  EXPECT_EQ(device_interface("net_af_packet0,iface=eth1"), "eth1");
  EXPECT_EQ(device_interface("eth_af_packet0,iface=eth1"), "eth1");
  EXPECT_EQ(device_interface("net_af_xdp0,iface=eth1"), "eth1");
  EXPECT_EQ(device_interface("net_tap0,iface=new0"), "new0");
  EXPECT_EQ(device_interface("net_vhost0,iface=/run/socket"), "") << "that is a socket";
  EXPECT_EQ(device_interface("0000:81:00.0"), "");
}

TEST(DeviceArguments, MayBeRight) {
  for (const char* devargs :
       {"net_null0", "net_null0,size=64,copy=1", "net_af_packet0,iface=eth1,framecnt=4096,qpairs=1",
        "net_af_xdp0,iface=eth1,start_queue=1", "net_memif0,role=server,id=0,socket=/run/m,socket-abstract=no",
        "net_pcap0,rx_pcap=a,rx_pcap=b,tx_pcap=c", "net_tap0,iface=t0,mac=fixed",
        "net_virtio_user0,path=/dev/vhost-net", "net_vhost0,iface=/run/s,queues=2",
        "net_bonding0,mode=1,slave=net_null0,slave=net_null1", "net_ring0"}) {
    EXPECT_EQ(fault_of_arguments(devargs), "") << devargs;
  }
}

TEST(DeviceArguments, MayBeWrong) {
  EXPECT_THAT(fault_of_arguments("net_af_packet0"), HasSubstr("on which interface: add iface=NAME"));
  EXPECT_THAT(fault_of_arguments("net_af_xdp0,iface="), HasSubstr("on which interface: add iface=NAME"));
  EXPECT_THAT(fault_of_arguments("net_af_packet0,iface=eth1,qpairs=2"), HasSubstr("leave qpairs out"));
  EXPECT_THAT(fault_of_arguments("net_af_packet0,iface=eth1,iface=eth2"), HasSubstr("'iface' is given twice"));
  EXPECT_THAT(fault_of_arguments("net_af_packet0,iface=eth1,frmecnt=3"), HasSubstr("did you mean 'framecnt'?"));
  EXPECT_THAT(fault_of_arguments("net_null0,bogus=1"), HasSubstr("no argument 'bogus'; there are: size, copy, no-rx"));
  EXPECT_THAT(fault_of_arguments("eth_null0,"), HasSubstr("no argument ''"));
  EXPECT_THAT(fault_of_arguments("net_tap0,ifcae=x"), HasSubstr("did you mean 'iface'?"));
  EXPECT_THAT(fault_of_arguments("net_memif0,rol=server"), HasSubstr("did you mean 'role'?"));
  EXPECT_THAT(fault_of_arguments("net_af_xdp0,iface=eth1,foo=1"), HasSubstr("no argument 'foo'"));
}

}  // namespace
}  // namespace penumbra::control
