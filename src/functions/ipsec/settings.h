// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "control/xfrm/keys.h"
#include "control/xfrm/model.h"
#include "penumbra/config_node.h"
#include "penumbra/function.h"

namespace penumbra::ipsec {

/// SAs and policies of files. The keys are in `store`.
struct Files {
  control::xfrm::KeyStore store;
  std::vector<control::xfrm::Sa> states;
  std::vector<control::xfrm::Policy> policies;
};

struct Settings {
  static constexpr std::size_t kDefaultSas = 1024, kMostSas = std::size_t{1} << 20;
  static constexpr std::uint16_t kLeastMtu = 1280, kDefaultMtu = 1500;

  std::filesystem::path states, policies;  ///< Empty with `follow`.
  std::filesystem::path socket;            ///< Socket of the keeper, with `follow`.
  std::filesystem::path marks;
  bool accepts_lost_marks = false;
  std::size_t sas = kDefaultSas;
  std::uint16_t mtu = kDefaultMtu;  ///< Longest sealed packet, bytes of IP.
  bool fragments_first = true;      ///< Packets that are too long for a tunnel are fragmented before they are sealed.
  std::map<std::string, std::uint32_t> interfaces;  ///< `if_id` of each port that is an interface of IPsec.

  bool follows() const { return !socket.empty(); }
};

/// Reads the keys of the function. Throws InputError.
Settings read_settings(const ConfigNode& config);
/// Throws InputError if an interface is no port. `config` is the value of `interfaces`.
void check_interfaces(const Settings& settings, const ConfigNode& config, std::span<const PortInfo> ports);
/// Reads the files of the settings. Throws InputError.
std::shared_ptr<const Files> read_files(const Settings& settings);
/// Copies an SA and its keys.
control::xfrm::Sa copy_of(const control::xfrm::Sa& sa, control::xfrm::KeyStore& store);
/// Throws InputError if an SA or a policy is there twice, or a policy has more templates than the function can follow.
void check_together(const Files& files, const Settings& settings);
/// Returns a line for each SA and each policy that is allowed but seldom meant. Examples are a legacy algorithm
/// (RFC 8221), a key of two SAs, and a policy without an SA.
std::vector<std::string> warnings_of(const Files& files, const Settings& settings);

}  // namespace penumbra::ipsec
