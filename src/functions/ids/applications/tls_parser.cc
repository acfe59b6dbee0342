// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/tls_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "functions/ids/applications/digests.h"
#include "functions/ids/rules/packet_test.h"
#include "penumbra/bytes.h"

namespace penumbra::ids {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint8_t kChangeCipherSpec = 20, kAlert = 21, kHandshake = 22, kApplicationData = 23, kHeartbeat = 24;
constexpr std::uint8_t kClientHello = 1, kServerHello = 2, kCertificate = 11, kServerKeyExchange = 12,
                       kClientKeyExchange = 16;
constexpr std::uint16_t kServerName = 0, kGroups = 10, kPointFormats = 11, kSupportedVersions = 43;
constexpr std::uint16_t kSsl2 = 2, kTls13 = 0x0304;

/// Takes parts of a message. A part that exceeds the message is empty, and the reader fails.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}

  Bytes take(std::size_t size) {
    if (size > bytes_.size()) {
      failed_ = true;
      bytes_ = {};
      return {};
    }
    const Bytes part = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return part;
  }
  std::size_t number(std::size_t size) {
    std::size_t value = 0;
    for (const std::uint8_t byte : take(size)) value = value << 8 | byte;
    return value;
  }
  std::uint16_t word() { return static_cast<std::uint16_t>(number(2)); }
  /// Takes a vector whose length has `size` bytes.
  Bytes vector(std::size_t size) { return take(number(size)); }
  bool is_empty() const { return bytes_.empty(); }
  bool failed() const { return failed_; }

 private:
  Bytes bytes_;
  bool failed_ = false;
};

/// GREASE values (RFC 8701), which JA3 leaves out.
bool is_grease(std::uint16_t value) {
  return (value & 0x0F0F) == 0x0A0A && value >> 8 == (value & 0xFF);
}

void add_number(std::string& list, std::uint16_t value) {
  if (is_grease(value)) return;
  if (!list.empty()) list += '-';
  list += fmt::format("{}", value);
}

std::string hash_of(const std::string& text) {
  std::string hash;
  for (const std::uint8_t byte : md5({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()})) {
    hash += fmt::format("{:02x}", byte);
  }
  return hash;
}

}  // namespace

void TlsSession::fill(BufferTable& buffers) const {
  const auto set = [&](Buffer buffer, std::string_view text) {
    buffers.set(buffer, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  buffers.clear();
  if (has_sni) set(Buffer::tls_sni, sni);
  if (!ja3.empty()) {
    set(Buffer::ja3_string, ja3);
    set(Buffer::ja3_hash, ja3_hash);
  }
  if (!ja3s.empty()) {
    set(Buffer::ja3s_string, ja3s);
    set(Buffer::ja3s_hash, ja3s_hash);
  }
  if (!has_certificate) return;
  set(Buffer::tls_subject, certificate.subject);
  set(Buffer::tls_issuer, certificate.issuer);
  set(Buffer::tls_serial, certificate.serial);
  set(Buffer::tls_fingerprint, certificate.fingerprint);
  set(Buffer::tls_certificates, der);
}

std::string TlsSession::version_name() const {
  switch (version != 0 ? version : client_version) {
    case 0:
      return "UNDETERMINED";
    case kSsl2:
      return "SSLv2";
    case 0x0300:
      return "SSLv3";
    case 0x0301:
      return "TLSv1";
    case 0x0302:
      return "TLS 1.1";
    case 0x0303:
      return "TLS 1.2";
    case kTls13:
      return "TLS 1.3";
    default:
      return fmt::format("0x{:04x}", version != 0 ? version : client_version);
  }
}

std::uint8_t TlsSession::version_bit() const {
  switch (version != 0 ? version : client_version) {
    case kSsl2:
      return TlsVersionTest::kSsl2;
    case 0x0300:
      return TlsVersionTest::kSsl3;
    case 0x0301:
      return TlsVersionTest::kTls10;
    case 0x0302:
      return TlsVersionTest::kTls11;
    case 0x0303:
      return TlsVersionTest::kTls12;
    case kTls13:
      return TlsVersionTest::kTls13;
    default:
      return 0;
  }
}

void TlsParser::report(bool to_server, ApplicationConsumer& consumer) {
  session_.fill(buffers_);
  consumer.on_message({Application::tls, to_server, 0, buffers_});
}

void TlsParser::finish(ApplicationConsumer& consumer) {
  session_.is_over = true;
  if (is_logged_ || (session_.client_version == 0 && session_.version == 0)) return;
  is_logged_ = true;
  consumer.on_tls(session_);
}

void TlsParser::give_up(bool to_server, ApplicationEvent event, ApplicationConsumer& consumer) {
  consumer.on_application_event(to_server, event);
  consumer.on_application_error();
  sides_[to_server ? 1 : 0].done = true;
}

/// Checks the header of a record (RFC 8446, section 5.1).
void TlsParser::begin_record(bool to_server, ApplicationConsumer& consumer) {
  Side& side = sides_[to_server ? 1 : 0];
  const std::uint8_t type = side.header[0];
  side.left = load_be16(&side.header[3]);
  // The hello of SSL 2.0 has a length with the high bit set, the type 1 and a version.
  if (!side.seen && to_server && (side.header[0] & 0x80) != 0 && side.header[2] == kClientHello) {
    session_.client_version = side.header[3] == 0 && side.header[4] == kSsl2 ? kSsl2 : load_be16(&side.header[3]);
    session_.states |= TlsStateTest::kClientHello;
    report(true, consumer);
    side.done = session_.client_version == kSsl2;
    side.left = load_be16(side.header.data()) & 0x7FFF;
    side.left -= std::min<std::size_t>(side.left, 3);
    side.header[0] = kAlert;  // the rest of the hello is skipped
    side.seen = true;
    return;
  }
  if (type < kChangeCipherSpec || type > kHeartbeat || side.header[1] != 3 || side.left > kMostRecordBytes) {
    return give_up(to_server, ApplicationEvent::tls_invalid_record, consumer);
  }
  side.seen = true;
  if (type == kChangeCipherSpec || type == kApplicationData) {
    // Nothing but alerts follows in plain text. A client of TLS 1.3 may send this record before the server's hello.
    side.done = true;
    const bool is_early = to_server && session_.version == 0 && !sides_[0].done;
    if (!is_early) finish(consumer);
  }
}

void TlsParser::read(bool to_server, Bytes bytes, ApplicationConsumer& consumer) {
  Side& side = sides_[to_server ? 1 : 0];
  while (!bytes.empty() && !side.done) {
    if (side.left == 0) {
      const std::size_t part = std::min(side.header.size() - side.header_bytes, bytes.size());
      std::copy_n(bytes.begin(), part, side.header.begin() + static_cast<std::ptrdiff_t>(side.header_bytes));
      side.header_bytes += part;
      bytes = bytes.subspan(part);
      if (side.header_bytes < side.header.size()) return;
      side.header_bytes = 0;
      begin_record(to_server, consumer);
      continue;
    }
    const Bytes part = bytes.first(std::min(side.left, bytes.size()));
    bytes = bytes.subspan(part.size());
    side.left -= part.size();
    if (side.header[0] == kHandshake) read_handshake(to_server, part, consumer);
  }
}

void TlsParser::read_handshake(bool to_server, Bytes bytes, ApplicationConsumer& consumer) {
  constexpr std::size_t kHead = 4;
  Side& side = sides_[to_server ? 1 : 0];
  while (!bytes.empty() && !side.done) {
    std::size_t wanted = kHead;
    if (side.message.size() >= kHead) {
      wanted += load_be32(reinterpret_cast<const std::uint8_t*>(side.message.data())) & 0xFFFFFF;
    }
    const std::size_t part = std::min(bytes.size(), wanted - side.message.size());
    side.message.append(reinterpret_cast<const char*>(bytes.data()), part);
    bytes = bytes.subspan(part);
    if (side.message.size() < kHead) return;
    const Bytes message(reinterpret_cast<const std::uint8_t*>(side.message.data()), side.message.size());
    const std::size_t size = kHead + (load_be32(message.data()) & 0xFFFFFF);
    if (size > kMostMessageBytes) return give_up(to_server, ApplicationEvent::tls_invalid_handshake, consumer);
    if (message.size() < size) continue;
    if (!read_message(to_server, message, consumer)) {
      return give_up(to_server, ApplicationEvent::tls_invalid_handshake, consumer);
    }
    side.message.clear();
  }
}

bool TlsParser::read_message(bool to_server, Bytes message, ApplicationConsumer& consumer) {
  const Bytes body = message.subspan(4);
  switch (message[0]) {
    case kClientHello:
      if (!to_server || !read_client_hello(body)) return false;
      session_.states |= TlsStateTest::kClientHello;
      break;
    case kServerHello:
      if (to_server || !read_server_hello(body)) return false;
      session_.states |= TlsStateTest::kServerHello;
      break;
    case kCertificate:
      // The certificate of a client is not read.
      if (to_server) return true;
      if (!read_certificates(body, consumer)) return false;
      break;
    case kServerKeyExchange:
      session_.states |= TlsStateTest::kServerKeyx;
      break;
    case kClientKeyExchange:
      session_.states |= TlsStateTest::kClientKeyx;
      break;
    default:
      return true;
  }
  report(to_server, consumer);
  return true;
}

bool TlsParser::read_client_hello(Bytes body) {
  Reader reader(body);
  session_.client_version = reader.word();
  const std::uint16_t ja3_version = session_.client_version;
  reader.take(32);
  reader.vector(1);
  std::string ciphers, extensions, groups, formats;
  Reader suites(reader.vector(2));
  while (!suites.is_empty()) add_number(ciphers, suites.word());
  reader.vector(1);
  if (reader.failed()) return false;
  Reader list(reader.is_empty() ? Bytes{} : reader.vector(2));
  while (!list.is_empty()) {
    const std::uint16_t type = list.word();
    Reader extension(list.vector(2));
    add_number(extensions, type);
    if (type == kServerName && !extension.is_empty()) {
      Reader names(extension.vector(2));
      const std::size_t kind = names.number(1);
      const Bytes name = names.vector(2);
      if (kind == 0 && !name.empty()) {
        session_.sni.assign(reinterpret_cast<const char*>(name.data()), name.size());
        session_.has_sni = true;
      }
    } else if (type == kGroups) {
      Reader values(extension.vector(2));
      while (!values.is_empty()) add_number(groups, values.word());
    } else if (type == kPointFormats) {
      for (const std::uint8_t value : extension.vector(1)) add_number(formats, value);
    } else if (type == kSupportedVersions) {
      Reader values(extension.vector(1));
      while (!values.is_empty()) {
        const std::uint16_t version = values.word();
        if (!is_grease(version)) session_.client_version = std::max(session_.client_version, version);
      }
    }
  }
  session_.ja3 = fmt::format("{},{},{},{},{}", ja3_version, ciphers, extensions, groups, formats);
  session_.ja3_hash = hash_of(session_.ja3);
  return !list.failed() && !reader.failed();
}

bool TlsParser::read_server_hello(Bytes body) {
  Reader reader(body);
  session_.version = reader.word();
  const std::uint16_t ja3_version = session_.version;
  reader.take(32);
  reader.vector(1);
  const std::uint16_t cipher = reader.word();
  reader.number(1);
  if (reader.failed()) return false;
  std::string extensions;
  Reader list(reader.is_empty() ? Bytes{} : reader.vector(2));
  while (!list.is_empty()) {
    const std::uint16_t type = list.word();
    Reader extension(list.vector(2));
    add_number(extensions, type);
    if (type == kSupportedVersions) session_.version = extension.word();
  }
  session_.ja3s = fmt::format("{},{},{}", ja3_version, cipher, extensions);
  session_.ja3s_hash = hash_of(session_.ja3s);
  return !list.failed() && !reader.failed();
}

bool TlsParser::read_certificates(Bytes body, ApplicationConsumer& consumer) {
  Reader reader(body);
  Reader chain(reader.vector(3));
  const Bytes first = chain.vector(3);
  if (reader.failed() || chain.failed()) return false;
  if (first.empty() || session_.has_certificate) return true;
  session_.has_certificate = true;
  session_.der.assign(reinterpret_cast<const char*>(first.data()), first.size());
  if (!read_certificate(first, session_.certificate)) {
    consumer.on_application_event(false, ApplicationEvent::tls_invalid_certificate);
  }
  return true;
}

void TlsParser::lose(bool to_server, std::uint64_t bytes, ApplicationConsumer& consumer) {
  Side& side = sides_[to_server ? 1 : 0];
  if (side.done) return;
  if (side.header[0] != kHandshake && bytes <= side.left) {
    side.left -= static_cast<std::size_t>(bytes);
    return;
  }
  side.done = true;
  consumer.on_application_event(to_server, ApplicationEvent::lost_bytes);
}

void TlsParser::end(bool to_server, ApplicationConsumer& consumer) {
  sides_[to_server ? 1 : 0].done = true;
  if (sides_[0].done && sides_[1].done) finish(consumer);
}

std::size_t TlsParser::memory() const {
  return sizeof(*this) + sides_[0].message.capacity() + sides_[1].message.capacity() + session_.der.capacity();
}

}  // namespace penumbra::ids
