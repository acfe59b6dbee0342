// SPDX-License-Identifier: Apache-2.0
//
// Compares the function with a slow model: random megaflows that do not overlap, packet by packet.
#include "functions/megaflows/megaflows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/sanitizer_scale.h"
#include "functions/megaflows/testing.h"
#include "penumbra/errors.h"
#include "tables/rules_tuple/sparse_testing.h"
#include "testing/function_fixture.h"
#include "testing/message_of.h"
#include "testing/pool_packets.h"

namespace penumbra::megaflows {
namespace {

using packet_fields::all_bits;
using packet_fields::kFields;
using packet_fields::match_text;

using function_testing::Bytes;
using function_testing::Fate;
using testing::HasSubstr;
using testing_support::FrameSpec;

std::vector<PortInfo> four_ports() {
  auto ports = function_testing::numbered_ports(4);
  for (PortInfo& port : ports) port.name = "p" + std::to_string(port.index + 1);
  ports[3].mtu = 500;
  return ports;
}

class MegaflowsTest : public function_testing::FunctionTest {
 protected:
  MegaflowsTest() : FunctionTest("megaflows", four_ports()) {}
  ~MegaflowsTest() override { EXPECT_EQ(rte_mempool_in_use_count(function_testing::packet_memory()), 0U); }

  void create(const std::string& more = "", const std::string& engine = "scalar") {
    runner_.reset();
    function_.reset();
    FunctionTest::create("{socket: megaflows.sock" + more + "}", engine);
  }
  void command(const std::string& action, const std::string& text) {
    function_->prepare("megaflow", action, {.text = text, .name = "test"})->apply();
  }
  Fate fate(const Bytes& frame, std::uint16_t rx_port = 0) {
    chunk_.size = 1;
    chunk_.packets[0] = function_testing::packet_of(frame);
    runner_->process(chunk_, rx_port);
    trace_ = runner_->trace(chunk_, 0);
    return function_testing::take(*function_, chunk_, 0);
  }
  std::string reason(const FrameSpec& spec) { return fate(spec.bytes()).reason; }
  nlohmann::ordered_json status() { return function_->show("megaflows-status", {}); }
  nlohmann::ordered_json rows() { return function_->show("megaflows", {})["megaflows"]; }
};

/// A port that is down gets nothing, and nothing that it receives is forwarded.
TEST_F(MegaflowsTest, PortsThatAreDownAreLeftOut) {
  NoReaders no_readers;
  FlowTable table(TupleRules::Search::tuple, 10, four_ports(), no_readers, 1);
  const auto add = [&](std::uint64_t ufid, std::uint16_t in_port, const std::string& actions) {
    FlowTable::Flow flow{.ufid = {1, ufid}, .actions = parse_actions(actions)};
    set(flow.match.mask, Field::in_port, {0, 0xFFFF});
    set(flow.match.value, Field::in_port, {0, in_port});
    std::string why;
    ASSERT_EQ(table.add(flow, why), 0) << why;
    table.commit();
  };
  const auto outputs = [&](std::uint32_t number) {
    const CompiledActions& actions = table.actions(number);
    EXPECT_EQ(actions_text(table.find(number)->actions), actions_text(actions.actions)) << "they look the same";
    return std::tuple(actions.variants[0].ports, actions.variants[1].ports, actions.down);
  };
  using Ports = std::vector<std::uint16_t>;
  add(1, 1, "output:2,set:nw_ttl=9,output:3");
  add(2, 2, "output:1");
  EXPECT_EQ(outputs(1), std::tuple(Ports{1}, Ports{2}, 0));
  table.set_down({false, true});
  EXPECT_EQ(outputs(1), std::tuple(Ports{2}, Ports{}, 1)) << "the second header is the only one";
  EXPECT_EQ(table.actions(1).variants[0].sets.size(), 1U);
  EXPECT_EQ(outputs(2), std::tuple(Ports{}, Ports{}, 1)) << "its receive port is down";
  add(3, 3, "output:2,output:4");
  EXPECT_EQ(outputs(3), std::tuple(Ports{3}, Ports{}, 1)) << "added meanwhile";
  table.set_down({false, false});
  EXPECT_EQ(outputs(1), std::tuple(Ports{1}, Ports{2}, 0));
  EXPECT_EQ(outputs(2), std::tuple(Ports{0}, Ports{}, 0));
  EXPECT_EQ(outputs(3), std::tuple(Ports{1, 3}, Ports{}, 0));
}

/// A megaflow of the model.
struct Modelled {
  SparseMatch match;
  std::vector<Action> actions;
  std::uint64_t packets = 0, bytes = 0;
};

/// Masks of whole fields and of some of their bits.
std::vector<SparseWords> tested_fields() {
  std::vector<SparseWords> fields;
  for (std::size_t i = 0; i < kFields; ++i) {
    const auto field = static_cast<Field>(i);
    const Number all = all_bits(place_of(field).bits);
    set(fields.emplace_back(), field, all);
    set(fields.emplace_back(), field, {all.high & ~std::uint64_t{3}, all.low & ~std::uint64_t{1}});
  }
  return fields;
}

/// Returns the fate of a frame by the actions.
Fate fate_of(FrameSpec spec, const std::vector<Action>& actions, const std::vector<PortInfo>& ports) {
  Fate fate;
  const std::size_t payload = spec.bytes().size() - 14 - (spec.tags.empty() ? 0 : 4);
  bool has_output = false;
  for (const Action& action : actions) {
    if (action.kind != Action::Kind::output) {
      testing_support::carry_out(spec, action);
      continue;
    }
    has_output = true;
    const auto port = static_cast<unsigned>(action.port - 1);
    if (ports[port].mtu < payload) {
      ++fate.too_long;
    } else {
      fate.sent.emplace(port, spec.bytes());
    }
  }
  if (!has_output) fate.reason = "dropped_by_megaflow";
  if (has_output && fate.sent.empty()) fate = {.reason = "too_long"};
  return fate;
}

std::vector<Action> random_actions(Random& random, std::uint16_t in_port) {
  for (;;) {
    std::vector<Action> actions;
    for (std::uint32_t i = random.below(6); i > 0; --i) {
      if (random.below(2) == 0) {
        actions.push_back({.kind = Action::Kind::output, .port = static_cast<std::uint16_t>(1 + random.below(4))});
      } else {
        actions.push_back(testing_support::random_action(random));
      }
    }
    try {
      compile_actions(actions, in_port, four_ports());
      return actions;
    } catch (const std::invalid_argument&) {
      continue;  // Draws again.
    }
  }
}

std::string line_of(const Modelled& flow) {
  return match_text(flow.match) + " actions=" + actions_text(flow.actions) + "\n";
}

class MegaflowsOnEngines : public MegaflowsTest, public testing::WithParamInterface<std::string> {
 protected:
  /// The model takes its values from frames, so that frames match.
  void draw(Random& random, std::size_t most) {
    const std::vector<SparseWords> fields = tested_fields();
    for (std::size_t tries = 0; tries < 20 * most && flows_.size() < most; ++tries) {
      const auto in_port = static_cast<std::uint16_t>(1 + random.below(3));
      const SparseWords key = testing_support::random_frame(random).key(in_port);
      SparseMatch match;
      set(match.mask, Field::in_port, {0, 0xFFFF});
      set(match.mask, Field::eth_type, {0, 0xFFFF});
      for (std::uint32_t i = 2 + random.below(7); i > 0; --i) {
        const SparseWords& field = fields[random.below(static_cast<std::uint32_t>(fields.size()))];
        for (std::size_t word = 0; word < key.size(); ++word) match.mask[word] |= field[word];
      }
      for (std::size_t word = 0; word < key.size(); ++word) match.value[word] = key[word] & match.mask[word];
      const auto overlaps = [&match](const Modelled& flow) {
        for (std::size_t word = 0; word < match.mask.size(); ++word) {
          const std::uint64_t both = match.mask[word] & flow.match.mask[word];
          if (((match.value[word] ^ flow.match.value[word]) & both) != 0) return false;
        }
        return true;
      };
      if (std::ranges::any_of(flows_, overlaps)) continue;
      flows_.push_back({.match = match, .actions = random_actions(random, in_port)});
      command("add", line_of(flows_.back()));
    }
  }
  void remove_some(Random& random) {
    for (int i = 0; i < 10 && !flows_.empty(); ++i) {
      const auto at = flows_.begin() + random.below(static_cast<std::uint32_t>(flows_.size()));
      command("del", match_text(at->match) + "\n");
      flows_.erase(at);
    }
  }

  std::vector<Modelled> flows_;
};

TEST_P(MegaflowsOnEngines, ForwardAsTheModelWhileMegaflowsComeAndGo) {
  for (const char* settings : {", shader: tuple", ", shader: bloom", ", cache: 0", ", cache: 64"}) {
    create(settings, GetParam());
    flows_.clear();
    Random random(11);
    std::uint64_t hits = 0, misses = 0;
    for (int round = 0; round < 6; ++round) {
      draw(random, 120 / kSanitizerScale);
      for (int i = 0; i < 300; ++i) {
        const FrameSpec spec = testing_support::random_frame(random);
        const auto rx_port = static_cast<std::uint16_t>(random.below(3));
        const SparseWords key = spec.key(static_cast<std::uint16_t>(rx_port + 1));
        const auto flow =
            std::ranges::find_if(flows_, [&key](const Modelled& each) { return each.match.matches(key); });
        for (int repeated = 0; repeated < 2; ++repeated) {  // The second packet's answer is in the cache.
          if (flow == flows_.end()) {
            ASSERT_EQ(fate(spec.bytes(), rx_port), Fate{.reason = "miss_punted"});
            ++misses;
            continue;
          }
          Fate right = fate_of(spec, flow->actions, ports_);
          ASSERT_EQ(fate(spec.bytes(), rx_port), right) << line_of(*flow) << testing::PrintToString(spec.bytes());
          ++flow->packets;
          flow->bytes += spec.bytes().size();
          ++hits;
        }
      }
      std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> counted, right;
      for (const auto& row : rows()) counted[row["match"]] = {row["packets"], row["bytes"]};
      for (const Modelled& flow : flows_) right[match_text(flow.match)] = {flow.packets, flow.bytes};
      ASSERT_EQ(counted, right);
      remove_some(random);
    }
    const auto packets = status()["packets"];
    EXPECT_GT(hits, 300U);
    EXPECT_GT(misses, 300U);
    EXPECT_EQ(packets["missed"], misses);  // also those whose answer was in the cache
    EXPECT_EQ(packets["found_in_table"].get<std::uint64_t>() + packets["found_in_cache"].get<std::uint64_t>(), hits);
    EXPECT_EQ(packets["found_in_cache"] > 0U, std::string(settings) != ", cache: 0");
  }
}

PENUMBRA_FOR_EACH_ENGINE(MegaflowsOnEngines);

TEST_F(MegaflowsTest, TheCacheForgetsAMegaflowAtOnce) {
  create();
  command("add", "in_port=1 actions=output:2\n");
  const FrameSpec spec;
  EXPECT_EQ(fate(spec.bytes()).sent.begin()->first, 1U);
  EXPECT_EQ(fate(spec.bytes()).sent.begin()->first, 1U);
  EXPECT_EQ(status()["packets"]["found_in_cache"], 1);
  command("del", "in_port=1\n");
  EXPECT_EQ(reason(spec), "miss_punted");
  command("add", "in_port=1 actions=output:3\n");
  EXPECT_EQ(fate(spec.bytes()).sent.begin()->first, 2U);
}

/// Hundreds of chunks without hits switch the cache off for a while; it returns when headers repeat.
TEST_F(MegaflowsTest, TheCacheRestsWithoutHits) {
  create();
  command("add", "any actions=output:2\n");
  FrameSpec spec;
  const auto found_in_cache = [this] { return status()["packets"]["found_in_cache"].get<std::uint64_t>(); };
  for (std::uint64_t i = 0; i < 4096; ++i) {
    spec.eth_src = i;
    fate(spec.bytes());
  }
  for (int i = 0; i < 256; ++i) fate(spec.bytes());
  EXPECT_EQ(found_in_cache(), 0U);
  fate(spec.bytes());
  EXPECT_EQ(found_in_cache(), 1U);
}

TEST_F(MegaflowsTest, PuntsOrDropsMisses) {
  create();
  EXPECT_EQ(reason(FrameSpec{}), "miss_punted");
  EXPECT_EQ(fate(Bytes(13)).reason, "unusual");
  create(", miss: drop");
  EXPECT_EQ(reason(FrameSpec{}), "miss");
  command("add", "any actions=drop\n");
  EXPECT_EQ(reason(FrameSpec{}), "dropped_by_megaflow");
  EXPECT_EQ(status()["offloaded_percent"], 50.0);
}

TEST_F(MegaflowsTest, DropsWhatIsTooLong) {
  create();
  command("add", "in_port=1 actions=output:4\n");
  FrameSpec spec;
  spec.payload.resize(472);
  EXPECT_EQ(reason(spec), "");
  spec.payload.resize(473);
  EXPECT_EQ(reason(spec), "too_long");
}

TEST_F(MegaflowsTest, SendsNothingToARemovedPort) {
  create();
  command("add", "in_port=1 actions=output:2\n");
  std::vector<PortInfo> ports = four_ports();
  ports[1].removed = true;
  function_->rebind(ports);
  EXPECT_EQ(reason(FrameSpec{}), "too_long");
  function_->rebind(four_ports());
  EXPECT_EQ(reason(FrameSpec{}), "");
}

TEST_F(MegaflowsTest, CommandsNameWhatIsWrong) {
  create();
  const auto error = [this](const char* action, const char* text) {
    return message_of([&] { command(action, text); });
  };
  EXPECT_THAT(error("add", "in_prot=1 actions=drop"), HasSubstr("test:1:1: "));
  EXPECT_THAT(error("add", "in_prot=1 actions=drop"), HasSubstr("in_port"));
  EXPECT_THAT(error("add", "in_port=70000 actions=drop"), HasSubstr("cannot have this value"));
  EXPECT_THAT(error("add", "in_port=1,in_port=1 actions=drop"), HasSubstr("is there twice"));
  EXPECT_THAT(error("add", "in_port=1"), HasSubstr("actions="));
  EXPECT_THAT(error("add", "in_port=1 actions=output:9"), HasSubstr("test:1:11: there is no port 9"));
  EXPECT_THAT(error("add", "in_port=1/1 actions=output:2,output:3"), HasSubstr("several outputs without a match"));
  EXPECT_THAT(error("add", "any actions=drop\nany actions=drop"), HasSubstr("test:2"));
  EXPECT_THAT(error("del", "any"), HasSubstr("there is no megaflow of this match"));
  EXPECT_THAT(error("flush", "everything"), HasSubstr("all"));
  EXPECT_TRUE(rows().empty());
  command("add", "any actions=drop");
  EXPECT_THAT(error("add", "any actions=drop"), HasSubstr("already"));
}

TEST_F(MegaflowsTest, CommandsCanBeTakenBack) {
  create();
  const auto added = function_->prepare("megaflow", "add", {.text = "any actions=drop", .name = "test"});
  added->apply();
  EXPECT_EQ(added->counts().added, 1U);
  EXPECT_EQ(rows().size(), 1U);
  added->undo();
  EXPECT_TRUE(rows().empty());
  command("add", "in_port=1 actions=drop\nin_port=2 actions=output:1");
  const auto flushed = function_->prepare("megaflow", "flush", {.text = "all", .name = "test"});
  flushed->apply();
  EXPECT_EQ(flushed->counts().removed, 2U);
  EXPECT_TRUE(rows().empty());
  flushed->undo();
  EXPECT_EQ(rows().size(), 2U);
}

TEST_F(MegaflowsTest, TracesAndCountsAsMetrics) {
  create();
  command("add", "in_port=1 actions=output:2");
  fate(FrameSpec{}.bytes());
  EXPECT_EQ(trace_, "megaflow 1: output:2");
  fate(FrameSpec{}.bytes(), 1);
  EXPECT_EQ(trace_, "no megaflow matches");
  fate(Bytes(5));
  EXPECT_EQ(trace_, "no megaflow was looked for");
  std::map<std::string, std::uint64_t> values;
  for (const FunctionMetric& each : function_->metrics()) {
    values[each.name + (each.labels.empty() ? "" : " " + each.labels[0].second)] = each.value;
  }
  EXPECT_EQ(values["megaflows_megaflows"], 1U);
  EXPECT_EQ(values["megaflows_packets table"], 1U);
  EXPECT_EQ(values["megaflows_packets nowhere"], 1U);
  EXPECT_EQ(values["megaflows_packets not_looked_for"], 1U);
}

TEST_F(MegaflowsTest, ReloadChangesTheTreatmentOfMisses) {
  create();
  const std::string text = "{socket: megaflows.sock, miss: drop}";
  const auto next = make(text);
  EXPECT_THAT(function_->differences(*next, parse(text)), testing::ElementsAre("misses: drop, was punt"));
  function_->exchange(*next);
  EXPECT_EQ(reason(FrameSpec{}), "miss");
  const std::string same = "{socket: ./megaflows.sock, miss: drop}";
  EXPECT_THAT(function_->differences(*make(same), parse(same)), testing::IsEmpty());
  const std::string other = "{socket: other.sock}";
  const auto elsewhere = make(other);
  EXPECT_THAT(message_of([&] { function_->differences(*elsewhere, parse(other)); }),
              HasSubstr("another `socket` takes a restart"));
}

}  // namespace
}  // namespace penumbra::megaflows
