// SPDX-License-Identifier: Apache-2.0
//
// The doctor on simulated machines: a folder with the files of /proc, /sys and /dev that a check reads.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "cli/doctor/check.h"
#include "cli/test_program.h"

namespace penumbra::cli::doctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Files = std::map<std::string, std::string>;

class MadeUp {
 public:
  explicit MadeUp(const Files& files) {
    for (const auto& [name, text] : files) write(name, text);
  }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void link(const std::string& name, const std::string& target) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::filesystem::create_symlink(target, folder_ / name);
  }
  /// Sets a configuration with these ports and worker cores.
  void configure(const std::string& ports, std::vector<unsigned> cores = {0}) {
    config_ = control::parse_config("ports: [" + ports + "]\npipeline: [ipv4]\n", "test", "/");
    config_->cores = std::move(cores);
  }
  std::map<std::string, InterfaceFeatures> features;

  std::vector<Finding> examine(const std::string& name) const {
    const Machine machine(folder_.path(), config_ ? &*config_ : nullptr,
                          [this](const std::string& interface) -> std::optional<InterfaceFeatures> {
                            const auto found = features.find(interface);
                            if (found == features.end()) return std::nullopt;
                            return found->second;
                          });
    for (const auto& check : all_checks()) {
      if (check.name == name) return check.probe(machine);
    }
    ADD_FAILURE() << "no check " << name;
    return {};
  }
  std::vector<std::string> packages(const std::string& command) const {
    return missing_packages(Machine(folder_.path(), nullptr, features_of), command);
  }
  /// Returns the only result of a check.
  Finding only(const std::string& name) const {
    const auto findings = examine(name);
    EXPECT_EQ(findings.size(), 1U) << name;
    return findings.empty() ? Finding{} : findings.front();
  }

 private:
  ScratchFolder folder_;
  std::optional<control::RouterConfig> config_;
};

constexpr const char* kPacketPort = "{name: wan, device: 'net_af_packet0,iface=eth1'}";
constexpr const char* kCardPort = "{name: wan, device: '0000:81:00.0'}";
constexpr const char* kTwinPort = "{name: wan, device: none, twin: true}";

TEST(Doctor, NamesEachCheckOnceAndSurvivesAMachineWithoutAnything) {
  std::set<std::string> names;
  for (const auto& check : all_checks()) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
    for (const auto& finding : MadeUp(Files{}).examine(check.name))
      EXPECT_NE(finding.state, State::problem) << finding.text;
  }
  EXPECT_GT(names.size(), 15U);
}

/// A machine with cores 0 and 1 on node 0 and core 2 on node 1, a card on node 1 and an interface on node 0.
class TwoNodes final : public MadeUp {
 public:
  TwoNodes()
      : MadeUp(Files{{"sys/devices/system/node/node0/cpulist", "0-1"},
                     {"sys/devices/system/node/node1/cpulist", "2"},
                     {"sys/devices/system/node/possible", "0-1"},
                     {"sys/bus/pci/devices/0000:81:00.0/numa_node", "1"},
                     {"sys/class/net/eth1/device/numa_node", "0"}}) {
    for (const char* place : {"cpu0/node0", "cpu1/node0", "cpu2/node1"}) {
      write(std::string("sys/devices/system/cpu/") + place + "/numastat", "");
    }
  }
};

TEST(Doctor, FindsWorkersFarFromTheirCards) {
  EXPECT_EQ(MadeUp(Files{}).only("NUMA nodes").text, "one node");
  TwoNodes machine;
  EXPECT_EQ(machine.only("NUMA nodes").text, "nodes 0, 1");
  machine.configure(kCardPort, {0, 1});
  const Finding far = machine.only("NUMA nodes");
  EXPECT_EQ(far.state, State::hint);
  EXPECT_EQ(far.text, "0000:81:00.0 is on node 1, and workers are on 0: each packet crosses to another node");
  EXPECT_EQ(far.command, "cat /sys/devices/system/node/node1/cpulist");
  machine.configure(kCardPort, {0, 2});
  EXPECT_EQ(machine.only("NUMA nodes").text, "workers on nodes 0, 1, as cards and GPUs are");
  machine.configure(kPacketPort, {2});
  EXPECT_THAT(machine.only("NUMA nodes").text, HasSubstr("eth1 is on node 0, and workers are on 1"));
  machine.configure(kPacketPort, {0});
  EXPECT_EQ(machine.only("NUMA nodes").state, State::ok);
}

TEST(Doctor, FindsWorkersFarFromTheGpu) {
  TwoNodes machine;
  const std::string gpu = "sys/bus/pci/devices/0000:c1:00.0/";
  machine.write(gpu + "vendor", "0x10de");
  machine.write(gpu + "class", "0x030200");
  machine.write(gpu + "numa_node", "1");
  machine.configure(kPacketPort, {0});
  EXPECT_EQ(machine.only("NUMA nodes").text,
            "0000:c1:00.0 is on node 1, and workers are on 0: batches for this GPU cross to another node");
  machine.configure(kPacketPort, {0, 2});
  EXPECT_EQ(machine.only("NUMA nodes").state, State::ok);
}

TEST(Doctor, CountsHugePages) {
  const std::string folder = "sys/kernel/mm/hugepages/hugepages-2048kB/";
  const auto enough =
      MadeUp(Files{{folder + "nr_hugepages", "1024"}, {folder + "free_hugepages", "256"}}).only("huge pages");
  EXPECT_EQ(enough.state, State::ok);
  EXPECT_EQ(enough.text, "2 MiB pages: 1024 reserved, 256 free");
  const auto few =
      MadeUp(Files{{folder + "nr_hugepages", "1024"}, {folder + "free_hugepages", "255"}}).examine("huge pages");
  ASSERT_EQ(few.size(), 2U);
  EXPECT_EQ(few[1].state, State::hint);
  EXPECT_THAT(few[1].command, HasSubstr("vm.nr_hugepages"));
}

TEST(Doctor, LooksForTheMountOfHugePages) {
  const Finding mounted =
      MadeUp(Files{{"proc/mounts", "proc /proc proc rw 0 0\nhuge /mnt/huge hugetlbfs rw 0 0"}}).only("huge page mount");
  EXPECT_EQ(mounted.state, State::ok);
  EXPECT_THAT(mounted.text, HasSubstr("/mnt/huge"));
  EXPECT_THAT(MadeUp(Files{{"proc/mounts", "proc /proc proc rw 0 0"}}).only("huge page mount").command,
              HasSubstr("mount -t hugetlbfs"));
}

TEST(Doctor, ReadsTransparentHugePages) {
  const std::string file = "sys/kernel/mm/transparent_hugepage/enabled";
  EXPECT_EQ(MadeUp(Files{{file, "always [madvise] never"}}).only("transparent huge pages").state, State::ok);
  EXPECT_THAT(MadeUp(Files{{file, "always madvise [never]"}}).only("transparent huge pages").command,
              HasSubstr("printf madvise"));
}

TEST(Doctor, AsksForLockedMemoryWhereItIsNeeded) {
  const auto machine = [](const char* soft) {
    return MadeUp(Files{{"proc/self/limits", std::string("Limit  Soft Limit  Hard Limit\nMax locked memory     ") +
                                                 soft + "  8388608  bytes"}});
  };
  EXPECT_EQ(machine("unlimited").only("locked memory").text, "without limit");
  EXPECT_EQ(machine("65536").only("locked memory").state, State::ok);
  MadeUp limited = machine("65536");
  limited.configure(kCardPort);
  EXPECT_EQ(limited.only("locked memory").state, State::hint);
}

TEST(Doctor, MissesCapabilitiesThatTheConfigurationNeeds) {
  const auto states = [](const char* effective, const char* port) {
    MadeUp machine(Files{{"proc/self/status", std::string("Name:\tx\nCapEff:\t") + effective}});
    if (port != nullptr) machine.configure(port);
    std::vector<State> found;
    for (const auto& finding : machine.examine("capabilities")) found.push_back(finding.state);
    return found;
  };
  using enum State;
  // CAP_NET_ADMIN is bit 12, CAP_NET_RAW 13, CAP_BPF 39.
  EXPECT_THAT(states("000001ffffffffff", kPacketPort), ElementsAre(ok, ok, ok));
  EXPECT_THAT(states("0000000000001000", kPacketPort), ElementsAre(ok, problem, ok));
  EXPECT_THAT(states("0000000000002000", kTwinPort), ElementsAre(problem, ok, ok));
  EXPECT_THAT(states("0000008000000000", nullptr), ElementsAre(hint, hint, ok));
  EXPECT_THAT(states("0", "{name: a, device: 'net_af_xdp0,iface=eth1'}"), ElementsAre(problem, problem, problem));
}

TEST(Doctor, LooksForTun) {
  EXPECT_EQ(MadeUp(Files{{"dev/net/tun", ""}}).only("TUN/TAP").state, State::ok);
  MadeUp machine(Files{});
  EXPECT_EQ(machine.only("TUN/TAP").state, State::hint);
  machine.configure(kTwinPort);
  EXPECT_EQ(machine.only("TUN/TAP").state, State::problem);
  EXPECT_EQ(machine.only("TUN/TAP").command, "modprobe tun");
}

TEST(Doctor, LooksForXdp) {
  MadeUp with(Files{{"proc/net/protocols", "protocol  size\nXDP       960\nPACKET   1344"}}),
      without(Files{{"proc/net/protocols", "protocol  size\nPACKET   1344"}});
  EXPECT_THAT(with.only("AF_XDP").text, HasSubstr("has AF_XDP"));
  EXPECT_EQ(without.only("AF_XDP").state, State::ok);
  without.configure("{name: a, device: 'net_af_xdp0,iface=eth1'}");
  EXPECT_EQ(without.only("AF_XDP").state, State::problem);
}

TEST(Doctor, SaysWhoseNetworkCardsAre) {
  const std::string devices = "sys/bus/pci/devices/";
  MadeUp machine(Files{{devices + "0000:81:00.0/class", "0x020000"},
                       {devices + "0000:81:00.1/class", "0x020000"},
                       {devices + "0000:00:02.0/class", "0x030000"}});
  machine.link(devices + "0000:81:00.0/driver", "../../bus/pci/drivers/ixgbe");
  machine.link(devices + "0000:81:00.1/driver", "../../bus/pci/drivers/vfio-pci");
  auto findings = machine.examine("network cards");
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].text, "0000:81:00.0 is bound to ixgbe: Linux has it");
  EXPECT_EQ(findings[1].text, "0000:81:00.1 is bound to vfio-pci: Penumbra can have it");
  machine.configure(kCardPort);
  findings = machine.examine("network cards");
  EXPECT_EQ(findings[0].state, State::problem);
  EXPECT_EQ(findings[0].command, "modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci 0000:81:00.0");
  MadeUp other(Files{{devices + "0000:00:02.0/class", "0x030000"}});
  other.configure(kCardPort);
  EXPECT_THAT(other.only("network cards").text, HasSubstr("no network card of this machine"));
}

TEST(Doctor, WarnsBeforeItUnbindsTheDefaultRoute) {
  const std::string card = "sys/bus/pci/devices/0000:81:00.0/";
  const std::string header = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
  const std::string network = "eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
  const std::string all = std::string(32, '0');
  const auto warns = [&](const std::string& routes, const std::string& routes6) {
    MadeUp machine(Files{{card + "class", "0x020000"},
                         {card + "net/eth0/mtu", "1500"},
                         {"sys/class/net/br0/lower_eth0/mtu", "1500"},
                         {"proc/net/route", header + routes},
                         {"proc/net/ipv6_route", routes6}});
    machine.configure(kCardPort);
    const Finding finding = machine.only("network cards");
    EXPECT_EQ(finding.state, State::problem);
    return finding.text.find("WARNING") != std::string::npos;
  };
  EXPECT_FALSE(warns(network, ""));
  EXPECT_TRUE(warns(network + "eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", ""));
  EXPECT_TRUE(warns("br0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", ""));
  EXPECT_FALSE(warns("eth1\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", ""));
  const auto route6 = [&](const std::string& length, const std::string& interface) {
    return all + " " + length + " " + all + " 00 " + all + " 00000400 00000001 00000000 00000003     " + interface;
  };
  EXPECT_TRUE(warns("", route6("00", "eth0")));
  EXPECT_FALSE(warns("", route6("60", "eth0") + "\n" + route6("00", "lo")));
}

TEST(Doctor, WarnsThatARouterTakesOverTheDefaultRoute) {
  MadeUp machine(Files{{"proc/net/route",
                        "Iface\tDestination\n"
                        "eth1\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0"}});
  machine.configure(kPacketPort);
  EXPECT_THAT(machine.examine("default route"), IsEmpty());
  for (const char* port :
       {"{name: a, device: 'net_af_xdp0,iface=eth1'}", "{name: a, device: 'net_af_packet0,iface=eth1', twin: true}"}) {
    machine.configure(port);
    EXPECT_THAT(machine.only("default route").text, HasSubstr("WARNING"));
  }
}

TEST(Doctor, NamesThePackagesOfToolsThatAreMissing) {
  const MadeUp bare(Files{}), equipped(Files{{"usr/sbin/modprobe", ""}, {"usr/local/bin/dpdk-devbind.py", ""}});
  const std::string command = "modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci 0000:81:00.0";
  EXPECT_THAT(bare.packages(command), ElementsAre("kmod", "dpdk"));
  EXPECT_THAT(equipped.packages(command), IsEmpty());
  EXPECT_THAT(bare.packages("cpupower -c 5 frequency-set -g performance"), ElementsAre("linux-cpupower"));
  EXPECT_THAT(bare.packages("printf Y >/sys/x"), IsEmpty());
}

TEST(Doctor, WantsAnIommuForCardsOnly) {
  MadeUp without(Files{}), with(Files{{"sys/kernel/iommu_groups/0/type", "DMA"}}),
      unsafe(Files{{"sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y"}});
  EXPECT_EQ(without.only("IOMMU").state, State::ok);
  for (auto* machine : {&without, &with, &unsafe}) machine->configure(kCardPort);
  EXPECT_EQ(without.only("IOMMU").state, State::problem);
  EXPECT_EQ(with.only("IOMMU").state, State::ok);
  EXPECT_EQ(unsafe.only("IOMMU").state, State::hint);
}

TEST(Doctor, TakesAFileThatCannotBeReadForOneThatIsNotThere) {
  // A folder can be opened but not read, like `carrier` of an interface that is down.
  MadeUp machine(Files{{"sys/class/net/eth1/carrier/unreadable", ""}});
  machine.configure(kPacketPort);
  const Finding finding = machine.only("interfaces");
  EXPECT_EQ(finding.state, State::hint);
  EXPECT_EQ(finding.text, "eth1 is down");
  EXPECT_EQ(finding.command, "ip link set eth1 up");
}

TEST(Doctor, SurvivesFilesThatCannotBeRead) {
  const std::vector<std::string> files{"proc/mounts",
                                       "proc/self/status",
                                       "proc/cmdline",
                                       "proc/meminfo",
                                       "sys/kernel/mm/transparent_hugepage/enabled",
                                       "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
                                       "sys/devices/system/cpu/isolated",
                                       "sys/devices/system/cpu/online",
                                       "sys/class/net/eth1/ifindex",
                                       "sys/class/net/eth1/iflink",
                                       "proc/sys/net/ipv4/ip_forward",
                                       "proc/sys/net/ipv4/conf/eth1/forwarding",
                                       "proc/sys/net/ipv4/conf/all/rp_filter"};
  MadeUp machine(Files{});
  for (const auto& file : files) machine.write(file + "/unreadable", "");
  machine.features["eth1"] = {.driver = "veth"};
  for (const char* port : {kPacketPort, kTwinPort}) {
    machine.configure(port);
    for (const auto& check : all_checks()) EXPECT_NO_THROW(machine.examine(check.name)) << check.name;
  }
}

TEST(Doctor, LooksAtTheInterfacesOfTheConfiguration) {
  MadeUp machine(Files{{"sys/class/net/eth1/carrier", "1"}, {"sys/class/net/eth2/carrier", "0"}});
  EXPECT_THAT(machine.examine("interfaces"), IsEmpty());
  machine.configure(
      "{name: a, device: 'net_af_packet0,iface=eth1'}, {name: b, device: 'net_af_packet1,iface=eth2,qpairs=1'}, {name: "
      "c, device: 'net_af_xdp0,iface=eth3'}");
  const auto findings = machine.examine("interfaces");
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].state, State::ok);
  EXPECT_THAT(findings[1].text, HasSubstr("eth2 is up without a carrier"));
  EXPECT_EQ(findings[2].text, "there is no interface eth3");
  EXPECT_EQ(findings[2].state, State::problem);
}

TEST(Doctor, FindsPartialChecksumsOnVeths) {
  const std::string net = "sys/class/net/";
  MadeUp machine(Files{{net + "eth1/ifindex", "5"},
                       {net + "eth1/iflink", "6"},
                       {net + "peer/ifindex", "6"},
                       {net + "peer/iflink", "5"}});
  machine.configure(kPacketPort);
  EXPECT_THAT(machine.examine("partial checksums"), IsEmpty());
  machine.features["eth1"] = {.driver = "veth"};
  machine.features["peer"] = {.driver = "veth", .checksums = true};
  EXPECT_EQ(machine.only("partial checksums").state, State::hint);
  EXPECT_THAT(machine.only("partial checksums").text, HasSubstr("with CAP_NET_ADMIN and CAP_BPF only"));
  machine.write("proc/self/status", "CapEff:\t0000008000001000");
  EXPECT_EQ(machine.only("partial checksums").state, State::ok);
  EXPECT_EQ(machine.only("partial checksums").command, "ethtool -K peer tx off tso off gso off");
  machine.features["peer"] = {.driver = "veth"};
  EXPECT_THAT(machine.only("partial checksums").text, HasSubstr("offloads nothing"));
  MadeUp elsewhere(Files{{net + "eth1/ifindex", "5"},
                         {net + "eth1/iflink", "6"},
                         {net + "other/ifindex", "6"},
                         {net + "other/iflink", "6"}});
  elsewhere.configure(kPacketPort);
  elsewhere.features["eth1"] = {.driver = "veth"};
  EXPECT_THAT(elsewhere.only("partial checksums").text, HasSubstr("in another namespace"));
}

TEST(Doctor, KnowsWhoForwards) {
  MadeUp twin(Files{{"proc/sys/net/ipv4/ip_forward", "0"}}),
      packet(Files{{"proc/sys/net/ipv4/conf/eth1/forwarding", "1"}});
  twin.configure(kTwinPort);
  EXPECT_EQ(twin.only("forwarding by Linux").command, "sysctl -w net.ipv4.ip_forward=1");
  MadeUp six(Files{{"proc/sys/net/ipv4/ip_forward", "1"}, {"proc/sys/net/ipv6/conf/all/forwarding", "0"}});
  six.configure(kTwinPort);
  EXPECT_EQ(six.only("forwarding by Linux").command, "sysctl -w net.ipv6.conf.all.forwarding=1");
  packet.configure(kPacketPort);
  EXPECT_EQ(packet.only("forwarding by Linux").command, "sysctl -w net.ipv4.conf.eth1.forwarding=0");
  packet.configure("{name: a, device: 'net_af_xdp0,iface=eth1'}");
  EXPECT_THAT(packet.examine("forwarding by Linux"), IsEmpty());
}

TEST(Doctor, TakesTheLargerOfTwoReversePathFilters) {
  const auto state = [](const char* all, const char* own) {
    MadeUp machine(Files{{"proc/sys/net/ipv4/conf/all/rp_filter", all}, {"proc/sys/net/ipv4/conf/wan/rp_filter", own}});
    machine.configure(kTwinPort);
    return machine.only("reverse path filter").state;
  };
  EXPECT_EQ(state("0", "0"), State::ok);
  EXPECT_EQ(state("1", "0"), State::hint);
  EXPECT_EQ(state("0", "1"), State::hint);
  EXPECT_EQ(state("2", "1"), State::ok);
}

TEST(Doctor, ComparesWorkersWithCores) {
  const std::string cpus = "sys/devices/system/cpu/";
  MadeUp machine(Files{{cpus + "online", "0-2,5"},
                       {cpus + "isolated", "1-2"},
                       {cpus + "nohz_full", "(null)"},
                       {cpus + "cpu1/topology/thread_siblings_list", "1,5"},
                       {cpus + "cpu5/topology/thread_siblings_list", "1,5"},
                       {cpus + "cpu2/topology/thread_siblings_list", "2"},
                       {cpus + "cpu1/cpufreq/scaling_governor", "performance"},
                       {cpus + "cpu5/cpufreq/scaling_governor", "powersave"}});
  EXPECT_EQ(machine.only("cores").text, "4 online: 0, 1, 2, 5");
  machine.configure(kPacketPort, {1, 5});
  EXPECT_EQ(machine.only("cores").text, "workers on 2 of 4 cores: 1, 5");
  EXPECT_THAT(machine.only("core isolation").text, HasSubstr("workers' cores 5;"));
  EXPECT_THAT(machine.only("core isolation").command, HasSubstr("isolcpus=1,5 "));
  EXPECT_THAT(machine.only("tickless cores").text, HasSubstr("1, 5;"));
  EXPECT_EQ(machine.only("clock rate").command, "cpupower -c 5 frequency-set -g performance");
  EXPECT_THAT(machine.only("sibling threads").text, HasSubstr("1 and 5 share"));
  machine.configure(kPacketPort, {1, 2});
  EXPECT_EQ(machine.only("core isolation").state, State::ok);
  EXPECT_EQ(machine.only("sibling threads").state, State::ok);
  machine.configure(kPacketPort, {0, 1, 2, 5});
  EXPECT_EQ(machine.only("cores").state, State::hint);
  machine.configure(kPacketPort, {3});
  EXPECT_EQ(machine.only("cores").state, State::problem);
}

TEST(Doctor, LooksForGpus) {
  const std::string card = "sys/bus/pci/devices/0000:41:00.0/";
  EXPECT_EQ(MadeUp(Files{}).only("GPU").text, "none; shaders run on the CPU");
  Files files{{card + "vendor", "0x10de"}, {card + "class", "0x030200"}};
  EXPECT_THAT(MadeUp(files).only("GPU").command, HasSubstr("nvidia-open"));
  files["proc/driver/nvidia/version"] = "NVRM version: x";
  files["proc/driver/nvidia/gpus/0000:41:00.0/information"] = "Model: x";
  EXPECT_THAT(MadeUp(files).only("GPU").command, HasSubstr("nvidia-modprobe"));
  files["dev/nvidiactl"] = files["dev/nvidia0"] = files["dev/nvidia1"] = "";
  EXPECT_EQ(MadeUp(files).only("GPU").text, "2 with device and driver of a version that it does not say");
}

TEST(Doctor, WantsADriverThatCudaTakes) {
  Files files{{"proc/driver/nvidia/gpus/0000:41:00.0/information", "Model: x"}, {"dev/nvidia0", ""}};
  const auto finding = [&files](const std::string& nvrm, const std::string& module) {
    files["proc/driver/nvidia/version"] = nvrm + "\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)";
    files.erase("sys/module/nvidia/version");
    if (!module.empty()) files["sys/module/nvidia/version"] = module;
    return MadeUp(files).only("GPU");
  };
  const auto line = [](const char* kind, const char* version) {
    return fmt::format("NVRM version: NVIDIA UNIX {}  {}  Sun Jul 20 06:04:30 UTC 2025", kind, version);
  };
  constexpr const char* kOpen = "Open Kernel Module for x86_64";
  constexpr const char* kClosed = "x86_64 Kernel Module";
  for (const char* kind : {kOpen, kClosed}) {
    EXPECT_EQ(finding(line(kind, "580.65.06"), "").text, "1 with device and driver 580.65.06");
    const Finding old = finding(line(kind, "535.261.03"), "");
    EXPECT_EQ(old.state, State::hint);
    EXPECT_THAT(old.text, HasSubstr("version 535.261.03, and CUDA 13 needs 580"));
    EXPECT_THAT(old.command, HasSubstr("nvidia-open"));
  }
  EXPECT_EQ(finding("NVRM version: x", "").text, "1 with device and driver of a version that it does not say");
  EXPECT_EQ(finding(line(kClosed, "535.261.03"), "590.44.01").state, State::ok) << "the module itself knows best";
  EXPECT_EQ(finding(line(kClosed, "590.44.01"), "579.99").state, State::hint);
}

}  // namespace
}  // namespace penumbra::cli::doctor
