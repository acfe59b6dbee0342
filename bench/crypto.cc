// SPDX-License-Identifier: Apache-2.0
//
// Measures ciphers and digests on one core: the plain form, the form by libipsec-mb, and that library's own calls
// without Penumbra's layer. Chunks of 64 packets take random keys.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench.h"
#include "crypto_work.h"
#include "pin.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kFewKeys = 16;
constexpr double kLayerBar = 0.9, kManyKeysBar = 2;

/// A payload size, and the chunks of a sample by the library, which take some milliseconds.
struct Payload {
  std::uint32_t bytes;
  std::size_t chunks;
};
constexpr std::array<Payload, 3> kPayloads{{{64, 800}, {512, 300}, {1408, 150}}};
/// The plain form takes so many times fewer chunks.
constexpr std::size_t kFewerPlain = 25;

/// Numbers of keys for the series over them. Packets take 256 chunks to come round.
constexpr std::array<std::size_t, 4> kNumbersOfKeys{16, 1024, 16'384, 65'536};
constexpr std::size_t kManyChunks = 256, kBarredKeys = 16'384;

std::vector<CipherSuite> suites() {
  return {{"AES-128-GCM", CIPHER_AES_GCM, 16, 0, 16, 8},
          {"AES-256-GCM", CIPHER_AES_GCM, 32, 0, 16, 8},
          {"AES-128-GMAC", CIPHER_AES_GMAC, 16, 0, 16, 16},
          {"ChaCha20-Poly1305", CIPHER_CHACHA20_POLY1305, 32, 0, 16, 8},
          {"AES-128-CBC, HMAC-SHA1-96", CIPHER_AES_CBC, 16, HMAC_SHA1, 12, 24},
          {"AES-128-CBC, HMAC-SHA256-128", CIPHER_AES_CBC, 16, HMAC_SHA256, 16, 24},
          {"AES-256-CBC, HMAC-SHA384-192", CIPHER_AES_CBC, 32, HMAC_SHA384, 24, 24},
          {"AES-256-CBC, HMAC-SHA512-256", CIPHER_AES_CBC, 32, HMAC_SHA512, 32, 24},
          {"AES-128-CTR, HMAC-SHA1-96", CIPHER_AES_CTR, 16, HMAC_SHA1, 12, 16},
          {"AES-256-CTR, HMAC-SHA256-128", CIPHER_AES_CTR, 32, HMAC_SHA256, 16, 16},
          {"HMAC-SHA256-128", CIPHER_NONE, 0, HMAC_SHA256, 16, 8}};
}

/// Adds the contender `name`.
void add(std::vector<Contender>& turns, const std::string& name, CipherForms& forms, const CipherPackets& packets,
         bool is_sealed, std::size_t times) {
  turns.push_back(
      {name, [&forms, &packets, name, is_sealed, times] { return forms.measure(name, packets, is_sealed, times); },
       name == kBareLibrary ? Role::rival : Role::ours});
}

/// The place with the least ratio.
struct Least {
  double ratio = 0;
  std::string where;
  std::size_t places = 0;

  void add(double other, const std::string& place) {
    if (places++ != 0 && other >= ratio) return;
    ratio = other;
    where = place;
  }
};

void compare_payloads(const CipherSuite& suite, const Options& options, Random& random, Least& least, Report& report) {
  const CipherSecrets secrets(suite, kFewKeys, random);
  CipherForms forms(secrets.materials());
  for (const Payload& payload : kPayloads) {
    CipherPackets packets(suite, payload.bytes, 1, kFewKeys, random);
    forms.check(packets, suite.name);
    for (const bool is_sealed : {true, false}) {
      std::vector<Contender> turns;
      add(turns, kPlainForm, forms, packets, is_sealed, payload.chunks / kFewerPlain);
      add(turns, kLibraryForm, forms, packets, is_sealed, payload.chunks);
      add(turns, kBareLibrary, forms, packets, is_sealed, payload.chunks);
      const std::string what = fmt::format("{}, {}", suite.name, is_sealed ? "seal" : "open");
      const std::string title = fmt::format("{}, {} bytes", what, payload.bytes);
      const std::vector<double> ratios =
          report.compare(title, "Gbit/s/core", interleave(turns, options.rounds), kBareLibrary,
                         Place{{"crypto", what, "payload", "bytes"}, static_cast<double>(payload.bytes)});
      least.add(ratios[1], title);
    }
  }
}

void compare_numbers_of_keys(const Options& options, Random& random, Report& report) {
  const CipherSuite suite = suites().front();
  for (const std::size_t keys : kNumbersOfKeys) {
    const CipherSecrets secrets(suite, keys, random);
    CipherForms forms(secrets.materials());
    CipherPackets packets(suite, kPayloads[0].bytes, kManyChunks, keys, random);
    forms.check(packets, suite.name);
    std::vector<Contender> turns;
    add(turns, kLibraryForm, forms, packets, true, 3);
    add(turns, kBareLibrary, forms, packets, true, 3);
    const std::string what = fmt::format("{}, seal, {} bytes, by number of keys", suite.name, packets.bytes());
    const std::vector<double> ratios =
        report.compare(fmt::format("{}: {}", what, keys), "Gbit/s/core", interleave(turns, options.rounds),
                       kBareLibrary, Place{{"crypto", what, "keys"}, static_cast<double>(keys)});
    if (keys == kBarredKeys) {
      report.bar(fmt::format("form by ipsec-mb / ipsec-mb alone, {}: {}", what, keys), ratios[0], kManyKeysBar, true);
    }
  }
}

void run_crypto(const Options& options, Report& report) {
  pin_to_first_core();
  report.note("ipsec-mb " + ipsec_mb::Worker().description());
  Random random(options.seed);
  Least least;
  for (const CipherSuite& suite : suites()) compare_payloads(suite, options, random, least, report);
  compare_numbers_of_keys(options, random, report);
  report.checked("every byte and tag of all contenders, sealed and opened, equals that of the plain form");
  report.note(fmt::format("the form by ipsec-mb is worst in {}: {:.3f}", least.where, least.ratio));
  report.bar(fmt::format("form by ipsec-mb / ipsec-mb alone, least of {} places", least.places), least.ratio, kLayerBar,
             true);
}

[[maybe_unused]] const bool kCryptoBenchmark =
    register_benchmark({.name = "crypto",
                        .measures = "ciphers and digests on one core: plain, by ipsec-mb, and ipsec-mb alone",
                        .needs = "300 MB of memory",
                        .cost = {3, 2.5},
                        .run = &run_crypto});

}  // namespace
}  // namespace penumbra::bench
