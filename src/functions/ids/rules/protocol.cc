// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/protocol.h"

#include <algorithm>
#include <array>

#include "penumbra/packet.h"

namespace penumbra::ids {
namespace {

struct NamedProtocol {
  std::string_view name;
  Protocol protocol;
};

constexpr Protocol application(Transport transport, Application kind) {
  return {transport, TcpView::both, kind};
}

constexpr std::array kProtocols = std::to_array<NamedProtocol>({
    {"ip", {Transport::ip}},
    {"ipv4", {Transport::ipv4}},
    {"ip4", {Transport::ipv4}},
    {"ipv6", {Transport::ipv6}},
    {"ip6", {Transport::ipv6}},
    {"tcp", {Transport::tcp}},
    {"tcp-pkt", {Transport::tcp, TcpView::packets}},
    {"tcp-stream", {Transport::tcp, TcpView::stream}},
    {"udp", {Transport::udp}},
    {"icmp", {Transport::icmp}},
    {"icmpv4", {Transport::icmpv4}},
    {"icmp4", {Transport::icmpv4}},
    {"icmpv6", {Transport::icmpv6}},
    {"icmp6", {Transport::icmpv6}},
    {"sctp", {Transport::sctp}},
    {"http", application(Transport::tcp, Application::http)},
    {"http1", application(Transport::tcp, Application::http1)},
    {"http2", application(Transport::tcp, Application::http2)},
    {"dns", application(Transport::ip, Application::dns)},
    {"tls", application(Transport::tcp, Application::tls)},
    {"ssl", application(Transport::tcp, Application::tls)},
    {"ssh", application(Transport::tcp, Application::ssh)},
    {"smtp", application(Transport::tcp, Application::smtp)},
    {"ftp", application(Transport::tcp, Application::ftp)},
    {"ftp-data", application(Transport::tcp, Application::ftp_data)},
    {"smb", application(Transport::tcp, Application::smb)},
});

constexpr std::array kUnsupported =
    std::to_array<std::string_view>({"bittorrent-dht", "dcerpc", "dhcp",      "dnp3", "enip",   "ether", "arp", "ike",
                                     "ikev2",          "imap",   "krb5",      "ldap", "modbus", "mqtt",  "nfs", "ntp",
                                     "pgsql",          "pkthdr", "pop3",      "quic", "rdp",    "rfb",   "sip", "snmp",
                                     "telnet",         "tftp",   "websocket", "doh2", "mdns"});

}  // namespace

std::optional<Protocol> find_protocol(std::string_view name) {
  const auto found = std::ranges::find(kProtocols, name, &NamedProtocol::name);
  if (found == kProtocols.end()) return std::nullopt;
  return found->protocol;
}

bool is_unsupported_protocol(std::string_view name) {
  return std::ranges::find(kUnsupported, name) != kUnsupported.end();
}

std::vector<std::string> protocol_names() {
  std::vector<std::string> names;
  names.reserve(kProtocols.size());
  for (const NamedProtocol& named : kProtocols) names.emplace_back(named.name);
  return names;
}

std::string_view to_string(Application application) {
  constexpr std::array kNames = std::to_array<std::string_view>(
      {"none", "http", "http1", "http2", "dns", "tls", "ssh", "smtp", "ftp", "ftp-data", "smb"});
  return kNames[static_cast<std::size_t>(application)];
}

bool can_carry(Transport transport, std::uint8_t number) {
  switch (transport) {
    case Transport::ip:
    case Transport::ipv4:
    case Transport::ipv6:
      return true;
    case Transport::tcp:
      return number == ip_protocol::kTcp;
    case Transport::udp:
      return number == ip_protocol::kUdp;
    case Transport::icmp:
      return number == ip_protocol::kIcmp || number == ip_protocol::kIcmpv6;
    case Transport::icmpv4:
      return number == ip_protocol::kIcmp;
    case Transport::icmpv6:
      return number == ip_protocol::kIcmpv6;
    case Transport::sctp:
      return number == ip_protocol::kSctp;
  }
  return false;
}

}  // namespace penumbra::ids
