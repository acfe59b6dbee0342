// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/face.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "penumbra/errors.h"

namespace penumbra::ndn {
namespace {

constexpr std::string_view kEther = "ether://[", kUdp4 = "udp4://", kUdp6 = "udp6://[";
constexpr std::size_t kMostFaces = 65'000;

/// Parses `:PORT` or an empty text.
std::optional<std::uint16_t> parse_udp_port(std::string_view text) {
  if (text.empty()) return 0;
  std::uint16_t port = 0;
  const auto [stop, failure] = std::from_chars(text.data() + 1, text.data() + text.size(), port);
  const bool valid = text[0] == ':' && failure == std::errc{} && stop == text.data() + text.size() && port != 0;
  return valid ? std::optional(port) : std::nullopt;
}

FaceUri read_uri(const ConfigNode& node) {
  const std::string text = node.text();
  const auto uri = FaceUri::parse(text);
  if (uri) return *uri;
  throw node.error("expected ether://[MAC], udp4://ADDRESS[:PORT] or udp6://[ADDRESS][:PORT], found " + quote(text));
}

template <class Family>
std::optional<Ipv6Address> local_address(const PortInfo& port, const typename Family::Address& remote) {
  for (const auto& own : port.addresses_of<Family>()) {
    if (!own.network.contains(remote)) continue;
    if constexpr (std::is_same_v<Family, Ipv4>) {
      return Ipv6Address{0, own.address.value};
    } else {
      return own.address;
    }
  }
  return std::nullopt;
}

/// Returns the value of the key `local`. Without the key, returns the port's own address in the network of the remote
/// end.
FaceUri read_local(const ConfigNode& config, const PortInfo& port, const FaceUri& remote) {
  FaceUri local{remote.link, {}, {}, kUdpPort};
  const ConfigNode node = config.get("local");
  if (node.present()) {
    local = read_uri(node);
    if (local.link != remote.link) throw node.error("it is not of the same kind as 'remote'");
    if (local.udp_port == 0) local.udp_port = kUdpPort;
    return local;
  }
  const bool four = remote.link == FaceLink::udp4;
  const auto address = four ? local_address<Ipv4>(port, {static_cast<std::uint32_t>(remote.address.low)})
                            : local_address<Ipv6>(port, remote.address);
  if (!address) {
    throw config.error("'local' is missing: the port " + quote(port.name) +
                       " has no address in a network of the remote one");
  }
  local.address = *address;
  return local;
}

MacAddress read_mac(const ConfigNode& config) {
  const ConfigNode node = config.at("mac");
  const std::string text = node.text();
  const auto mac = parse_mac_address(text);
  if (!mac || mac->is_multicast()) throw node.error("expected a station's MAC address, found " + quote(text));
  return *mac;
}

Face read_face(const ConfigNode& config, std::span<const PortInfo> ports) {
  config.require_map({"name", "port", "remote", "local", "mac"});
  Face face;
  const ConfigNode name = config.at("name");
  face.name = name.text();
  if (face.name.empty() || face.name.find_first_of(" \t#/\r\n") != std::string::npos) {
    throw name.error("a face's name is one word without '/' and '#'");
  }
  const ConfigNode port_node = config.at("port");
  const std::string port_name = port_node.text();
  const auto port = std::ranges::find(ports, port_name, &PortInfo::name);
  if (port == ports.end()) {
    std::vector<std::string> names;
    for (const PortInfo& each : ports) names.push_back(each.name);
    throw port_node.error("there is no port " + quote(port_name) + "; " + did_you_mean_or_list(port_name, names));
  }
  face.port = port->index;
  const ConfigNode remote = config.at("remote");
  face.remote = read_uri(remote);
  if (face.remote.link != FaceLink::ethernet) {
    face.local = read_local(config, *port, face.remote);
    if (face.local.address == face.remote.address) throw remote.error("it is the address of this end, too");
    face.mac = read_mac(config);
    if (face.mac == port->mac) throw config.get("mac").error("it is the MAC address of the port " + quote(port_name));
    return face;
  }
  for (const char* key : {"local", "mac"}) {
    const ConfigNode node = config.get(key);
    if (node.present()) throw node.error("a face over Ethernet has none but its port's");
  }
  face.mac = face.remote.mac;
  if (face.mac == port->mac) throw remote.error("it is the MAC address of the port " + quote(port_name));
  if (face.is_multicast() && face.mac != kMulticastGroup) {
    throw remote.error("expected a station, or the group " + penumbra::to_string(kMulticastGroup));
  }
  return face;
}

}  // namespace

std::optional<FaceUri> FaceUri::parse(std::string_view text) {
  if (text.starts_with(kUdp4)) {
    const std::string_view rest = text.substr(kUdp4.size());
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const auto address = parse_ipv4_address(rest.substr(0, colon));
    const auto port = parse_udp_port(rest.substr(colon));
    if (!address || !address->is_unicast() || !port) return std::nullopt;
    return FaceUri{FaceLink::udp4, {}, {0, address->value}, *port};
  }
  const bool is_ether = text.starts_with(kEther);
  if (!is_ether && !text.starts_with(kUdp6)) return std::nullopt;
  const std::string_view rest = text.substr(is_ether ? kEther.size() : kUdp6.size());
  const std::size_t bracket = rest.find(']');
  if (bracket == std::string_view::npos) return std::nullopt;
  const std::string_view inside = rest.substr(0, bracket), behind = rest.substr(bracket + 1);
  if (is_ether) {
    const auto mac = parse_mac_address(inside);
    if (!mac || !behind.empty()) return std::nullopt;
    return FaceUri{FaceLink::ethernet, *mac, {}, 0};
  }
  const auto address = parse_ipv6_address(inside);
  const auto port = parse_udp_port(behind);
  if (!address || !address->is_unicast() || !port) return std::nullopt;
  return FaceUri{FaceLink::udp6, {}, *address, *port};
}

std::string to_string(const FaceUri& uri) {
  if (uri.link == FaceLink::ethernet) return std::string(kEther) + penumbra::to_string(uri.mac) + "]";
  const std::string port = uri.udp_port == 0 ? "" : ":" + std::to_string(uri.udp_port);
  if (uri.link == FaceLink::udp6) return std::string(kUdp6) + penumbra::to_string(uri.address) + "]" + port;
  return std::string(kUdp4) + penumbra::to_string(Ipv4Address{static_cast<std::uint32_t>(uri.address.low)}) + port;
}

std::vector<Face> read_faces(const ConfigNode& list, std::span<const PortInfo> ports) {
  std::vector<Face> faces;
  for (const ConfigNode& node : list.list()) {
    faces.push_back(read_face(node, ports));
    const Face& last = faces.back();
    for (auto face = faces.begin(); face != faces.end() - 1; ++face) {
      if (face->name == last.name) throw node.error("another face is called " + quote(last.name));
      if (face->port == last.port && face->local == last.local && face->remote == last.remote) {
        throw node.error("the face " + quote(face->name) + " has the same two ends");
      }
    }
    if (faces.size() > kMostFaces) throw node.error("there are more than " + std::to_string(kMostFaces) + " faces");
  }
  if (faces.empty()) throw list.error("expected at least one face");
  return faces;
}

FaceTable::FaceTable(std::vector<Face> faces) : faces_(std::move(faces)) {
  for (const Face& face : faces_) {
    const auto index = static_cast<std::uint16_t>(&face - faces_.data());
    by_ends_.emplace(Key{face.port, face.local, face.remote}, index);
    if (face.remote.link != FaceLink::ethernet) locals_.insert({face.port, face.local, {}});
  }
}

std::optional<std::uint16_t> FaceTable::find(std::uint16_t port, MacAddress source, bool to_group) const {
  return find({port, {}, {FaceLink::ethernet, to_group ? kMulticastGroup : source, {}, 0}});
}

std::optional<std::uint16_t> FaceTable::find(std::uint16_t port, const FaceUri& local, const FaceUri& remote) const {
  const auto exact = find({port, local, remote});
  if (exact) return exact;
  FaceUri any = remote;
  any.udp_port = 0;
  return find({port, local, any});
}

std::optional<std::uint16_t> FaceTable::find(const Key& key) const {
  const auto found = by_ends_.find(key);
  return found == by_ends_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t FaceTable::Hash::operator()(const Key& key) const {
  std::uint64_t hash = key.port;
  for (const FaceUri& end : {key.local, key.remote}) {
    hash = detail::mix(hash + end.mac.value + end.address.high);
    hash = detail::mix(hash + end.address.low + (std::uint64_t{end.udp_port} << 48));
  }
  return hash;
}

}  // namespace penumbra::ndn
