// SPDX-License-Identifier: Apache-2.0
//
// Faces: whom the forwarder exchanges packets with, and how (NFD Developer's Guide, "Face System"). Named as NFD's face
// URIs name them.
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
inline constexpr MacAddress kMulticastGroup{0x01005E0017AA};  ///< NFD's

enum class FaceLink : std::uint8_t { ethernet, udp4, udp6 };

/// One end of a face: `ether://[MAC]`, `udp4://ADDRESS[:PORT]`, `udp6://[ADDRESS][:PORT]`.
struct FaceUri {
  FaceLink link = FaceLink::ethernet;
  MacAddress mac;              ///< ethernet
  Ipv6Address address;         ///< UDP; of IPv4 the low 32 bits
  std::uint16_t udp_port = 0;  ///< UDP; 0 if it says none

  auto operator<=>(const FaceUri&) const = default;
  static std::optional<FaceUri> parse(std::string_view text);
};
std::string to_string(const FaceUri& uri);

struct Face {
  std::string name;
  std::uint16_t port = 0;  ///< index of the port
  FaceUri remote;          ///< without a UDP port: one that may send from any
  FaceUri local;           ///< UDP: with its port
  MacAddress mac;          ///< where frames go

  bool operator==(const Face&) const = default;
  /// Anybody may hear what is sent: nobody is nacked there (NFD's multi-access links).
  bool is_multicast() const { return mac.is_multicast(); }
};

/// The list `faces:`. Throws InputError.
std::vector<Face> read_faces(const ConfigNode& list, std::span<const PortInfo> ports);

/// Which face a packet came by.
class FaceTable {
 public:
  explicit FaceTable(std::vector<Face> faces);

  const std::vector<Face>& faces() const { return faces_; }
  /// The face of frames from a station to the port itself, or to the group.
  std::optional<std::uint16_t> find(std::uint16_t port, MacAddress source, bool to_group) const;
  /// The face of datagrams between these.
  std::optional<std::uint16_t> find(std::uint16_t port, const FaceUri& local, const FaceUri& remote) const;
  /// Whether some face has this end.
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
