// SPDX-License-Identifier: Apache-2.0
//
// Reads packets from standard input, processes each and prints the result, for tests by vectors (tests/test_crypto.py).
// A line has these words, with bytes in hexadecimal digits, or '-' for none:
//
//   FORM seal|open CIPHER DIGEST TAG_BYTES SECRET DIGEST_SECRET NONCE AAD PAYLOAD TRAILER TAG
//   plain digest - DIGEST - - - - - MESSAGE - -
//
// It prints "RESULT PAYLOAD TAG", "DIGEST", "refused" or, for a packet that no job can describe, "unfit". The form
// job:ENGINE processes packets as jobs on an engine.
#include <algorithm>
#include <array>
#include <cstddef>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/forms_testing.h"
#include "crypto/hex_testing.h"
#include "crypto/jobs/job_form_testing.h"

namespace penumbra::crypto_testing {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Line {
  std::string form, operation, cipher, digest, tag_bytes, secret, digest_secret, nonce, aad, payload, trailer, tag;
};

std::istream& operator>>(std::istream& in, Line& line) {
  return in >> line.form >> line.operation >> line.cipher >> line.digest >> line.tag_bytes >> line.secret >>
         line.digest_secret >> line.nonce >> line.aad >> line.payload >> line.trailer >> line.tag;
}

cipher_algorithm cipher_of(const std::string& name) {
  static const std::map<std::string, cipher_algorithm> kAll{
      {kNoBytes, CIPHER_NONE},     {"aes_cbc", CIPHER_AES_CBC},   {"aes_ctr", CIPHER_AES_CTR},
      {"aes_gcm", CIPHER_AES_GCM}, {"aes_gmac", CIPHER_AES_GMAC}, {"chacha20_poly1305", CIPHER_CHACHA20_POLY1305}};
  return kAll.at(name);
}

std::uint32_t digest_of(const std::string& name) {
  static const std::map<std::string, std::uint32_t> kAll{
      {kNoBytes, 0}, {"sha1", HMAC_SHA1}, {"sha256", HMAC_SHA256}, {"sha384", HMAC_SHA384}, {"sha512", HMAC_SHA512}};
  return kAll.at(name);
}

std::string digest(const Line& line) {
  const std::uint32_t algorithm = digest_of(line.digest);
  const Bytes bytes = bytes_of_hex(line.payload);
  const message whole{.part = {bytes.data(), nullptr, nullptr},
                      .part_bytes = {static_cast<std::uint32_t>(bytes.size()), 0, 0},
                      .before = 0,
                      .block = digest_block(algorithm)};
  digest_state state;
  Bytes value(hmac_tag_bytes(algorithm));
  digest_begin(algorithm, &state);
  digest_end(algorithm, &state, &whole, value.data());
  return hex_of(value);
}

std::string process(Form& form, const Line& line) {
  const Bytes secret = bytes_of_hex(line.secret), digest_secret = bytes_of_hex(line.digest_secret);
  const Bytes nonce = bytes_of_hex(line.nonce), aad = bytes_of_hex(line.aad), payload = bytes_of_hex(line.payload);
  const Bytes trailer = bytes_of_hex(line.trailer);
  Bytes received = bytes_of_hex(line.tag);
  received.resize(std::max<std::size_t>(received.size(), std::stoul(line.tag_bytes)));  // Some vectors have no tag.
  cipher_packet packet{};
  packet.key = form.add({.cipher = cipher_of(line.cipher),
                         .digest = digest_of(line.digest),
                         .secret = secret,
                         .digest_secret = digest_secret,
                         .tag_bytes = static_cast<std::uint32_t>(std::stoul(line.tag_bytes))});
  Bytes destination(payload.size()), tag(line.operation == "seal" ? std::stoul(line.tag_bytes) : 0);
  packet.source = payload.data();
  packet.destination = destination.data();
  packet.nonce = nonce.data();
  packet.aad = aad.data();
  packet.trailer = trailer.data();
  packet.received_tag = received.data();
  packet.tag = tag.data();
  packet.bytes = static_cast<std::uint32_t>(payload.size());
  packet.nonce_bytes = static_cast<std::uint32_t>(nonce.size());
  packet.aad_bytes = static_cast<std::uint32_t>(aad.size());
  packet.trailer_bytes = static_cast<std::uint32_t>(trailer.size());
  std::uint8_t result = 2;
  if (line.operation == "seal") {
    form.seal({&packet, 1}, &result);
  } else {
    form.open({&packet, 1}, &result);
  }
  return std::to_string(result) + " " + hex_of(destination) + " " + hex_of(tag);
}

Form& form_of(const std::string& name) {
  constexpr std::string_view kJob = "job:";
  static std::map<std::string, std::unique_ptr<Form>> forms;
  std::unique_ptr<Form>& form = forms[name];
  if (form == nullptr) {
    form = name.starts_with(kJob) ? std::make_unique<JobForm>(name.substr(kJob.size())) : make_form(name);
  }
  return *form;
}

int run() {
  Line line;
  while (std::cin >> line) {
    try {
      std::cout << (line.operation == "digest" ? digest(line) : process(form_of(line.form), line)) << '\n';
    } catch (const std::invalid_argument&) {
      std::cout << "refused\n";
    } catch (const std::length_error&) {
      std::cout << "unfit\n";
    }
  }
  return 0;
}

}  // namespace
}  // namespace penumbra::crypto_testing

int main() {
  return penumbra::crypto_testing::run();
}
