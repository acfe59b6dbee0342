// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/esp.h"

#include <linux/xfrm.h>
#include <sys/socket.h>

#include <cstring>
#include <string_view>

#include "control/xfrm/algorithms.h"
#include "functions/ipsec/ip_fields.h"
#include "penumbra/bytes.h"

namespace penumbra::ipsec {
namespace {

namespace xfrm = control::xfrm;

/// Writes the additional data of an AEAD: SPI, sequence number, and the IV if it is authenticated.
void write_aad(const SaFormat& format, std::uint64_t number, const std::uint8_t* iv, cipher_job& job) {
  std::uint8_t* at = job.aad;
  store_be32(at, format.spi);
  at += sizeof format.spi;
  if (format.has_esn) {
    store_be64(at, number);
    at += sizeof number;
  } else {
    store_be32(at, static_cast<std::uint32_t>(number));
    at += sizeof(std::uint32_t);
  }
  if (format.authenticates_iv) {
    std::memcpy(at, iv, format.iv_bytes);
    at += format.iv_bytes;
  }
  job.aad_bytes = static_cast<std::uint8_t>(at - job.aad);
}

/// Writes what a job has in both directions.
void write_job(const SaFormat& format, const std::uint8_t* salt, std::uint64_t number, const std::uint8_t* iv,
               cipher_job& job) {
  job.key = format.key;
  job.prefix_bytes = static_cast<std::uint8_t>(kEspHeaderBytes + format.iv_bytes);
  if (format.iv == IvKind::counter) {
    std::memcpy(job.nonce, salt, kSaltBytes);
    std::memcpy(job.nonce + kSaltBytes, iv, CIPHER_IV);
    job.nonce_bytes = kSaltBytes + CIPHER_IV;
  } else {
    std::memcpy(job.nonce, iv, format.iv_bytes);
    job.nonce_bytes = format.iv_bytes;
  }
  if (!format.has_digest) {
    write_aad(format, number, iv, job);
  } else if (format.has_esn) {  // The upper half is authenticated after the packet (RFC 4303, section 2.2.1).
    store_be32(job.trailer, static_cast<std::uint32_t>(number >> 32U));
    job.trailer_bytes = sizeof(std::uint32_t);
  }
}

}  // namespace

SaFormat format_of(const xfrm::SaSettings& settings) {
  SaFormat format;
  const xfrm::Algorithms& used = settings.algorithms;
  format.spi = settings.id.spi;
  format.has_digest = used.digest.has_value();
  const std::string_view cipher = used.cipher ? std::string_view(used.cipher->name) : "";
  if (xfrm::needs_unique_iv(used)) {
    format.iv = IvKind::counter;
    format.iv_bytes = CIPHER_IV;
  } else if (cipher == "cbc(aes)") {
    format.iv = IvKind::random;
    format.iv_bytes = AES_BLOCK;
    format.alignment = AES_BLOCK;
  }
  format.authenticates_iv = used.aead && used.aead->name == "rfc4543(gcm(aes))";
  const auto& authenticator = used.aead ? used.aead : used.digest;
  if (authenticator) format.tag_bytes = static_cast<std::uint8_t>(authenticator->tag_bits / 8);
  format.is_tunnel = settings.mode == xfrm::Mode::tunnel;
  format.has_esn = (settings.flags & XFRM_STATE_ESN) != 0;
  format.is_ipv6 = settings.id.family == AF_INET6;
  format.ignores_ecn = (settings.flags & XFRM_STATE_NOECN) != 0;
  format.clears_df = (settings.flags & XFRM_STATE_NOPMTUDISC) != 0;
  format.copies_dscp_in = (settings.flags & XFRM_STATE_DECAP_DSCP) != 0;
  format.clears_dscp_out = (settings.extra_flags & XFRM_SA_XFLAG_DONT_ENCAP_DSCP) != 0;
  if (settings.encapsulation) {
    format.has_udp = true;
    format.source_port = settings.encapsulation->source_port;
    format.destination_port = settings.encapsulation->destination_port;
  }
  format.tfc_bytes = settings.tfc_padding;
  format.source = settings.source.bytes;
  format.destination = settings.id.destination.bytes;
  return format;
}

std::uint32_t overhead_of(const SaFormat& format) {
  const std::uint32_t outer = !format.is_tunnel ? 0 : format.is_ipv6 ? kIpv6Bytes : kIpv4Bytes;
  return outer + (format.has_udp ? kUdpHeaderBytes : 0) + kEspHeaderBytes + format.iv_bytes + kTrailerEndBytes +
         format.alignment - 1U + format.tag_bytes;
}

std::uint32_t inner_mtu(const SaFormat& format, std::uint32_t mtu) {
  const std::uint32_t outer = format.is_ipv6 ? kIpv6Bytes : kIpv4Bytes;  // Transport mode keeps its header.
  const std::uint32_t around =
      outer + (format.has_udp ? kUdpHeaderBytes : 0) + kEspHeaderBytes + format.iv_bytes + format.tag_bytes;
  const std::uint32_t blocks = (mtu - around) / format.alignment * format.alignment - kTrailerEndBytes;
  return format.is_tunnel ? blocks : blocks + outer;
}

void write_seal_job(const SaFormat& format, const std::uint8_t* salt, std::uint64_t number, const std::uint8_t* iv,
                    cipher_job& job) {
  job = {};
  job.direction = CIPHER_SEAL;
  store_be32(job.prefix, format.spi);
  store_be32(job.prefix + sizeof format.spi, static_cast<std::uint32_t>(number));
  std::uint8_t* const own_iv = job.prefix + kEspHeaderBytes;
  if (format.iv == IvKind::counter) {
    store_be64(own_iv, number);
  } else {
    std::memcpy(own_iv, iv, format.iv_bytes);
  }
  write_job(format, salt, number, own_iv, job);
}

void write_open_job(const SaFormat& format, const std::uint8_t* salt, std::uint64_t number, const std::uint8_t* esp,
                    cipher_job& job) {
  job = {};
  job.direction = CIPHER_OPEN;
  write_job(format, salt, number, esp + kEspHeaderBytes, job);
}

}  // namespace penumbra::ipsec
