// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/buffer.h"

#include <array>

namespace penumbra::ids {
namespace {

constexpr BufferInfo header(Buffer buffer, std::string_view name) {
  return {buffer, name, "", "", 0, BufferOrigin::packet, Application::none};
}
constexpr BufferInfo http(Buffer buffer, std::string_view name, std::string_view old_name, std::string_view modifier,
                          char pcre = 0) {
  return {buffer, name, old_name, modifier, pcre, BufferOrigin::application, Application::http};
}
constexpr BufferInfo of(Application application, Buffer buffer, std::string_view name, std::string_view old_name) {
  return {buffer, name, old_name, "", 0, BufferOrigin::application, application};
}

using enum Buffer;

constexpr std::array kBuffers = std::to_array<BufferInfo>({
    {payload, "pkt_data", "", "", 0, BufferOrigin::payload, Application::none},
    {raw_payload, "", "", "rawbytes", 'B', BufferOrigin::payload, Application::none},
    header(ipv4_header, "ipv4.hdr"),
    header(ipv6_header, "ipv6.hdr"),
    header(tcp_header, "tcp.hdr"),
    header(udp_header, "udp.hdr"),
    header(icmpv4_header, "icmpv4.hdr"),
    header(icmpv6_header, "icmpv6.hdr"),
    http(http_uri, "http.uri", "", "http_uri", 'U'),
    http(http_raw_uri, "http.uri.raw", "", "http_raw_uri", 'I'),
    http(http_method, "http.method", "", "http_method", 'M'),
    http(http_protocol, "http.protocol", "http_protocol", ""),
    http(http_request_line, "http.request_line", "http_request_line", ""),
    http(http_response_line, "http.response_line", "http_response_line", ""),
    http(http_request_body, "http.request_body", "", "http_client_body", 'P'),
    http(http_response_body, "http.response_body", "", "http_server_body", 'Q'),
    http(http_header, "http.header", "", "http_header", 'H'),
    http(http_raw_header, "http.header.raw", "", "http_raw_header", 'D'),
    http(http_request_header, "http.request_header", "", ""),
    http(http_response_header, "http.response_header", "", ""),
    http(http_cookie, "http.cookie", "", "http_cookie", 'C'),
    http(http_user_agent, "http.user_agent", "", "http_user_agent", 'V'),
    http(http_host, "http.host", "", "http_host", 'W'),
    http(http_raw_host, "http.host.raw", "", "http_raw_host", 'Z'),
    http(http_accept, "http.accept", "http_accept", ""),
    http(http_accept_language, "http.accept_lang", "http_accept_lang", ""),
    http(http_accept_encoding, "http.accept_enc", "http_accept_enc", ""),
    http(http_referer, "http.referer", "http_referer", ""),
    http(http_connection, "http.connection", "http_connection", ""),
    http(http_content_type, "http.content_type", "http_content_type", ""),
    http(http_content_length, "http.content_len", "http_content_len", ""),
    http(http_location, "http.location", "", ""),
    http(http_server, "http.server", "", ""),
    http(http_start, "http.start", "http_start", ""),
    http(http_header_names, "http.header_names", "http_header_names", ""),
    http(http_status_code, "http.stat_code", "", "http_stat_code", 'S'),
    http(http_status_message, "http.stat_msg", "", "http_stat_msg", 'Y'),
    of(Application::none, file_data, "file.data", "file_data"),
    of(Application::none, file_name, "file.name", ""),
    of(Application::dns, dns_query, "dns.query", "dns_query"),
    of(Application::tls, tls_sni, "tls.sni", "tls_sni"),
    of(Application::tls, tls_subject, "tls.cert_subject", "tls_cert_subject"),
    of(Application::tls, tls_issuer, "tls.cert_issuer", "tls_cert_issuer"),
    of(Application::tls, tls_serial, "tls.cert_serial", "tls_cert_serial"),
    of(Application::tls, tls_fingerprint, "tls.cert_fingerprint", "tls_cert_fingerprint"),
    of(Application::tls, tls_certificates, "tls.certs", ""),
    of(Application::tls, ja3_hash, "ja3.hash", "ja3_hash"),
    of(Application::tls, ja3_string, "ja3.string", "ja3_string"),
    of(Application::tls, ja3s_hash, "ja3s.hash", ""),
    of(Application::tls, ja3s_string, "ja3s.string", ""),
    of(Application::ssh, ssh_protocol, "ssh.proto", "ssh_proto"),
    of(Application::ssh, ssh_software, "ssh.software", "ssh_software"),
    of(Application::smb, smb_share, "smb.share", ""),
    of(Application::smb, smb_named_pipe, "smb.named_pipe", ""),
});

constexpr bool is_ordered() {
  for (std::size_t i = 0; i < kBuffers.size(); ++i) {
    if (static_cast<std::size_t>(kBuffers[i].buffer) != i) return false;
  }
  return true;
}
static_assert(is_ordered());

}  // namespace

std::span<const BufferInfo> buffers() {
  return kBuffers;
}

const BufferInfo& info_of(Buffer buffer) {
  return kBuffers[static_cast<std::size_t>(buffer)];
}

}  // namespace penumbra::ids
