// SPDX-License-Identifier: Apache-2.0
//
// Texts for measurements. Random bytes would leave nearly every state of the automaton at once, so the texts are
// requests of HTTP.
#include <cstring>
#include <string_view>

#include "penumbra/sample_input.h"
#include "tables/patterns/patterns.shader.h"

namespace penumbra {
namespace {

constexpr std::string_view kText =
    "GET /images/logo.png?size=200 HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate\r\nReferer: http://www.example.com/index.html\r\nCookie: session=6f2a91c4\r\n"
    "Connection: keep-alive\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nuser=admin&password=select+1";

class PatternsSample final : public SampleInput {
 public:
  void fill_column(std::size_t /*column*/, std::span<std::byte> elements) const override {
    static constexpr std::uint32_t kBegin = PATTERNS_BEGIN;
    for (std::size_t at = 0; at + sizeof kBegin <= elements.size(); at += sizeof kBegin) {
      std::memcpy(&elements[at], &kBegin, sizeof kBegin);
    }
  }
  void fill_source(std::span<std::byte> bytes) const override {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(kText[i % kText.size()]);
  }
};

[[maybe_unused]] const bool kRegistered =
    register_sample_input("patterns", [] { return std::unique_ptr<SampleInput>(std::make_unique<PatternsSample>()); });

}  // namespace
}  // namespace penumbra
