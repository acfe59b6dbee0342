// SPDX-License-Identifier: Apache-2.0
//
// Implements an oracle for tests: a slow and simple switch that works on lists and bytes. The oracle shares no code
// with the switch under test. The only limit of the oracle is the number of stations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "testing/packet.h"

namespace penumbra::l2::oracle {

using function_testing::Bytes;
/// Holds the permitted result for a frame.
using Judgement = function_testing::Fate;
using Address = std::vector<std::uint8_t>;  ///< six bytes

struct Port {
  unsigned native = 1;  ///< 0: no native VLAN
  std::set<unsigned> vlans{1};
  Address mac{};  // NOLINT(readability-redundant-member-init): for who leaves it out of an initializer
  std::size_t mtu = 1500;
};

struct Network {
  using Key = std::pair<unsigned, Address>;  ///< VLAN and address

  std::vector<Port> ports;
  std::map<Key, unsigned> stations;  ///< ports of the learned stations
  std::map<Key, unsigned> statics;
  std::size_t most = 65536;

  /// Processes a frame and learns its source.
  Judgement take(unsigned from, const Bytes& frame) {
    if (frame.size() < 14) return {"runt", {}, 0};
    const Port& ingress = ports[from];
    const Address to(frame.begin(), frame.begin() + 6), source(frame.begin() + 6, frame.begin() + 12);
    const bool tagged = frame[12] == 0x81 && frame[13] == 0x00;
    if (tagged && frame.size() < 18) return {"runt", {}, 0};
    if (source[0] % 2 == 1 || source == Address(6, 0)) return {"bad_source", {}, 0};
    if (Address(to.begin(), to.begin() + 5) == Address{0x01, 0x80, 0xC2, 0, 0} && to[5] < 16) {
      return {"reserved_group", {}, 0};
    }
    unsigned vlan = tagged ? frame[14] % 16 * 256U + frame[15] : 0;
    const unsigned priority = tagged ? frame[14] / 16 : 0;
    if (vlan == 0 && ingress.native == 0) return {"untagged", {}, 0};
    if (vlan == 0) vlan = ingress.native;
    if (!ingress.vlans.contains(vlan)) return {"vlan_not_allowed", {}, 0};
    if (to == ingress.mac) return {"local", {}, 0};

    if (const auto fixed = statics.find({vlan, source}); fixed != statics.end() && fixed->second != from) {
      return {"static_moved", {}, 0};
    }
    const std::map<Key, unsigned> before = stations;
    if (!statics.contains({vlan, source})) learn({vlan, source}, from);

    Bytes bare = frame;  // without a tag
    if (tagged) bare.erase(bare.begin() + 12, bare.begin() + 16);
    const std::size_t payload = bare.size() - 14;
    const auto leaving = [&](unsigned port) {
      if (ports[port].native == vlan) return bare;
      Bytes with_tag = bare;
      const Bytes tag{0x81, 0x00, static_cast<std::uint8_t>(priority * 16 + vlan / 256),
                      static_cast<std::uint8_t>(vlan % 256)};
      with_tag.insert(with_tag.begin() + 12, tag.begin(), tag.end());
      return with_tag;
    };
    const auto known = place(before, {vlan, to});
    if (to[0] % 2 == 0 && known >= 0 && ports[static_cast<unsigned>(known)].vlans.contains(vlan)) {
      const auto port = static_cast<unsigned>(known);
      if (port == from) return {"same_port", {}, 0};
      if (payload > ports[port].mtu) return {"too_long", {}, 0};
      return {"", {{port, leaving(port)}}, 0};
    }
    Judgement judgement;
    for (unsigned port = 0; port < ports.size(); ++port) {
      if (port == from || !ports[port].vlans.contains(vlan)) continue;
      if (payload <= ports[port].mtu) {
        judgement.sent[port] = leaving(port);
      } else {
        ++judgement.too_long;
      }
    }
    if (judgement.sent.empty()) return {judgement.too_long > 0 ? "too_long" : "no_egress", {}, 0};
    return judgement;
  }

 private:
  void learn(const Key& key, unsigned from) {
    if (stations.contains(key) || stations.size() + statics.size() < most) stations[key] = from;
  }
  int place(const std::map<Key, unsigned>& learned, const Key& key) const {
    if (const auto fixed = statics.find(key); fixed != statics.end()) return static_cast<int>(fixed->second);
    const auto found = learned.find(key);
    return found == learned.end() ? -1 : static_cast<int>(found->second);
  }
};

}  // namespace penumbra::l2::oracle
