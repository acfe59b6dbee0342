// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/recognition.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "functions/ids/applications/dns_message.h"
#include "penumbra/bytes.h"

namespace penumbra::ids {
namespace {

constexpr std::uint16_t kDnsPort = 53;

/// A text at the beginning of a direction. `any_case` ignores the case of letters.
struct Beginning {
  std::string_view text;
  Application application;
  bool any_case = false;
};

using enum Application;

constexpr std::array kOfClients = std::to_array<Beginning>({
    {"GET ", http},        {"POST ", http},         {"HEAD ", http},          {"PUT ", http},
    {"DELETE ", http},     {"OPTIONS ", http},      {"TRACE ", http},         {"CONNECT ", http},
    {"PATCH ", http},      {"PROPFIND ", http},     {"PROPPATCH ", http},     {"MKCOL ", http},
    {"COPY ", http},       {"MOVE ", http},         {"LOCK ", http},          {"UNLOCK ", http},
    {"SEARCH ", http},     {"SUBSCRIBE ", http},    {"NOTIFY ", http},        {"REPORT ", http},
    {"GET\t", http},       {"POST\t", http},        {"PRI * HTTP/2", http2},  {"SSH-", ssh},
    {"EHLO ", smtp, true}, {"HELO ", smtp, true},   {"QUIT\r\n", smtp, true}, {"USER ", ftp, true},
    {"PASS ", ftp, true},  {"FEAT\r\n", ftp, true}, {"SYST\r\n", ftp, true},  {"AUTH SSL\r\n", ftp, true},
    {"PORT ", ftp, true},
});
constexpr std::array kOfServers = std::to_array<Beginning>({{"HTTP/0", http}, {"HTTP/1", http}, {"SSH-", ssh}});

bool is_same(char found, char wanted, bool any_case) {
  return found == wanted || (any_case && found >= 'a' && found <= 'z' && found - 'a' + 'A' == wanted);
}

Recognition by_beginning(std::string_view text, std::span<const Beginning> beginnings) {
  Recognition result;
  for (const Beginning& each : beginnings) {
    const std::size_t size = std::min(text.size(), each.text.size());
    const bool fits = std::equal(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), each.text.begin(),
                                 [&](char a, char b) { return is_same(a, b, each.any_case); });
    if (!fits) continue;
    if (size == each.text.size()) return {each.application, false};
    result.needs_more = true;
  }
  return result;
}

/// A record of TLS with a handshake or an alert, or the hello of SSL 2.0.
Recognition by_tls(std::span<const std::uint8_t> bytes, bool to_server) {
  if (bytes.size() < 6) return {none, bytes.empty() || bytes[0] == 0x16 || (to_server && (bytes[0] & 0x80) != 0)};
  const bool is_record = (bytes[0] == 0x16 || bytes[0] == 0x15) && bytes[1] == 3 && bytes[2] <= 4;
  const std::uint16_t length = load_be16(&bytes[3]);
  const std::uint8_t hello = to_server ? 1 : 2;
  if (is_record && length > 0 && length <= 18432 && (bytes[0] == 0x15 ? length == 2 : bytes[5] == hello)) {
    return {tls, false};
  }
  const bool is_ssl2 = to_server && (bytes[0] & 0x80) != 0 && bytes[2] == 1 &&
                       ((bytes[3] == 0 && bytes[4] == 2) || (bytes[3] == 3 && bytes[4] <= 3));
  return {is_ssl2 ? tls : none, false};
}

/// A message of SMB 1, 2 or 3 after the length of NetBIOS.
Recognition by_smb(std::span<const std::uint8_t> bytes) {
  if (bytes.empty() || bytes[0] != 0) return {};
  if (bytes.size() < 8) return {none, true};
  const bool is_known = bytes[4] == 0xFF || bytes[4] == 0xFE || bytes[4] == 0xFD;
  return {is_known && bytes[5] == 'S' && bytes[6] == 'M' && bytes[7] == 'B' ? smb : none, false};
}

Recognition by_dns(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kLength = 2, kHeader = 12;
  if (bytes.size() < kLength + kHeader) return {none, true};
  return {load_be16(bytes.data()) >= kHeader && looks_like_dns(bytes.subspan(kLength)) ? dns : none, false};
}

/// The greeting of a server of SMTP or FTP. Both begin with 220.
Recognition by_greeting(std::string_view text) {
  constexpr std::string_view kReady = "220";
  if (text.size() < kReady.size()) return {none, kReady.starts_with(text)};
  if (!text.starts_with(kReady)) return {};
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  if (line.find("SMTP") != std::string_view::npos) return {smtp, false};
  if (line.find("FTP") != std::string_view::npos || line.starts_with("220 (")) return {ftp, false};
  return {none, end == std::string_view::npos};
}

}  // namespace

Recognition recognize_stream(bool to_server, std::span<const std::uint8_t> bytes, std::uint16_t port) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const Recognition found[] = {
      to_server ? by_beginning(text, kOfClients) : by_beginning(text, kOfServers),
      by_tls(bytes, to_server),
      by_smb(bytes),
      port == kDnsPort ? by_dns(bytes) : Recognition{},
      to_server ? Recognition{} : by_greeting(text),
  };
  Recognition result;
  for (const Recognition& each : found) {
    if (each.application != none) return each;
    result.needs_more |= each.needs_more;
  }
  result.needs_more &= bytes.size() < kMostRecognitionBytes;
  return result;
}

Application recognize_datagram(std::span<const std::uint8_t> bytes, std::uint16_t port) {
  return port == kDnsPort && looks_like_dns(bytes) ? dns : none;
}

}  // namespace penumbra::ids
