// SPDX-License-Identifier: Apache-2.0
//
// The keywords about the protocols of applications that are no buffers.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "functions/ids/rules/builder.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

/// Reads "INTERVAL[,norm|raw]".
void read_uri_length(RuleBuilder& rule, const Option& option) {
  rule.require(Application::http, option);
  const auto words = split(option.value, ',');
  const bool raw = words.size() == 2 && words[1] == "raw";
  if (words.size() > 2 || (words.size() == 2 && !raw && words[1] != "norm")) {
    throw rule.wrong(option, option.value, "is not 'LENGTH[,norm|raw]'");
  }
  const auto length = parse_interval(words[0], 65535);
  if (!length) throw rule.wrong(option, words[0], "is no number or range with members up to 65535");
  rule.add_to(raw ? Buffer::http_raw_uri : Buffer::http_uri, BufferSize{*length}, option.value);
}

struct NamedBit {
  std::string_view name;
  std::uint8_t bit;
};

/// Reads names that `separator` divides; a leading "!" negates all of them.
template <class Names>
std::uint8_t read_bits(RuleBuilder& rule, const Option& option, char separator, const Names& known, bool& negated) {
  std::uint8_t bits = 0;
  for (std::string_view word : split(option.value, separator)) {
    if (word.starts_with('!')) {
      negated = true;
      word = trim(word.substr(1));
    }
    std::uint8_t bit = 0;
    for (const NamedBit& named : known) {
      if (named.name == lower(word)) bit = named.bit;
    }
    if (bit == 0) throw rule.wrong(option, word, "is unknown here");
    bits |= bit;
  }
  return bits;
}

constexpr std::array kStates = std::to_array<NamedBit>({{"client_hello", TlsStateTest::kClientHello},
                                                        {"server_hello", TlsStateTest::kServerHello},
                                                        {"client_keyx", TlsStateTest::kClientKeyx},
                                                        {"server_keyx", TlsStateTest::kServerKeyx},
                                                        {"unknown", TlsStateTest::kUnknown}});
constexpr std::array kVersions = std::to_array<NamedBit>({{"sslv2", TlsVersionTest::kSsl2},
                                                          {"sslv3", TlsVersionTest::kSsl3},
                                                          {"tls1.0", TlsVersionTest::kTls10},
                                                          {"tls1.1", TlsVersionTest::kTls11},
                                                          {"tls1.2", TlsVersionTest::kTls12},
                                                          {"tls1.3", TlsVersionTest::kTls13}});
/// The versions of `tls.version`.
constexpr std::array kPlainVersions = std::to_array<NamedBit>({{"1.0", TlsVersionTest::kTls10},
                                                               {"1.1", TlsVersionTest::kTls11},
                                                               {"1.2", TlsVersionTest::kTls12},
                                                               {"1.3", TlsVersionTest::kTls13}});

void read_ssl_state(RuleBuilder& rule, const Option& option) {
  rule.require(Application::tls, option);
  TlsStateTest test;
  test.states =
      read_bits(rule, option, option.value.find('|') != std::string_view::npos ? '|' : ',', kStates, test.negated);
  rule.rule.packet_tests.emplace_back(test);
}

void read_ssl_version(RuleBuilder& rule, const Option& option) {
  rule.require(Application::tls, option);
  TlsVersionTest test;
  test.versions = read_bits(rule, option, ',', kVersions, test.negated);
  rule.rule.packet_tests.emplace_back(test);
}

void read_tls_version(RuleBuilder& rule, const Option& option) {
  rule.require(Application::tls, option);
  TlsVersionTest test;
  test.versions = read_bits(rule, option, ',', kPlainVersions, test.negated);
  rule.rule.packet_tests.emplace_back(test);
}

template <PropertyTest::Property kProperty, Application kApplication>
void read_property(RuleBuilder& rule, const Option& option) {
  rule.require(kApplication, option);
  PropertyTest test{.property = kProperty, .value = {}};
  if (option.value.starts_with('"') || option.value.starts_with('!')) {
    const QuotedValue value = read_quoted(rule.source, option);
    if (!value.rest.empty()) throw rule.wrong(option, value.rest, "follows the quotes");
    test.value = unescape(value.text);
    test.negated = value.negated;
  } else {
    test.value = unescape(option.value);
  }
  if (test.value.empty()) throw rule.wrong(option, option.value, "is empty");
  rule.rule.packet_tests.emplace_back(test);
}

/// Reads "[!]PROTOCOL".
void read_application(RuleBuilder& rule, const Option& option) {
  const bool is_negated = option.value.starts_with('!');
  const std::string name = lower(is_negated ? trim(option.value.substr(1)) : option.value);
  ApplicationTest test{.negated = is_negated};
  if (name != "failed") {
    const auto found = find_protocol(name);
    if (!found || found->application == Application::none) {
      throw rule.wrong(option, option.value, "is no protocol of an application that is recognized");
    }
    test.application = found->application;
  }
  if (rule.rule.application != Application::none) {
    throw rule.source.error(option.name, "second protocol of an application",
                            ": the rule is for " + std::string(to_string(rule.rule.application)));
  }
  rule.rule.packet_tests.emplace_back(test);
}

void read_ftp_bounce(RuleBuilder& rule, const Option& option) {
  rule.require(Application::ftp, option);
  rule.rule.packet_tests.emplace_back(FtpBounceTest{});
}

using enum Keyword::Value;
using enum PropertyTest::Property;

constexpr std::array kKeywords = std::to_array<Keyword>({
    {"urilen", required, read_uri_length},
    {"app-layer-protocol", required, read_application},
    {"ssl_state", required, read_ssl_state},
    {"ssl_version", required, read_ssl_version},
    {"tls.version", required, read_tls_version},
    {"tls.subject", required, read_property<tls_subject, Application::tls>},
    {"tls.issuerdn", required, read_property<tls_issuer, Application::tls>},
    {"tls.fingerprint", required, read_property<tls_fingerprint, Application::tls>},
    {"ssh.softwareversion", required, read_property<ssh_software, Application::ssh>},
    {"ssh.protoversion", required, read_property<ssh_protocol, Application::ssh>},
    {"ftpbounce", none, read_ftp_bounce},
});

}  // namespace

std::span<const Keyword> application_keywords() {
  return kKeywords;
}

}  // namespace penumbra::ids
