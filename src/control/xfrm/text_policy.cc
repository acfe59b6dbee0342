// SPDX-License-Identifier: Apache-2.0
#include <linux/xfrm.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text_file.h"
#include "control/xfrm/text.h"
#include "control/xfrm/text_words.h"
#include "penumbra/errors.h"

namespace penumbra::control::xfrm {
namespace {

constexpr std::uint32_t kAllAlgorithms = 0xFFFFFFFF;

std::string_view take_one_of(Record& record, std::string_view what, const std::vector<std::string>& words) {
  const std::string_view word = record.take(what);
  if (std::ranges::find(words, word) == words.end()) throw record.unexpected(what, words);
  return word;
}

Direction parse_direction(Record& record) {
  const std::string_view word = take_one_of(record, "a direction", {"in", "out", "fwd"});
  return word == "in" ? Direction::in : word == "out" ? Direction::out : Direction::forward;
}

std::uint8_t parse_share(Record& record) {
  const std::string_view word = take_one_of(record, "a kind of sharing", {"any", "session", "user", "unique"});
  return word == "any"       ? XFRM_SHARE_ANY
         : word == "session" ? XFRM_SHARE_SESSION
         : word == "user"    ? XFRM_SHARE_USER
                             : XFRM_SHARE_UNIQUE;
}

void parse_flags(Record& record, Policy& policy) {
  for (;;) {
    if (record.take_if("localok")) {
      policy.flags |= XFRM_POLICY_LOCALOK;
    } else if (record.take_if("icmp")) {
      policy.flags |= XFRM_POLICY_ICMP;
    } else {
      break;
    }
  }
  if (record.peek().starts_with("(0x")) record.take("flags");  // `ip -s` prints the number, too.
}

/// Takes a word of a template and returns true, or returns false for a word of the policy.
bool parse_template_word(Record& record, Template& wanted) {
  if (record.take_if("src")) {
    wanted.source = record.address(wanted.family);
  } else if (record.take_if("dst")) {
    wanted.id.destination = record.address(wanted.family);
  } else if (record.take_if("proto")) {
    wanted.id.protocol = parse_protocol(record);
    if (wanted.id.protocol != kProtocolEsp) throw record.error("the only protocol is esp");
  } else if (record.take_if("spi")) {
    wanted.id.spi = static_cast<std::uint32_t>(record.number("an SPI"));
  } else if (record.take_if("reqid")) {
    wanted.request = static_cast<std::uint32_t>(record.number("a reqid"));
  } else if (record.take_if("mode")) {
    wanted.mode = parse_mode(record);
  } else if (record.take_if("level")) {
    wanted.optional = take_one_of(record, "a level", {"required", "use"}) == "use";
  } else if (record.take_if("share")) {
    wanted.share = parse_share(record);
  } else if (record.take_if("enc-mask")) {
    wanted.ciphers = record.hexadecimal();
  } else if (record.take_if("auth-mask")) {
    wanted.digests = record.hexadecimal();
  } else if (record.take_if("comp-mask")) {
    wanted.compressions = record.hexadecimal();
  } else {
    return false;
  }
  return true;
}

void parse_template(Record& record, Policy& policy) {
  if (policy.templates.size() == kMostTemplates) throw record.error("a policy has at most 6 templates");
  Template wanted;
  wanted.digests = wanted.ciphers = wanted.compressions = kAllAlgorithms;
  OnceWords once;
  for (std::string_view word = record.peek(); parse_template_word(record, wanted); word = record.peek()) {
    once.add(record, word);
  }
  if (wanted.id.protocol == 0) throw record.error("'proto esp' of the template is missing");
  if (wanted.family == 0) wanted.family = policy.selector.family;
  if (wanted.optional && wanted.mode == Mode::tunnel && policy.direction == Direction::out) {
    throw record.error("a tunnel of an out policy cannot have the level 'use'");
  }
  policy.templates.push_back(wanted);
}

bool parse_policy_word(Record& record, std::string_view word, Policy& policy, bool& has_direction) {
  if (word == "dir") {
    policy.direction = parse_direction(record);
    has_direction = true;
  } else if (word == "action") {
    policy.action = take_one_of(record, "an action", {"allow", "block"}) == "allow" ? Action::allow : Action::block;
  } else if (word == "priority") {
    policy.priority = static_cast<std::uint32_t>(record.number("a priority"));
  } else if (word == "index") {
    policy.index = static_cast<std::uint32_t>(record.number("an index"));
  } else if (word == "ptype") {
    policy.type =
        take_one_of(record, "a type", {"main", "sub"}) == "main" ? XFRM_POLICY_TYPE_MAIN : XFRM_POLICY_TYPE_SUB;
  } else if (word == "share") {
    policy.share = parse_share(record);
  } else if (word == "flag") {
    parse_flags(record, policy);
  } else if (word == "mark") {
    policy.mark = record.mark();
  } else if (word == "if_id") {
    policy.interface_id = static_cast<std::uint32_t>(record.number("an if_id"));
  } else if (word == "tmpl") {
    parse_template(record, policy);
  } else {
    return parse_selector_word(record, word, policy.selector) || parse_limit_word(record, word, policy.limits);
  }
  return true;
}

Policy parse_policy(Record& record, std::uint64_t now) {
  Policy policy;
  policy.usage.add_time = now;
  bool has_direction = false;
  constexpr std::array<std::string_view, 4> kRepeated{"limit", "limit:", "expire", "tmpl"};
  OnceWords once;
  while (!record.at_end()) {
    const std::string_view word = record.take("a word");
    if (std::ranges::find(kRepeated, word) == kRepeated.end()) once.add(record, word);
    if (parse_policy_word(record, word, policy, has_direction)) continue;
    throw record.unexpected("more of the policy",
                            {"src", "dst", "proto", "sport", "dport", "dev", "dir", "action", "priority", "index",
                             "ptype", "share", "flag", "mark", "if_id", "limit", "tmpl"});
  }
  if (!has_direction) throw record.error("'dir in', 'dir out' or 'dir fwd' is missing");
  if (policy.selector.family == 0) {
    throw record.error(
        "'src ADDRESS/LENGTH' or 'dst ADDRESS/LENGTH' is missing; name 0.0.0.0/0 or ::/0 for all packets");
  }
  if (policy.index != 0 && (policy.index & XFRM_POLICY_MASK) != static_cast<std::uint32_t>(policy.direction)) {
    throw record.error("the index belongs to another direction; leave it out");
  }
  return policy;
}

}  // namespace

std::vector<Policy> parse_policies(std::string_view text, const std::string& name, std::uint64_t now) {
  std::vector<Policy> policies;
  RecordReader reader(text, name, "policy");
  for (Record record; reader.next(record);) policies.push_back(parse_policy(record, now));
  return policies;
}

std::vector<Policy> read_policies(const std::filesystem::path& file, std::uint64_t now) {
  return parse_policies(read_text_file(file), file.string(), now);
}

}  // namespace penumbra::control::xfrm
