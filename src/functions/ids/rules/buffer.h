// SPDX-License-Identifier: Apache-2.0
//
// The buffers that contents and other payload keywords of a rule inspect.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "functions/ids/rules/protocol.h"

namespace penumbra::ids {

enum class Buffer : std::uint8_t {
  payload,      ///< The payload of the packet or the stream.
  raw_payload,  ///< The payload of the packet, before any decoding (`rawbytes`).
  ipv4_header,
  ipv6_header,
  tcp_header,
  udp_header,
  icmpv4_header,
  icmpv6_header,
  http_uri,
  http_raw_uri,
  http_method,
  http_protocol,
  http_request_line,
  http_response_line,
  http_request_body,
  http_response_body,
  http_header,
  http_raw_header,
  http_request_header,
  http_response_header,
  http_cookie,
  http_user_agent,
  http_host,
  http_raw_host,
  http_accept,
  http_accept_language,
  http_accept_encoding,
  http_referer,
  http_connection,
  http_content_type,
  http_content_length,
  http_location,
  http_server,
  http_start,
  http_header_names,
  http_status_code,
  http_status_message,
  file_data,
  file_name,
  dns_query,
  tls_sni,
  tls_subject,
  tls_issuer,
  tls_serial,
  tls_fingerprint,
  tls_certificates,
  ja3_hash,
  ja3_string,
  ja3s_hash,
  ja3s_string,
  ssh_protocol,
  ssh_software,
  smb_share,
  smb_named_pipe,
};

/// Where the bytes of a buffer come from.
enum class BufferOrigin : std::uint8_t { packet, payload, application };

struct BufferInfo {
  Buffer buffer;
  std::string_view name;      ///< The sticky buffer's name.
  std::string_view old_name;  ///< Its name before the dotted names; may be empty.
  std::string_view modifier;  ///< The keyword that moves the last content to the buffer; may be empty.
  char pcre = 0;              ///< The letter of pcre that names the buffer, or 0.
  BufferOrigin origin = BufferOrigin::application;
  Application application = Application::none;  ///< The protocol that fills the buffer; none: any.
};

/// All buffers, in the order of the enumeration.
std::span<const BufferInfo> buffers();
const BufferInfo& info_of(Buffer buffer);

}  // namespace penumbra::ids
