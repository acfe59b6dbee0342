// SPDX-License-Identifier: Apache-2.0
#include "io/veth_peer.h"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "io/ethtool.h"

namespace penumbra::io {
namespace {

bool is_veth(const std::string& interface) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  return ask_ethtool(interface, info) && std::string_view(info.driver) == "veth";
}

/// Attaches the program "r0 = XDP_PASS; exit". Returns the link, whose closing detaches the program, or -errno.
int attach(int interface) {
  std::array<bpf_insn, 2> program{};
  program[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
  program[0].imm = XDP_PASS;
  program[1].code = BPF_JMP | BPF_EXIT;
  const int result =
      bpf_prog_load(BPF_PROG_TYPE_XDP, "penumbra_pass", "Apache-2.0", program.data(), program.size(), nullptr);
  if (result < 0) return result;
  const FileDescriptor loaded(result);
  bpf_link_create_opts options{};
  options.sz = sizeof options;
  options.flags = XDP_FLAGS_DRV_MODE;
  return bpf_link_create(loaded.get(), interface, BPF_XDP, &options);
}

}  // namespace

bool is_virtual_interface(const std::string& name) {
  std::error_code ignored;
  const auto folder = std::filesystem::path("/sys/class/net") / name;
  return std::filesystem::exists(folder, ignored) && !std::filesystem::exists(folder / "device", ignored);
}

VethPeer::VethPeer(const std::string& interface) {
  if (!is_veth(interface)) return;
  const int result = attach(static_cast<int>(if_nametoindex(interface.c_str())));
  if (result >= 0) {
    link_ = FileDescriptor(result);
    return;
  }
  failure_ = fmt::format(
      "no XDP program can be attached to {} ({}), so its peer may send frames longer than the MTU, which are lost "
      "here; "
      "on the peer's side: ethtool -K PEER tso off gso off tx off",
      interface, std::strerror(-result));
}

}  // namespace penumbra::io
