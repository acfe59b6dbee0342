// SPDX-License-Identifier: Apache-2.0
//
// The keywords about flows, stored bits, thresholds and tags.
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "functions/ids/rules/builder.h"
#include "functions/ids/rules/threshold_words.h"
#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

/// Sets one aspect of `flow`, which a rule may name only once.
template <class Value>
void set_aspect(RuleBuilder& rule, const Option& option, std::string_view word, Value& aspect, Value value) {
  if (aspect != Value::any) throw rule.wrong(option, word, "contradicts or repeats another word");
  aspect = value;
}

void read_flow_word(RuleBuilder& rule, const Option& option, std::string_view word, FlowTest& flow) {
  const std::string name = lower(word);
  if (name == "established") return set_aspect(rule, option, word, flow.state, FlowTest::State::established);
  if (name == "not_established") return set_aspect(rule, option, word, flow.state, FlowTest::State::not_established);
  if (name == "stateless") return set_aspect(rule, option, word, flow.state, FlowTest::State::stateless);
  if (name == "to_server" || name == "from_client") {
    return set_aspect(rule, option, word, flow.direction, FlowTest::Direction::to_server);
  }
  if (name == "to_client" || name == "from_server") {
    return set_aspect(rule, option, word, flow.direction, FlowTest::Direction::to_client);
  }
  if (name == "no_stream") return set_aspect(rule, option, word, flow.view, FlowTest::View::no_stream);
  if (name == "only_stream") return set_aspect(rule, option, word, flow.view, FlowTest::View::only_stream);
  if (name == "no_frag") return set_aspect(rule, option, word, flow.fragments, FlowTest::Fragments::no_fragment);
  if (name == "only_frag") return set_aspect(rule, option, word, flow.fragments, FlowTest::Fragments::only_fragment);
  throw rule.wrong(option, word, "is no property of a flow");
}

void read_flow(RuleBuilder& rule, const Option& option) {
  if (rule.rule.flow) throw rule.source.error(option.name, "keyword is repeated");
  FlowTest flow;
  for (const std::string_view word : split(option.value, ',')) read_flow_word(rule, option, word, flow);
  rule.rule.flow = flow;
}

BitCommand::Kind bit_kind(RuleBuilder& rule, const Option& option, std::string_view word) {
  using enum BitCommand::Kind;
  if (word == "set") return set;
  if (word == "unset") return unset;
  if (word == "toggle") return toggle;
  if (word == "isset") return is_set;
  if (word == "isnotset") return is_not_set;
  throw rule.wrong(option, word, "is neither set, unset, toggle, isset nor isnotset");
}

void read_bit_names(RuleBuilder& rule, const Option& option, std::string_view text, BitCommand& command) {
  for (const std::string_view name : split(text, '|')) {
    if (name.empty() || name.find_first_of(" \t&") != std::string_view::npos) {
      throw rule.wrong(option, text, "is no name of a bit");
    }
    command.names.emplace_back(name);
  }
  if (command.names.size() > 1 && !command.is_test()) {
    throw rule.wrong(option, text, "has several names, which only isset and isnotset take");
  }
}

void read_flowbits(RuleBuilder& rule, const Option& option) {
  const auto words = split(option.value, ',');
  if (words.size() == 1 && words[0] == "noalert") {
    rule.rule.noalert = true;
    return;
  }
  if (words.size() != 2) throw rule.wrong(option, option.value, "is neither 'noalert' nor 'COMMAND,NAME'");
  BitCommand command;
  command.kind = bit_kind(rule, option, words[0]);
  read_bit_names(rule, option, words[1], command);
  rule.rule.bits.push_back(command);
}

/// Seconds for which a bit of xbits is set, unless the rule has `expire`.
constexpr std::uint32_t kExpireSeconds = 30;

/// Reads "COMMAND,NAME,track ip_src[,expire N]".
void read_xbits(RuleBuilder& rule, const Option& option) {
  const auto words = split(option.value, ',');
  if (words.size() == 1 && words[0] == "noalert") {
    rule.rule.noalert = true;
    return;
  }
  if (words.size() < 3 || words.size() > 4) {
    throw rule.wrong(option, option.value, "is not 'COMMAND,NAME,track WHO[,expire SECONDS]'");
  }
  BitCommand command;
  command.kind = bit_kind(rule, option, words[0]);
  read_bit_names(rule, option, words[1], command);
  const auto [track, who] = split_name(words[2]);
  if (track == "track" && who == "ip_src") {
    command.scope = BitCommand::Scope::source;
  } else if (track == "track" && who == "ip_dst") {
    command.scope = BitCommand::Scope::destination;
  } else if (track == "track" && who == "ip_pair") {
    command.scope = BitCommand::Scope::pair;
  } else {
    throw rule.wrong(option, words[2], "is not 'track ip_src', 'track ip_dst' or 'track ip_pair'");
  }
  command.expire_seconds = kExpireSeconds;
  if (words.size() == 4) {
    const auto [expire, seconds] = split_name(words[3]);
    if (expire != "expire") throw rule.wrong(option, words[3], "is not 'expire SECONDS'");
    command.expire_seconds = static_cast<std::uint32_t>(rule.number(option, seconds, 1, 0xFFFFFFFF));
  }
  rule.rule.bits.push_back(command);
}

/// Reads "COMMAND,NAME[,src|dst]". The bit of a host stays as long as the table has room.
void read_hostbits(RuleBuilder& rule, const Option& option) {
  const auto words = split(option.value, ',');
  if (words.size() < 2 || words.size() > 3) throw rule.wrong(option, option.value, "is not 'COMMAND,NAME[,WHO]'");
  BitCommand command;
  command.kind = bit_kind(rule, option, words[0]);
  read_bit_names(rule, option, words[1], command);
  const std::string_view who = words.size() == 3 ? words[2] : "src";
  if (who != "src" && who != "dst") throw rule.wrong(option, who, "is neither src nor dst");
  command.scope = who == "src" ? BitCommand::Scope::host_source : BitCommand::Scope::host_destination;
  command.expire_seconds = std::numeric_limits<std::uint32_t>::max();
  rule.rule.bits.push_back(command);
}

ThresholdWords read_threshold_words(RuleBuilder& rule, const Option& option) {
  ThresholdWords words;
  for (const std::string_view part : split(option.value, ',')) {
    const auto [name, value] = split_name(part);
    switch (words.take(name, value)) {
      case ThresholdWords::Outcome::taken:
        break;
      case ThresholdWords::Outcome::unknown:
        throw rule.wrong(option, part, "is unknown here");
      case ThresholdWords::Outcome::wrong:
        throw rule.wrong(option, part, "has a wrong value");
      case ThresholdWords::Outcome::repeated:
        throw rule.wrong(option, part, "is repeated");
    }
  }
  return words;
}

void read_threshold(RuleBuilder& rule, const Option& option) {
  const ThresholdWords words = read_threshold_words(rule, option);
  if (!words.has_type() || !words.is_complete()) {
    throw rule.wrong(option, option.value, "needs type, track, count and seconds");
  }
  if (rule.rule.threshold || rule.rule.detection_filter)
    throw rule.source.error(option.name, "second threshold of a rule");
  rule.rule.threshold = words.threshold();
}

void read_detection_filter(RuleBuilder& rule, const Option& option) {
  const ThresholdWords words = read_threshold_words(rule, option);
  if (words.has_type() || !words.is_complete()) {
    throw rule.wrong(option, option.value, "needs track, count and seconds, and no type");
  }
  if (rule.rule.threshold || rule.rule.detection_filter)
    throw rule.source.error(option.name, "second threshold of a rule");
  rule.rule.detection_filter = words.threshold();
  rule.rule.detection_filter->type = Threshold::Type::detection_filter;
}

/// Reads "session[,COUNT,UNIT]" or "host,COUNT,UNIT,src|dst".
void read_tag(RuleBuilder& rule, const Option& option) {
  const auto words = split(option.value, ',');
  Tag tag;
  const bool is_host = words[0] == "host";
  if (!is_host && words[0] != "session") throw rule.wrong(option, words[0], "is neither session nor host");
  if (words.size() == 2 || words.size() > (is_host ? 4U : 3U)) {
    throw rule.wrong(option, option.value, "is not 'session,COUNT,UNIT' or 'host,COUNT,UNIT,WHO'");
  }
  if (words.size() > 2) {
    tag.count = static_cast<std::uint32_t>(rule.number(option, words[1], 1, 0xFFFFFFFF));
    if (words[2] == "bytes") {
      tag.unit = Tag::Unit::bytes;
    } else if (words[2] == "seconds") {
      tag.unit = Tag::Unit::seconds;
    } else if (words[2] != "packets") {
      throw rule.wrong(option, words[2], "is neither packets, bytes nor seconds");
    }
  }
  if (is_host) {
    const std::string_view who = words.back();
    if (words.size() != 4 || (who != "src" && who != "dst")) throw rule.wrong(option, who, "is neither src nor dst");
    tag.scope = who == "src" ? Tag::Scope::source : Tag::Scope::destination;
  }
  rule.rule.tags.push_back(tag);
}

/// Reads "SIDE,OPERATOR,BYTES".
void read_stream_size(RuleBuilder& rule, const Option& option) {
  const auto words = split(option.value, ',');
  if (words.size() != 3) throw rule.wrong(option, option.value, "is not 'SIDE,OPERATOR,BYTES'");
  StreamSizeTest test;
  if (words[0] == "server") {
    test.side = StreamSizeTest::Side::server;
  } else if (words[0] == "both") {
    test.side = StreamSizeTest::Side::both;
  } else if (words[0] == "either") {
    test.side = StreamSizeTest::Side::either;
  } else if (words[0] != "client") {
    throw rule.wrong(option, words[0], "is neither client, server, both nor either");
  }
  const auto size = parse_interval(std::string(words[1]) + std::string(words[2]), 0xFFFFFFFF);
  if (!size) throw rule.wrong(option, option.value, "has no comparison");
  test.size = *size;
  rule.rule.packet_tests.emplace_back(test);
}

using enum Keyword::Value;

constexpr std::array kKeywords = std::to_array<Keyword>({
    {"flow", required, read_flow},
    {"flowbits", required, read_flowbits},
    {"xbits", required, read_xbits},
    {"hostbits", required, read_hostbits},
    {"threshold", required, read_threshold},
    {"detection_filter", required, read_detection_filter},
    {"tag", required, read_tag},
    {"stream_size", required, read_stream_size},
});

}  // namespace

std::span<const Keyword> session_keywords() {
  return kKeywords;
}

}  // namespace penumbra::ids
