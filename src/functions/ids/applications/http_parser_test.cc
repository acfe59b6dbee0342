// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/http_parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "functions/ids/applications/application_testing.h"
#include "functions/ids/applications/uri.h"

namespace penumbra::ids {
namespace {

class HttpParserTest : public testing::Test {
 protected:
  void request(std::string_view text) { parser_.read(true, as_bytes(text), recorder_); }
  void response(std::string_view text) { parser_.read(false, as_bytes(text), recorder_); }
  void end() {
    parser_.end(true, recorder_);
    parser_.end(false, recorder_);
  }
  std::string last(Buffer buffer) const { return recorder_.last(buffer); }

  HttpParser parser_;
  ApplicationRecorder recorder_;
};

/// Compresses with zlib; `window_bits` chooses the format.
std::string compressed(const std::string& text, int window_bits) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string made(deflateBound(&stream, text.size()) + 32, 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(made.data());
  stream.avail_out = static_cast<uInt>(made.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  made.resize(stream.total_out);
  deflateEnd(&stream);
  return made;
}
std::string gzip(const std::string& text) {
  return compressed(text, 15 + 16);
}

TEST(Uri, HasTheFormThatServersUse) {
  struct Case {
    std::string_view uri, normal;
  };
  const Case cases[] = {
      {"/", "/"},
      {"/a/b", "/a/b"},
      {"/a/./b", "/a/b"},
      {"/a/../b", "/b"},
      {"/../../b", "/b"},
      {"/a/b/..", "/a/"},
      {"/a//b///c", "/a/b/c"},
      {"\\a\\..\\b", "/b"},
      {"/%61%2f%2E%2e/b", "/b"},
      {"/%2561", "/%61"},  // decoded once
      {"/%u0061%uFF41%u4e2d", "/aa?"},
      {"/%zz%4", "/%zz%4"},
      {"/a?b=%41/../c%00d", std::string_view("/a?b=A/../c\0d", 13)},
      {"/a?b#c", "/a?b"},
      {"http://h.example:80/a/../b", "/b"},
      {"http://h.example", ""},
      {"/a?u=http://x/y", "/a?u=http://x/y"},
      {"*", "*"},
      {"a/../b", "/b"},
      {"/a/...", "/a/..."},
  };
  for (const Case& each : cases) {
    std::string normal;
    normalize_uri(each.uri, normal);
    EXPECT_EQ(normal, each.normal) << each.uri;
  }
}

TEST(Uri, NamesAHost) {
  const auto host = [](std::string_view text) {
    std::string normal;
    normalize_host(text, normal);
    return normal;
  };
  EXPECT_EQ(host("WWW.Example.org:8080"), "www.example.org");
  EXPECT_EQ(host("[2001:DB8::1]:80"), "[2001:db8::1]");
  EXPECT_EQ(authority_of("http://user@h.example:81/x"), "h.example:81");
  EXPECT_EQ(authority_of("/x"), "");
}

TEST_F(HttpParserTest, FillsTheBuffersOfARequest) {
  request(
      "POST http://H.example:80/a/../b%2Fc.php?x HTTP/1.1\r\nHost:  other\r\nUser-Agent: me\r\nCookie: k=v\r\n"
      "Accept: a\r\naccept: b\r\nX-Folded: one\r\n  two\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(last(Buffer::http_method), "POST");
  EXPECT_EQ(last(Buffer::http_uri), "/b/c.php?x");
  EXPECT_EQ(last(Buffer::http_raw_uri), "http://H.example:80/a/../b%2Fc.php?x");
  EXPECT_EQ(last(Buffer::http_protocol), "HTTP/1.1");
  EXPECT_EQ(last(Buffer::http_host), "h.example");
  EXPECT_EQ(last(Buffer::http_raw_host), "other");
  EXPECT_EQ(last(Buffer::http_user_agent), "me");
  EXPECT_EQ(last(Buffer::http_cookie), "k=v");
  EXPECT_EQ(last(Buffer::http_accept), "a, b");
  EXPECT_EQ(last(Buffer::http_content_type), "text/plain");
  EXPECT_EQ(last(Buffer::http_content_length), "3");
  EXPECT_EQ(last(Buffer::http_request_line), "POST http://H.example:80/a/../b%2Fc.php?x HTTP/1.1");
  EXPECT_EQ(last(Buffer::http_header),
            "Host: other\r\nUser-Agent: me\r\nAccept: a, b\r\nX-Folded: one two\r\nContent-Type: text/plain\r\n"
            "Content-Length: 3\r\n");
  EXPECT_EQ(last(Buffer::http_header_names),
            "\r\nHost\r\nUser-Agent\r\nCookie\r\nAccept\r\nX-Folded\r\nContent-Type\r\nContent-Length\r\n\r\n");
  EXPECT_TRUE(last(Buffer::http_raw_header).starts_with("Host:  other\r\nUser-Agent: me\r\nCookie: k=v\r\n"));
  EXPECT_TRUE(last(Buffer::http_raw_header).ends_with("Content-Length: 3\r\n\r\n"));
  EXPECT_TRUE(last(Buffer::http_start).starts_with("POST http"));
  EXPECT_EQ(last(Buffer::http_request_body), "abc");
  EXPECT_EQ(last(Buffer::file_name), "c.php");
  // The head comes first, without the body.
  ASSERT_EQ(recorder_.messages.size(), 2U);
  EXPECT_FALSE(recorder_.messages[0].buffers.contains(Buffer::http_request_body));
}

TEST_F(HttpParserTest, FillsTheBuffersOfAResponse) {
  request("GET /a HTTP/1.1\r\n\r\n");
  response("HTTP/1.1 404 Not Found\r\nServer: s\r\nSet-Cookie: k\r\nLocation: /x\r\nContent-Length: 4\r\n\r\nabcd");
  EXPECT_EQ(last(Buffer::http_status_code), "404");
  EXPECT_EQ(last(Buffer::http_status_message), "Not Found");
  EXPECT_EQ(last(Buffer::http_response_line), "HTTP/1.1 404 Not Found");
  EXPECT_EQ(last(Buffer::http_server), "s");
  EXPECT_EQ(last(Buffer::http_location), "/x");
  EXPECT_EQ(last(Buffer::http_cookie), "k");
  EXPECT_EQ(last(Buffer::http_response_body), "abcd");
  EXPECT_EQ(last(Buffer::file_data), "abcd");
  EXPECT_FALSE(recorder_.messages.back().to_server);
  EXPECT_EQ(recorder_.log, "GET /a 404\n");
}

TEST_F(HttpParserTest, ReadsPipelinedRequestsInPieces) {
  const std::string requests =
      "\r\nGET /1 HTTP/1.1\nHost: a\n\nHEAD /2 HTTP/1.1\r\n\r\nPOST /3 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2\r\nab\r\n1;x=y\r\nc\r\n0\r\nTrailer: t\r\n\r\nGET /4\r\n";
  const std::string responses =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\nContent-Length: "
      "9\r\n\r\nHTTP/1.1 204 No\r\n\r\nHTTP/1.0 200 OK\r\n\r\nto the end";
  for (const std::size_t size : {1U, 3U, 1000U}) {
    HttpParser each;
    ApplicationRecorder found;
    for (std::size_t at = 0; at < requests.size(); at += size) {
      each.read(true, as_bytes(std::string_view(requests).substr(at, size)), found);
    }
    EXPECT_EQ(found.last(Buffer::http_uri), "/4");
    for (std::size_t at = 0; at < responses.size(); at += size) {
      each.read(false, as_bytes(std::string_view(responses).substr(at, size)), found);
    }
    EXPECT_EQ(found.last(Buffer::http_request_body), "abc");
    each.end(true, found);
    each.end(false, found);
    EXPECT_EQ(found.last(Buffer::http_response_body), "to the end");
    EXPECT_EQ(found.log, "GET /1 200\nHEAD /2 200\nPOST /3 204\nGET /4 200\n");
    EXPECT_EQ(found.ends, ">0>1>2>3<0<1<2<3");
    EXPECT_TRUE(found.events.empty());
    EXPECT_EQ(found.messages.back().transaction, 3U);
  }
}

TEST_F(HttpParserTest, ReadsHeadersAfterARequestLineWithoutAProtocol) {
  for (const std::size_t size : {1U, 7U, 1000U}) {
    HttpParser each;
    ApplicationRecorder found;
    const std::string text = "GET http://www.example/a\r\nHost: www.example\r\nX: y\r\n\r\nGET /b\r\nGET http://c/\r\n";
    for (std::size_t at = 0; at < text.size(); at += size) {
      each.read(true, as_bytes(std::string_view(text).substr(at, size)), found);
    }
    EXPECT_EQ(found.messages.at(0).buffers.at(Buffer::http_uri), "/a") << "rules see the URI at once";
    EXPECT_EQ(found.messages.at(1).buffers.at(Buffer::http_host), "www.example");
    EXPECT_EQ(found.messages.at(1).buffers.at(Buffer::http_header), "Host: www.example\r\nX: y\r\n");
    EXPECT_EQ(found.messages.at(1).transaction, 0U);
    EXPECT_EQ(found.messages.size(), 4U);
    each.read(false, as_bytes("SSH-2.0\r\nb\n"), found);
    each.end(false, found);
    EXPECT_EQ(found.last(Buffer::http_response_body), "SSH-2.0\r\nb\n");
  }
}

TEST_F(HttpParserTest, DecodesBodies) {
  const std::string body(3000, 'x');
  for (const auto& [encoding, bytes] : {std::pair<std::string, std::string>{"gzip", gzip(body)},
                                        {"x-gzip", gzip(body)},
                                        {"deflate", compressed(body, 15)},
                                        {"deflate", compressed(body, -15)},
                                        {"gzip, gzip", gzip(gzip(body))},
                                        {"identity", body}}) {
    HttpParser each;
    ApplicationRecorder found;
    const std::string text = fmt::format("HTTP/1.1 200 OK\r\nContent-Encoding: {}\r\nContent-Length: {}\r\n\r\n{}",
                                         encoding, bytes.size(), bytes);
    for (std::size_t at = 0; at < text.size(); at += 10) {
      each.read(false, as_bytes(std::string_view(text).substr(at, 10)), found);
    }
    EXPECT_EQ(found.last(Buffer::file_data), body) << encoding;
    EXPECT_TRUE(found.events.empty());
  }
}

TEST_F(HttpParserTest, KeepsALimitedPartOfABomb) {
  const std::string bomb = gzip(gzip(std::string(std::size_t{64} << 20, 'x')));
  response("HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\n\r\n" + bomb);
  EXPECT_EQ(last(Buffer::file_data), std::string(HttpBody::kMostBytes, 'x'));
  end();
  EXPECT_EQ(recorder_.messages.size(), 2U);
}

TEST_F(HttpParserTest, ReportsWrongBodies) {
  response("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd");
  response("HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip, gzip\r\nContent-Length: 4\r\n\r\nabcd");
  EXPECT_EQ(last(Buffer::file_data), "abcd");
  response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n");
  EXPECT_EQ(recorder_.events,
            (std::vector{ApplicationEvent::http_decompression_failed, ApplicationEvent::http_too_many_encodings,
                         ApplicationEvent::http_invalid_length}));
}

/// libhtp, which Suricata uses, returns an error for these messages and for no others.
TEST_F(HttpParserTest, KnowsTheErrorsOfSuricata) {
  const std::string ok = "HTTP/1.1 200 OK\r\n", chunked = "Transfer-Encoding: chunked\r\n\r\nxyz\r\n";
  struct Case {
    bool to_server;
    std::string text;
    int errors;
  };
  const Case cases[] = {
      {true, "GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n", 1},
      {false, ok + "Content-Length: many\r\n\r\n", 1},
      {true, "POST / HTTP/1.1\r\n" + chunked, 1},
      {false, ok + chunked, 0},
      {true, "GET /" + std::string(HttpParser::kMostHeadBytes, 'a'), 1},
      {false, ok + std::string(HttpParser::kMostHeadBytes, 'a'), 1},
      {true, "GET / HTTP/1.1\r\nno colon\r\n\r\n", 0},
      {true, "\x01\x02 \r\n\r\n", 0},
      {false, "hello\r\n", 0},
      {false, ok + "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd", 0},
      {false, ok + "Content-Encoding: gzip, gzip, gzip\r\nContent-Length: 4\r\n\r\nabcd", 0},
  };
  for (const Case& each : cases) {
    HttpParser parser;
    ApplicationRecorder found;
    parser.read(each.to_server, as_bytes(each.text), found);
    EXPECT_FALSE(found.events.empty()) << each.text;
    EXPECT_EQ(found.errors, each.errors) << each.text;
  }
}

TEST_F(HttpParserTest, BoundsItsMemory) {
  for (std::size_t i = 0; i < HttpParser::kMostPending + 2; ++i) request("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(recorder_.events.size(), 2U);
  EXPECT_EQ(recorder_.events[0], ApplicationEvent::http_too_many_pending);
  EXPECT_EQ(recorder_.errors, 0);
  request("GET /" + std::string(HttpParser::kMostHeadBytes, 'a'));
  EXPECT_EQ(recorder_.events.back(), ApplicationEvent::http_head_too_long);
  const std::size_t messages = recorder_.messages.size();
  request(" HTTP/1.1\r\n\r\n");
  EXPECT_EQ(recorder_.messages.size(), messages);
}

TEST_F(HttpParserTest, GoesOnAfterLostBytesOfABody) {
  request("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nab");
  parser_.lose(true, 5, recorder_);
  request("cdeGET /next HTTP/1.1\r\n\r\n");
  EXPECT_EQ(last(Buffer::http_request_body), "abcde");
  EXPECT_EQ(last(Buffer::http_uri), "/next");
  request("GET /");
  parser_.lose(true, 5, recorder_);
  EXPECT_EQ(recorder_.events, std::vector{ApplicationEvent::lost_bytes});
  EXPECT_EQ(recorder_.errors, 0);
}

TEST_F(HttpParserTest, GoesOnWithTheNextMessageAfterALostHead) {
  request("GET /1 HTTP/1.1\r\n\r\n");
  parser_.lose(false, 100, recorder_);
  response("rest of a body\nand its end");
  request("GET /2 HTTP/1.1\r\n\r\n");
  response("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(recorder_.log, "GET /1 \nGET /2 202\n");
  EXPECT_EQ(last(Buffer::file_data), "ok");
  request("GET /3 HT");
  parser_.lose(true, 100, recorder_);
  request("Header: of /3\r\n\r\nGET /4 HTTP/1.1\r\n\r\n");
  EXPECT_EQ(last(Buffer::http_uri), "/4");
}

TEST_F(HttpParserTest, SeeksAMessageInBytesWithoutLines) {
  request("GET /1 HTTP/1.1\r\n\r\n");
  parser_.lose(false, 100, recorder_);
  const std::string binary(1000, 'b');
  for (int i = 0; i < 200; ++i) response(binary);
  request("GET /2 HTTP/1.1\r\n\r\n");
  response("HTTP/1.1 203 Other\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(recorder_.log, "GET /1 \nGET /2 203\n");
}

TEST_F(HttpParserTest, KeepsARequestThatIsAnsweredEarly) {
  request("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nab");
  response("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
  response("HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(recorder_.log, "");
  request("cd");
  EXPECT_EQ(last(Buffer::http_request_body), "abcd");
  EXPECT_EQ(recorder_.log, "POST / 400\n");
}

TEST_F(HttpParserTest, StopsWhereAnotherProtocolBegins) {
  request("CONNECT h:443 HTTP/1.1\r\n\r\n");
  response("HTTP/1.1 200 OK\r\n\r\n");
  request("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(recorder_.log, "CONNECT h:443 200\n");
  EXPECT_EQ(last(Buffer::http_method), "CONNECT");
}

}  // namespace
}  // namespace penumbra::ids
