// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/applications/dns_parser.h"

#include <gtest/gtest.h>

#include <string>

#include "functions/ids/applications/application_testing.h"
#include "functions/ids/applications/recognition.h"
#include "functions/ids/applications/ssh_parser.h"

namespace penumbra::ids {
namespace {

const std::string kName = from_hex("03777777 076578616d706c65 036f7267 00");  // www.example.org
const std::string kQuery = from_hex("1234 0100 0001 0000 0000 0000") + kName + from_hex("0001 0001");
const std::string kResponse = from_hex("1234 8180 0001 0006 0000 0000") + kName + from_hex("0001 0001") +
                              from_hex("c00c 0005 0001 0000003c 0004 0161 c010") +      // CNAME a.example.org
                              from_hex("c02d 0001 0001 0000003c 0004 c0000201") +       // A 192.0.2.1
                              from_hex("c010 000f 0001 0000003c 0004 000a c00c") +      // MX
                              from_hex("c010 0010 0001 0000003c 0006 0261620263 64") +  // TXT
                              from_hex("c010 001c 0001 0000003c 0010 20010db8 00000000 00000000 00000001") +
                              from_hex("c010 00ff 0001 0000003c 0001 00");

TEST(DnsParser, ReadsDatagrams) {
  DnsParser parser(false);
  ApplicationRecorder recorder;
  parser.read(true, as_bytes(kQuery), recorder);
  parser.read(false, as_bytes(kResponse), recorder);
  EXPECT_EQ(recorder.last(Buffer::dns_query), "www.example.org");
  EXPECT_TRUE(recorder.events.empty());
  ASSERT_EQ(recorder.dns.size(), 2U);
  EXPECT_FALSE(recorder.dns[0].is_response());
  EXPECT_EQ(recorder.dns[0].id, 0x1234);
  const DnsMessage& response = recorder.dns[1];
  EXPECT_EQ(response.transaction, 1U);
  ASSERT_EQ(response.answers.size(), 6U);
  const char* const expected[] = {"CNAME a.example.org",
                                  "A 192.0.2.1",
                                  "MX www.example.org",
                                  "TXT abcd",
                                  "AAAA 2001:0db8:0000:0000:0000:0000:0000:0001",
                                  "ANY "};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(dns_type_name(response.answers[i].type) + " " + response.answers[i].data, expected[i]);
    EXPECT_EQ(response.answers[i].ttl, 60U);
  }
  EXPECT_EQ(response.answers[1].name, "a.example.org");
  EXPECT_EQ(dns_response_name(response.response_code()), "NOERROR");
}

TEST(DnsParser, ReadsStreamsInPieces) {
  const auto framed = [](const std::string& text) {
    return std::string{static_cast<char>(text.size() >> 8), static_cast<char>(text.size())} + text;
  };
  const std::string stream = framed(kQuery) + framed("") + framed(kQuery);
  for (const std::size_t size : {1U, 5U, 500U}) {
    DnsParser parser(true);
    ApplicationRecorder recorder;
    for (std::size_t at = 0; at < stream.size(); at += size) {
      parser.read(true, as_bytes(std::string_view(stream).substr(at, size)), recorder);
    }
    EXPECT_EQ(recorder.dns.size(), 2U);
    parser.lose(true, 3, recorder);
    parser.read(true, as_bytes(stream), recorder);
    EXPECT_EQ(recorder.dns.size(), 2U);
    EXPECT_EQ(recorder.events, std::vector{ApplicationEvent::lost_bytes});
    EXPECT_EQ(recorder.errors, 0);
  }
}

TEST(DnsParser, ReportsMalformedMessages) {
  const std::string head = from_hex("1234 0100 0001 0000 0000 0000");
  const std::string cases[] = {
      "short",
      head + from_hex("c00c 0001 0001"),   // a name that points to itself
      head + from_hex("03777777"),         // a name without an end
      head + from_hex("80 00 0001 0001"),  // an unknown kind of label
      head + from_hex("ffff"),             // a pointer beyond the end
      head + kName + from_hex("0001"),
  };
  for (const std::string& text : cases) {
    DnsParser parser(false);
    ApplicationRecorder recorder;
    parser.read(true, as_bytes(text), recorder);
    EXPECT_EQ(recorder.events, std::vector{ApplicationEvent::dns_malformed});
    EXPECT_EQ(recorder.errors, 0);
    EXPECT_TRUE(recorder.messages.empty());
  }
  DnsParser stream(true);
  ApplicationRecorder of_stream;
  stream.read(true, as_bytes(std::string("\0\x05short", 7)), of_stream);
  EXPECT_EQ(of_stream.events, std::vector{ApplicationEvent::dns_malformed});
  EXPECT_EQ(of_stream.errors, 1);
  // A message is evaluated up to its fault.
  DnsParser parser(false);
  ApplicationRecorder recorder;
  parser.read(false, as_bytes(kResponse.substr(0, kResponse.size() - 1)), recorder);
  EXPECT_EQ(recorder.last(Buffer::dns_query), "www.example.org");
  EXPECT_EQ(recorder.events.size(), 1U);
}

TEST(SshParser, ReadsTheFirstLines) {
  SshParser parser;
  ApplicationRecorder recorder;
  parser.read(true, as_bytes("SSH-2.0-Open"), recorder);
  parser.read(true, as_bytes("SSH_9.2 a comment\r\nSSH-3.0-x\n"), recorder);
  parser.read(false, as_bytes("nothing\n"), recorder);
  ASSERT_EQ(recorder.messages.size(), 1U);
  EXPECT_EQ(recorder.last(Buffer::ssh_protocol), "2.0");
  EXPECT_EQ(recorder.last(Buffer::ssh_software), "OpenSSH_9.2");
}

TEST(Recognition, KnowsProtocolsByTheirFirstBytes) {
  struct Case {
    bool to_server;
    std::string bytes;
    Application application;
  };
  using enum Application;
  const Case cases[] = {
      {true, "GET / HTTP/1.1", http},
      {true, "get / HTTP/1.1", none},
      {false, "HTTP/1.1 200", http},
      {true, "PRI * HTTP/2.0", http2},
      {true, "SSH-2.0-x", ssh},
      {false, "SSH-2.0-x", ssh},
      {true, "ehlo me", smtp},
      {false, "220 mail ESMTP\r\n", smtp},
      {false, "220 ProFTPD FTP server\r\n", ftp},
      {true, "USER anonymous", ftp},
      {true, from_hex("1603010100 01 0000fc 0303"), tls},
      {false, from_hex("1603030041 02 00003d 0303"), tls},
      {false, from_hex("1603030041 01 00003d 0303"), none},
      {true, from_hex("802e 01 0002 0015 0000 0010"), tls},
      {true, from_hex("00000054 ff534d42 72000000"), smb},
      {false, from_hex("00000054 fe534d42 40000000"), smb},
      {true, "a text of nobody", none},
  };
  for (const Case& each : cases) {
    const Recognition found = recognize_stream(each.to_server, as_bytes(each.bytes), 4000);
    EXPECT_EQ(found.application, each.application) << each.bytes;
    EXPECT_FALSE(found.needs_more) << each.bytes;
    if (each.application == none) continue;
    for (std::size_t size = 0; size < each.bytes.size(); ++size) {
      const Recognition part = recognize_stream(each.to_server, as_bytes(each.bytes.substr(0, size)), 4000);
      EXPECT_TRUE(part.needs_more || part.application == each.application) << each.bytes << " cut at " << size;
    }
  }
  EXPECT_EQ(recognize_stream(true, as_bytes(std::string("\0\x21", 2) + kQuery), 53).application, dns);
  EXPECT_EQ(recognize_stream(true, as_bytes(std::string("\0\x21", 2) + kQuery), 54).application, none);
  EXPECT_EQ(recognize_datagram(as_bytes(kQuery), 53), dns);
  EXPECT_EQ(recognize_datagram(as_bytes("no query"), 53), none);
}

}  // namespace
}  // namespace penumbra::ids
