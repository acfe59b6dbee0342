// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penumbra::ids {

/// The protocol of the network or transport layer that a rule wants.
enum class Transport : std::uint8_t { ip, ipv4, ipv6, tcp, udp, icmp, icmpv4, icmpv6, sctp };
/// TCP rules see packets, the stream, or both.
enum class TcpView : std::uint8_t { both, packets, stream };
enum class Application : std::uint8_t { none, http, http1, http2, dns, tls, ssh, smtp, ftp, ftp_data, smb };
inline constexpr std::size_t kApplications = static_cast<std::size_t>(Application::smb) + 1;

struct Protocol {
  Transport transport = Transport::ip;
  TcpView view = TcpView::both;
  Application application = Application::none;
};

/// Returns the protocol of a rule's header, or nothing for an unknown name.
std::optional<Protocol> find_protocol(std::string_view name);
/// Returns true for protocols that Suricata knows and this program does not.
bool is_unsupported_protocol(std::string_view name);
std::vector<std::string> protocol_names();
std::string_view to_string(Application application);

/// Returns true if packets of the transport protocol `number` (IANA) can match a rule for `transport`.
bool can_carry(Transport transport, std::uint8_t number);

}  // namespace penumbra::ids
