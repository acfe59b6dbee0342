// SPDX-License-Identifier: Apache-2.0
//
// Defines faces: the peers of the forwarder with their transports (NFD Developer's Guide, "Face System"). Faces are
// written as NFD's face URIs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "penumbra/function.h"
#include "penumbra/ip.h"

namespace penumbra::ndn {

inline constexpr std::uint16_t kUdpPort = 6363;
inline constexpr MacAddress kMulticastGroup{0x01005E0017AA};  ///< the group of NFD

enum class FaceLink : std::uint8_t { ethernet, udp4, udp6 };

/// Represents an end of a face: `ether://[MAC]`, `udp4://ADDRESS[:PORT]`, `udp6://[ADDRESS][:PORT]`.
struct FaceUri {
  FaceLink link = FaceLink::ethernet;
  MacAddress mac;              ///< Ethernet only
  Ipv6Address address;         ///< UDP only; an IPv4 address is in the low 32 bits
  std::uint16_t udp_port = 0;  ///< UDP only; 0 if the URI has no port

  auto operator<=>(const FaceUri&) const = default;
  static std::optional<FaceUri> parse(std::string_view text);
};
std::string to_string(const FaceUri& uri);

struct Face {
  std::string name;
  std::uint16_t port = 0;  ///< index of the port
  FaceUri remote;          ///< a remote end without UDP port may send from any port
  FaceUri local;           ///< UDP only; always has a UDP port
  MacAddress mac;          ///< destination MAC address of frames

  bool operator==(const Face&) const = default;
  /// True if any station may receive the packets. No Nacks are sent on such a face (NFD's multi-access links).
  bool is_multicast() const { return mac.is_multicast(); }
};

/// Reads the list `faces:`. Throws InputError.
std::vector<Face> read_faces(const ConfigNode& list, std::span<const PortInfo> ports);

/// Finds the face of a received packet.
class FaceTable {
 public:
  explicit FaceTable(std::vector<Face> faces);

  const std::vector<Face>& faces() const { return faces_; }
  /// Returns the face for frames from a station to the port itself or to the group.
  std::optional<std::uint16_t> find(std::uint16_t port, MacAddress source, bool to_group) const;
  /// Returns the face for datagrams between these two ends.
  std::optional<std::uint16_t> find(std::uint16_t port, const FaceUri& local, const FaceUri& remote) const;
  /// True if a face has this local end.
  bool has_local(std::uint16_t port, const FaceUri& local) const { return locals_.contains({port, local, {}}); }

 private:
  struct Key {
    std::uint16_t port = 0;
    FaceUri local, remote;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  std::optional<std::uint16_t> find(const Key& key) const;

  std::vector<Face> faces_;
  std::unordered_map<Key, std::uint16_t, Hash> by_ends_;
  std::unordered_set<Key, Hash> locals_;
};

}  // namespace penumbra::ndn
