// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/xfrm.h>
#include <sys/socket.h>

#include "penumbra/errors.h"

namespace penumbra::control::xfrm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kAddTime = 1000;
constexpr const char* kKey = "0x0102030405060708090a0b0c0d0e0f1011121314";

class StateText : public ::testing::Test {
 protected:
  std::vector<Sa> parse(const std::string& text) { return parse_states(text, "sa.txt", keys_, kAddTime); }
  std::string error(const std::string& text) {
    try {
      parse(text);
      return "";
    } catch (const InputError& refused) {
      EXPECT_THAT(refused.what(), Not(HasSubstr("0102030405")));
      return refused.what();
    }
  }

  KeyStore keys_;
};

std::string command(const std::string& rest) {
  return "ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x100 " + rest + "\n";
}

TEST_F(StateText, TakesCommands) {
  const auto states =
      parse(command("reqid 7 mode tunnel replay-window 32 flag decap-dscp nopmtudisc "
                    "aead 'rfc4106(gcm(aes))' " +
                    std::string(kKey) +
                    " 128 "
                    "sel src 10.0.0.0/8 dst 10.1.0.0/16 proto tcp dport 80 "
                    "encap espinudp 4500 4501 0.0.0.0 mark 5 mask 0xff if_id 9 output-mark 0x3/0x7 "
                    "limit byte-hard 5000 limit time-soft 60"));
  ASSERT_EQ(states.size(), 1U);
  const SaSettings& sa = states[0].settings;
  EXPECT_EQ(to_string(sa.source, sa.id.family), "192.0.2.1");
  EXPECT_EQ(sa.id.spi, 0x100U);
  EXPECT_EQ(sa.request, 7U);
  EXPECT_EQ(sa.mode, Mode::tunnel);
  EXPECT_EQ(sa.replay_window, 32U);
  EXPECT_EQ(sa.flags, XFRM_STATE_DECAP_DSCP | XFRM_STATE_NOPMTUDISC);
  EXPECT_EQ(sa.algorithms.aead.value(), (Algorithm{"rfc4106(gcm(aes))", 160, 128}));
  EXPECT_EQ(states[0].keys->cipher[19], 0x14);
  EXPECT_EQ(sa.selector.source_prefix, 8);
  EXPECT_EQ(sa.selector.destination_port, 80);
  EXPECT_EQ(sa.encapsulation.value().destination_port, 4501);
  EXPECT_EQ(sa.mark, (Mark{5, 0xFF}));
  EXPECT_EQ(sa.output_mark, (Mark{3, 7}));
  EXPECT_EQ(sa.interface_id, 9U);
  EXPECT_EQ(sa.limits.hard_bytes, 5000U);
  EXPECT_EQ(sa.limits.soft_add_seconds, 60U);
}

TEST_F(StateText, TakesLongCommandsAndShortOnes) {
  const auto states = parse(
      "# two SAs\n"
      "ip xfrm state add src 2001:db8::1 dst 2001:db8::2 \\\n"
      "  proto esp spi 1 flag esn replay-window 128 \\\n"
      "  enc aes 0x00112233445566778899aabbccddeeff auth-trunc sha256 0x" +
      std::string(64, '7') +
      " 128\n"
      "src 192.0.2.1 dst 192.0.2.2 proto esp spi 2 enc cipher_null \"\" auth sha1 0x" +
      std::string(40, '7') + "\n");
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(states[0].settings.id.family, AF_INET6);
  EXPECT_TRUE(states[0].settings.has_extended_replay);
  EXPECT_EQ(states[0].replay.bitmap.size(), 4U);
  EXPECT_EQ(states[0].settings.algorithms.cipher.value().name, "cbc(aes)");
  EXPECT_EQ(states[1].settings.algorithms.digest.value().tag_bits, 96U);
  EXPECT_EQ(states[1].settings.mode, Mode::transport);
}

// The output of `ip -s xfrm state` (iproute2 6.1) for an SA of a Linux host.
constexpr const char* kPrinted = R"(src 192.0.2.1 dst 192.0.2.2
	proto esp spi 0x00000100(256) reqid 7(0x00000007) mode tunnel
	replay-window 0 seq 0x00000000 flag decap-dscp esn (0x00000082)
	mark 0x5/0xff 
	aead rfc4106(gcm(aes)) 0x0102030405060708090a0b0c0d0e0f1011121314 (160 bits) 128
	encap type espinudp sport 4500 dport 4501 addr 0.0.0.0
	anti-replay esn context:
	 seq-hi 0x1, seq 0x5, oseq-hi 0x0, oseq 0x7
	 replay_window 128, bitmap-length 4
	 0000001f 00000000 00000000 00000000 
	sel src 10.0.0.0/8 dst 10.1.0.0/16 uid 0
	lifetime config:
	  limit: soft (INF)(bytes), hard (INF)(bytes)
	  limit: soft 100(packets), hard 200(packets)
	  expire add: soft 0(sec), hard 3600(sec)
	  expire use: soft 0(sec), hard 0(sec)
	lifetime current:
	  840(bytes), 10(packets)
	  add 2026-11-28 01:55:25 use 2026-11-28 01:56:00
	stats:
	  replay-window 0 replay 0 failed 0
)";

TEST_F(StateText, TakesWhatIpPrints) {
  const auto states = parse(std::string(kPrinted) + kPrinted);
  ASSERT_EQ(states.size(), 2U);
  const Sa& sa = states[1];
  EXPECT_EQ(sa.replay.in, 0x100000005U);
  EXPECT_EQ(sa.replay.out, 7U);
  EXPECT_EQ(sa.replay.bitmap, (std::vector<std::uint32_t>{0x1F, 0, 0, 0}));
  EXPECT_EQ(sa.settings.replay_window, 128U);
  EXPECT_EQ(sa.settings.limits.soft_packets, 100U);
  EXPECT_EQ(sa.settings.limits.hard_packets, 200U);
  EXPECT_EQ(sa.settings.limits.hard_bytes, kUnlimited);
  EXPECT_EQ(sa.settings.limits.hard_add_seconds, 3600U);
  EXPECT_EQ(sa.settings.algorithms.aead.value().key_bits, 160U);
}

TEST_F(StateText, PrintsWithoutKeysWhatItReads) {
  const std::string commands[] = {
      kPrinted, command("aead rfc4106(gcm(aes)) " + std::string(kKey) + " 64 tfcpad 100 coa 192.0.2.9"),
      command("mode tunnel if_id 3 output-mark 1 extra-flag dont-encap-dscp replay-window 32 replay-oseq 9 "
              "enc rfc3686(ctr(aes)) " +
              std::string(kKey) + " auth hmac(sha512) 0x" + std::string(128, '1'))};
  for (const std::string& text : commands) {
    const auto states = parse(text);
    std::string printed = to_text(states[0]);
    EXPECT_THAT(printed, Not(HasSubstr("0102030405")));
    EXPECT_THAT(printed, HasSubstr("<<Keys hidden>>"));
    EXPECT_THAT(error(printed), HasSubstr("the key is hidden"));
    // Keys of the same lengths take the place of the hidden ones.
    const Algorithms& used = states[0].settings.algorithms;
    const auto show = [&](const std::optional<Algorithm>& algorithm, const std::string& word) {
      if (!algorithm) return;
      const std::size_t at = printed.find("<<Keys hidden>>", printed.find("\t" + word));
      printed.replace(at, 15, "0x" + std::string(algorithm->key_bits / 4, 'a'));
    };
    show(used.aead, "aead"), show(used.cipher, "enc"), show(used.digest, "auth-trunc");
    const auto again = parse(printed);
    ASSERT_EQ(again.size(), 1U) << printed;
    EXPECT_EQ(again[0].settings, states[0].settings) << printed;
    EXPECT_EQ(again[0].replay.in, states[0].replay.in);
    EXPECT_EQ(again[0].replay.out, states[0].replay.out);
  }
}

TEST_F(StateText, NamesPlaceAndMend) {
  const std::string aead = "aead rfc4106(gcm(aes)) " + std::string(kKey) + " 128 ";
  EXPECT_THAT(error(command("moed tunnel " + aead)), HasSubstr("sa.txt:1:67: "));
  EXPECT_THAT(error(command("moed tunnel " + aead)), HasSubstr("did you mean 'mode'?"));
  EXPECT_THAT(error(command("mode tunel " + aead)), HasSubstr("did you mean 'tunnel'?"));
  EXPECT_THAT(error(command("")), HasSubstr("RFC 8221"));
  EXPECT_THAT(error(command("aead rfc4106(gcm(aes)) 0x01020304050607 128")), HasSubstr("length"));
  EXPECT_THAT(error(command("aead rfc4106(gcm(aes)) 0x0102030405060z 128")), HasSubstr("hexadecimal"));
  EXPECT_THAT(error(command(aead + kKey)), HasSubstr("found a hexadecimal number"));
  EXPECT_THAT(error(command("aead rfc4106(gcm(aes)) 0x" + std::string(200, '1') + " 128")), HasSubstr("at most 64"));
  EXPECT_THAT(error(command(aead + aead)), HasSubstr("'aead' stands twice here"));
  EXPECT_THAT(error(command("auth hmac(sha1) 0x0102030405060708090a0b0c0d0e0f1011121314 "
                            "auth-trunc hmac(sha1) 0x0102030405060708090a0b0c0d0e0f1011121314 96")),
              HasSubstr("two algorithms"));
  EXPECT_THAT(error("src 192.0.2.1 dst 2001:db8::1 proto esp spi 1\n"), HasSubstr("another address family"));
  EXPECT_THAT(error("src 192.0.2.1 dst 192.0.2.2 proto ah spi 1\n"), HasSubstr("the only protocol is esp"));
  EXPECT_THAT(error("src 192.0.2.1 dst 192.0.2.2 proto esp " + aead), HasSubstr("'spi NUMBER' is missing"));
  EXPECT_THAT(error("src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1ffffffff " + aead), HasSubstr("0 to 4294967295"));
  EXPECT_THAT(error(command("spi 0x101 " + aead)), HasSubstr("'spi' stands twice here"));
  EXPECT_THAT(error(command("replay-window 5000 " + aead)), HasSubstr("0 to 4096"));
  EXPECT_THAT(error(command("sel src 10.0.0.0/33 " + aead)), HasSubstr("expected ADDRESS/LENGTH"));
  EXPECT_THAT(error(command(aead) + command("reqid")), HasSubstr("sa.txt:2:"));
}

TEST_F(StateText, RefusesWhatHasNoMeaning) {
  const std::string aead = "aead rfc4106(gcm(aes)) " + std::string(kKey) + " 128 ";
  EXPECT_THAT(error(command("dir nonsense " + aead)), HasSubstr("expected 'in' or 'out'"));
  EXPECT_EQ(error(command("dir in " + aead)), "");
  EXPECT_THAT(error(command("flag " + aead)), HasSubstr("expected a flag"));
  EXPECT_THAT(error(command("flag esnn " + aead)), HasSubstr("did you mean 'esn'?"));
  EXPECT_THAT(error(command("extra_flag " + aead)), HasSubstr("expected a flag"));
  EXPECT_THAT(error(command("sel " + aead)), HasSubstr("expected a selector"));
  EXPECT_THAT(error(command("encap espinudp 0 4500 0.0.0.0 " + aead)), HasSubstr("a port of UDP is not 0"));
  EXPECT_THAT(error(command("encap espinudp 4500 0 0.0.0.0 " + aead)), HasSubstr("a port of UDP is not 0"));
  EXPECT_THAT(error(command("tfcpad 4000000000 " + aead)), HasSubstr("0 to 65535"));
  EXPECT_THAT(error(command("limit byte-hard 0 " + aead)), HasSubstr("lets nothing pass"));
  EXPECT_THAT(error(command("limit packet-hard 0 " + aead)), HasSubstr("lets nothing pass"));
  EXPECT_EQ(error(command("limit time-hard 0 limit byte-soft 5 " + aead)), "");
}

/// error() looks for the key in the message.
TEST_F(StateText, NeverQuotesAKeyInAnotherPlaceOrForm) {
  const std::string digits = std::string(kKey).substr(2), name = "aead rfc4106(gcm(aes)) ";
  const std::string texts[] = {name + digits + " 128",
                               name + "0X" + digits + " 128",
                               name + "secret" + digits + " 128",
                               "aead " + std::string(kKey) + " rfc4106(gcm(aes)) 128",
                               "aead " + digits + " rfc4106(gcm(aes)) 128",
                               "auth-trunc hmac(sha1) " + digits + " 96",
                               "auth hmac(sha1) " + digits,
                               "enc cbc(aes) " + digits,
                               "auth hmac(sha1) secret" + digits,
                               "enc cbc(aes) secret" + digits,
                               name + kKey + " " + digits,
                               "mode " + digits,
                               "reqid " + digits,
                               "coa " + digits,
                               "sel src " + digits,
                               "mark " + digits,
                               digits};
  for (const std::string& rest : texts) {
    EXPECT_THAT(error(command(rest)), HasSubstr("sa.txt:1:")) << rest;
  }
}

std::string policy_error(const std::string& text) {
  try {
    parse_policies(text, "sp.txt", kAddTime);
    return "";
  } catch (const InputError& refused) {
    return refused.what();
  }
}

// The output of `ip -s xfrm policy` (iproute2 6.1).
constexpr const char* kPrintedPolicy = R"(src 10.0.0.0/24 dst 10.1.0.0/16 proto udp sport 53 uid 0
	dir out action allow index 9 priority 5 ptype main share any flag icmp (0x00000002)
	lifetime config:
	  limit: soft (INF)(bytes), hard (INF)(bytes)
	  limit: soft (INF)(packets), hard (INF)(packets)
	  expire add: soft 0(sec), hard 0(sec)
	  expire use: soft 0(sec), hard 0(sec)
	lifetime current:
	  0(bytes), 0(packets)
	  add 2026-11-28 01:55:25 use -
	mark 0x1/0x3
	tmpl src 192.0.2.1 dst 192.0.2.2
		proto esp spi 0x00000000(0) reqid 1(0x00000001) mode tunnel
		level required share any 
		enc-mask ffffffff auth-mask ffffffff comp-mask ffffffff
	tmpl src 0.0.0.0 dst 0.0.0.0
		proto esp reqid 2 mode transport
		level use share any 
)";

TEST(PolicyText, TakesWhatIpPrintsAndPrintsItAgain) {
  const auto policies = parse_policies(kPrintedPolicy, "sp.txt", kAddTime);
  ASSERT_EQ(policies.size(), 1U);
  const Policy& policy = policies[0];
  EXPECT_EQ(policy.direction, Direction::out);
  EXPECT_EQ(policy.selector.source_port, 53);
  EXPECT_EQ(policy.flags, XFRM_POLICY_ICMP);
  EXPECT_EQ(policy.index, 9U);
  EXPECT_EQ(policy.mark, (Mark{1, 3}));
  ASSERT_EQ(policy.templates.size(), 2U);
  EXPECT_EQ(policy.templates[0].mode, Mode::tunnel);
  EXPECT_TRUE(policy.templates[1].optional);
  const auto again = parse_policies(to_text(policy), "printed", kAddTime);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(to_text(again[0]), to_text(policy));
  EXPECT_EQ(again[0].templates, policy.templates);
  EXPECT_EQ(again[0].selector, policy.selector);
}

TEST(PolicyText, TakesCommands) {
  const auto policies = parse_policies(
      "ip xfrm policy add src 10.0.0.0/24 dst 10.1.0.0/16 dir out priority 100 "
      "tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 4 mode tunnel\n"
      "ip xfrm policy add src ::/0 dst 2001:db8::/32 dir in action block if_id 3\n",
      "sp.txt", kAddTime);
  ASSERT_EQ(policies.size(), 2U);
  EXPECT_EQ(policies[0].templates[0].ciphers, 0xFFFFFFFFU);
  EXPECT_EQ(policies[1].action, Action::block);
  EXPECT_EQ(policies[1].selector.family, AF_INET6);
  EXPECT_EQ(policies[1].selector.source_prefix, 0);
}

TEST(PolicyText, NamesPlaceAndMend) {
  EXPECT_THAT(policy_error("src 10.0.0.0/8 dst 10.0.0.0/8\n"),
              HasSubstr("'dir in', 'dir out' or 'dir fwd' is missing"));
  EXPECT_THAT(policy_error("src 10.0.0.0/8 dir outt\n"), HasSubstr("sp.txt:1:20: expected a direction"));
  EXPECT_THAT(policy_error("src any dir out\n"), HasSubstr("0.0.0.0/0 or ::/0"));
  EXPECT_THAT(policy_error("src 10.0.0.0/8 dir out prioriti 3\n"), HasSubstr("did you mean 'priority'?"));
  EXPECT_THAT(policy_error("src 10.0.0.0/8 dir out index 8\n"), HasSubstr("another direction"));
  EXPECT_THAT(policy_error("src 10.0.0.0/8 dir out tmpl mode tunnel\n"), HasSubstr("'proto esp' of the template"));
  EXPECT_THAT(policy_error("src 10.0.0.0/8 dst ::/0 dir out\n"), HasSubstr("another address family"));
  EXPECT_THAT(policy_error("src 10.0.0.0/8 dir out dir in\n"), HasSubstr("'dir' stands twice here"));
  EXPECT_THAT(policy_error("src 10.0.0.0/8 dir out tmpl proto esp spi 1 spi 2\n"),
              HasSubstr("'spi' stands twice here"));
}

}  // namespace
}  // namespace penumbra::control::xfrm
