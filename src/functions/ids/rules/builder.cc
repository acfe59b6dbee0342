// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/builder.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

/// The variables of one test.
struct UsedVariables {
  std::vector<int> read;
  std::optional<int> stored;

  void note(const Operand& operand) {
    if (operand.is_variable()) read.push_back(operand.variable);
  }
  void note(const std::optional<Operand>& operand) {
    if (operand) note(*operand);
  }
  void note(const NumberField& field) {
    note(field.bytes);
    note(field.offset);
  }
};

UsedVariables variables_of(const PayloadTest& test) {
  UsedVariables used;
  if (const auto* const content = std::get_if<Content>(&test)) {
    for (const auto* const each : {&content->offset, &content->depth, &content->distance, &content->within}) {
      used.note(*each);
    }
  } else if (const auto* const byte_test = std::get_if<ByteTest>(&test)) {
    used.note(byte_test->field);
    used.note(byte_test->value);
  } else if (const auto* const jump = std::get_if<ByteJump>(&test)) {
    used.note(jump->field);
    used.note(jump->post_offset);
  } else if (const auto* const extract = std::get_if<ByteExtract>(&test)) {
    used.note(extract->field);
    used.stored = extract->variable;
  } else if (const auto* const math = std::get_if<ByteMath>(&test)) {
    used.note(math->field);
    used.note(math->value);
    used.stored = math->variable;
  } else if (const auto* const at = std::get_if<IsDataAt>(&test)) {
    used.note(at->position);
  }
  return used;
}

}  // namespace

RuleError RuleBuilder::wrong(const Option& option, std::string_view part, const std::string& hint) const {
  return source.error(part, "value of '" + std::string(option.name) + "' is wrong", " " + hint);
}

void RuleBuilder::add(PayloadTest test, std::string_view place, bool relative) {
  Buffer buffer = sticky.value_or(Buffer::payload);
  if (relative && !sticky && !tests.empty()) buffer = tests.back().buffer;
  add_to(buffer, std::move(test), place);
}

void RuleBuilder::add_to(Buffer buffer, PayloadTest test, std::string_view place) {
  tests.push_back({buffer, std::move(test), place});
}

PlacedTest& RuleBuilder::last_content_place(const Option& option) {
  const auto last = std::ranges::find_if(
      tests.rbegin(), tests.rend(), [](const PlacedTest& each) { return std::holds_alternative<Content>(each.test); });
  if (last == tests.rend()) throw source.error(option.name, "keyword without a content before it");
  return *last;
}

Content& RuleBuilder::last_content(const Option& option) {
  return std::get<Content>(last_content_place(option).test);
}

void RuleBuilder::require(Application application, const Option& option) {
  if (application == Application::none) return;
  Application& present = rule.application;
  const auto is_http = [](Application a) {
    return a == Application::http || a == Application::http1 || a == Application::http2;
  };
  if (present == application || (is_http(present) && is_http(application))) return;
  if (present != Application::none) {
    throw source.error(
        option.name, "keyword of another protocol",
        " needs " + std::string(to_string(application)) + ", the rule is for " + std::string(to_string(present)));
  }
  const bool over_udp = application == Application::dns;
  if (!can_carry(rule.protocol.transport, 6) && !(over_udp && can_carry(rule.protocol.transport, 17))) {
    throw source.error(option.name, "keyword of another protocol", " needs " + std::string(to_string(application)));
  }
  present = application;
}

std::uint64_t RuleBuilder::number(const Option& option, std::string_view part, std::uint64_t least,
                                  std::uint64_t most) const {
  const auto value = parse_unsigned(part);
  if (value && *value >= least && *value <= most) return *value;
  throw wrong(option, part, "is no number from " + std::to_string(least) + " to " + std::to_string(most));
}

Interval RuleBuilder::interval(const Option& option, std::uint64_t most) const {
  const auto value = parse_interval(option.value, most);
  if (value) return *value;
  throw wrong(option, option.value, "is no number or range with members up to " + std::to_string(most));
}

Operand RuleBuilder::operand(const Option& option, std::string_view part, std::int64_t least, std::int64_t most) const {
  if (const auto value = parse_signed(part)) {
    if (*value >= least && *value <= most) return {*value, Operand::kNoVariable};
    throw wrong(option, part, "is no number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  const auto known = std::ranges::find(rule.variables, part);
  if (known == rule.variables.end()) {
    throw wrong(option, part, "is no number, and no byte_extract or byte_math before it stores such a variable");
  }
  return {0, static_cast<int>(known - rule.variables.begin())};
}

int RuleBuilder::store_variable(const Option& option, std::string_view name) {
  const bool is_name = !name.empty() && (name[0] < '0' || name[0] > '9') && name[0] != '-' && name[0] != '+';
  if (!is_name) throw wrong(option, name, "is no name of a variable");
  const auto known = std::ranges::find(rule.variables, name);
  if (known != rule.variables.end()) return static_cast<int>(known - rule.variables.begin());
  rule.variables.emplace_back(name);
  return static_cast<int>(rule.variables.size() - 1);
}

void RuleBuilder::check_content(const PlacedTest& placed) const {
  const Content& content = std::get<Content>(placed.test);
  const auto size = static_cast<std::int64_t>(content.bytes.size());
  const auto refuse = [&](const std::string& hint) {
    throw source.error(placed.place, "modifiers of a content contradict each other", hint);
  };
  const bool is_absolute = content.offset || content.depth;
  if (is_absolute && content.is_relative()) refuse(" has offset or depth, and distance or within");
  if (content.startswith && (is_absolute || content.is_relative())) refuse(" has startswith and a position");
  for (const auto& [room, name] : {std::pair{content.depth, "depth"}, std::pair{content.within, "within"}}) {
    if (room && !room->is_variable() && room->number < size) refuse(" is longer than its " + std::string(name));
  }
  if (content.fast_pattern != Content::FastPattern::automatic && content.negated &&
      (is_absolute || content.is_relative())) {
    refuse(" is a negated fast pattern with a position");
  }
  if (content.chop_length > 0 && content.chop_offset + content.chop_length > size) {
    refuse(" is shorter than the part that fast_pattern names");
  }
  if (content.fast_pattern == Content::FastPattern::only && (is_absolute || content.is_relative())) {
    refuse(" has fast_pattern:only and a position");
  }
}

void RuleBuilder::check_variables() const {
  std::vector<Buffer> order;
  for (const PlacedTest& placed : tests) {
    if (std::ranges::find(order, placed.buffer) == order.end()) order.push_back(placed.buffer);
  }
  std::set<int> stored;
  for (const Buffer buffer : order) {
    for (const PlacedTest& placed : tests) {
      if (placed.buffer != buffer) continue;
      const UsedVariables used = variables_of(placed.test);
      for (const int variable : used.read) {
        if (stored.contains(variable)) continue;
        throw source.error(
            placed.place, "a variable is read before it is stored",
            " reads '" + rule.variables[static_cast<std::size_t>(variable)] +
                "'; tests of one buffer are evaluated together, buffers in the order of their first test");
      }
      if (used.stored) stored.insert(*used.stored);
    }
  }
}

void RuleBuilder::finish() {
  check_variables();
  int fast_patterns = 0;
  for (const PlacedTest& placed : tests) {
    if (const auto* content = std::get_if<Content>(&placed.test)) {
      check_content(placed);
      if (content->fast_pattern != Content::FastPattern::automatic && ++fast_patterns > 1) {
        throw source.error(placed.place, "a rule has one fast pattern", " is the second");
      }
    }
  }
  for (PlacedTest& placed : tests) {
    auto group = std::ranges::find(rule.buffers, placed.buffer, &BufferTests::buffer);
    if (group == rule.buffers.end()) group = rule.buffers.insert(group, {placed.buffer, {}});
    group->tests.push_back(std::move(placed.test));
  }
  tests.clear();
}

namespace {

bool is_about_headers(const PacketTest& test) {
  return std::holds_alternative<FieldTest>(test) || std::holds_alternative<BitsTest>(test) ||
         std::holds_alternative<IpOptionTest>(test) || std::holds_alternative<SameAddressTest>(test);
}

}  // namespace

bool Rule::is_about_recognition() const {
  return application == Application::none && buffers.empty() && !packet_tests.empty() &&
         std::ranges::all_of(packet_tests,
                             [](const PacketTest& test) { return std::holds_alternative<ApplicationTest>(test); });
}

Needs Rule::needs() const {
  if (application != Application::none || is_about_recognition()) return Needs::application;
  bool reads_payload = false;
  for (const BufferTests& group : buffers) {
    const BufferOrigin origin = info_of(group.buffer).origin;
    if (origin == BufferOrigin::application) return Needs::application;
    reads_payload |= origin == BufferOrigin::payload;
  }
  for (const PacketTest& test : packet_tests) {
    if (std::holds_alternative<StreamSizeTest>(test)) return Needs::stream;
    if (std::holds_alternative<FtpBounceTest>(test)) return Needs::application;
  }
  if (protocol.view == TcpView::stream) return Needs::stream;
  if (flow && flow->view == FlowTest::View::only_stream) return Needs::stream;
  const bool packets_only = protocol.view == TcpView::packets || (flow && flow->view == FlowTest::View::no_stream);
  const bool may_be_tcp = can_carry(protocol.transport, 6);
  return reads_payload && may_be_tcp && !packets_only ? Needs::stream : Needs::packet;
}

PacketUse Rule::packet_use() const {
  if (needs() == Needs::packet) return PacketUse::only;
  const bool wants_stream = protocol.view == TcpView::stream || (flow && flow->view == FlowTest::View::only_stream);
  const bool reads_messages = std::ranges::any_of(
      buffers, [](const BufferTests& group) { return info_of(group.buffer).origin == BufferOrigin::application; });
  if (wants_stream || reads_messages) return PacketUse::never;
  if (std::ranges::any_of(packet_tests, is_about_headers)) return PacketUse::only;
  for (const BufferTests& group : buffers) {
    if (info_of(group.buffer).origin != BufferOrigin::payload) continue;
    for (const PayloadTest& test : group.tests) {
      const auto* const content = std::get_if<Content>(&test);
      if (content != nullptr && (content->offset || content->depth || content->startswith)) return PacketUse::also;
    }
  }
  return PacketUse::never;
}

}  // namespace penumbra::ids
