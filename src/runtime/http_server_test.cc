// SPDX-License-Identifier: Apache-2.0
#include "runtime/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penumbra::runtime {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::optional<HttpPage> pages(const std::string& path) {
  if (path != "/metrics") return std::nullopt;
  return HttpPage{.content_type = "text/x", .body = "numbers\n"};
}

std::string answer(const std::string& request) {
  return http_answer(request, pages).value_or("none yet");
}

TEST(HttpAnswer, GivesThePage) {
  EXPECT_THAT(answer("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("\r\nContent-Type: text/x\r\n"),
                    HasSubstr("\r\nContent-Length: 8\r\n"), EndsWith("\r\n\r\nnumbers\n")));
  EXPECT_THAT(answer("GET /metrics?name[]=a HTTP/1.0\n\n"), EndsWith("\r\n\r\nnumbers\n"));
  EXPECT_THAT(answer("HEAD /metrics HTTP/1.1\r\n\r\n"),
              AllOf(HasSubstr("\r\nContent-Length: 8\r\n"), EndsWith("\r\n\r\n")));
}

TEST(HttpAnswer, WaitsForTheEndOfTheHeader) {
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
  for (std::size_t bytes = 0; bytes < request.size(); ++bytes) {
    EXPECT_EQ(answer(request.substr(0, bytes)), "none yet") << bytes;
  }
}

TEST(HttpAnswer, RefusesAllElse) {
  EXPECT_THAT(answer("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(answer("GET /metrics/ HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(answer("POST /metrics HTTP/1.1\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("\r\nAllow: GET, HEAD\r\n")));
  for (const std::string line : {"", "GET", "GET /metrics", "GET metrics HTTP/1.1", "GET /metrics HTTP/2 x",
                                 " / HTTP/1.1", "GET /metrics HTTP/1.1 x"}) {
    EXPECT_THAT(answer(line + "\r\n\r\n"), StartsWith("HTTP/1.1 400 ")) << line;
  }
  EXPECT_THAT(answer(std::string(HttpServer::kMostRequestBytes + 1, 'x')), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(answer("GET /" + std::string(HttpServer::kMostRequestBytes, 'x') + " HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
}

}  // namespace
}  // namespace penumbra::runtime
