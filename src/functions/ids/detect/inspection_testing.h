// SPDX-License-Identifier: Apache-2.0
//
// A connection that a test shows to an inspector.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "functions/ids/detect/stream_inspector.h"
#include "functions/ids/detect/testing.h"
#include "functions/ids/rules/variables.h"
#include "packet/parse.h"

namespace penumbra::ids {

inline CompiledRules compile(const std::string& text) {
  RuleSet set;
  HeaderSets sets(Variables::defaults());
  set.read(text, "test.rules", sets);
  EXPECT_TRUE(set.refused().empty());
  return CompiledRules(std::move(set), Needs::application);
}

class Events : public EventSink {
 public:
  bool wants(Event::Kind /*kind*/) const override { return is_read; }
  void on_event(const Event& event, const std::string& members) override {
    EXPECT_TRUE(is_read || members.empty());
    const nlohmann::json json = nlohmann::json::parse(to_json(event, members));
    (event.kind == Event::Kind::alert ? alerts : logs[json["event_type"].get<std::string>()]).push_back(json);
  }
  std::vector<int> sids() const {
    std::vector<int> found;
    found.reserve(alerts.size());
    for (const nlohmann::json& alert : alerts) found.push_back(alert["alert"]["signature_id"]);
    return found;
  }

  bool is_read = true;
  std::vector<nlohmann::json> alerts;
  std::map<std::string, std::vector<nlohmann::json>> logs;
};

/// Inspects the frames of a connection. An inline inspector drops the flow of a packet that a rule drops.
class Connection {
 public:
  explicit Connection(const std::string& rules, StreamInspector::Limits limits = {}, std::uint16_t port = 80,
                      bool is_inline = false, const ExceptionPolicies& exceptions = {})
      : rules_(compile(rules)), inspector_(limits, events), frames_(port) {
    inspector_.use(rules_, is_inline, exceptions);
  }

  void handshake() {
    for (const Bytes& each : frames_.handshake()) frame(each);
  }
  /// Sends a segment, `after` bytes later than the next one.
  void send(bool client, const std::string& payload, std::uint8_t flags = TcpFrames::kAck, std::int32_t after = 0) {
    frame(frames_.segment(client, payload, flags, after));
  }
  /// Sends a segment that does not arrive.
  void lose(bool client, const std::string& payload) { frames_.segment(client, payload); }
  /// Sends a text and its acknowledgement.
  void say(bool client, const std::string& text) {
    constexpr std::size_t kMost = 1000;
    for (std::size_t at = 0; at < text.size(); at += kMost) send(client, text.substr(at, kMost));
    send(!client, "");
  }
  void frame(const Bytes& bytes) {
    const PacketView packet(bytes, parse_headers(bytes.data(), bytes.size(), bytes.size()));
    outcome = inspector_.inspect(packet, bytes, {.now = now += 1000, .number = ++number_});
    const bool is_dropped = outcome.rule != nullptr && outcome.action != Action::pass;
    if (inspector_.is_inline() && is_dropped) outcome.flow->fate = TrackedFlow::Fate::drop;
  }
  void finish() { inspector_.finish(); }
  StreamInspector& inspector() { return inspector_; }
  /// Returns the rule that decides about the last packet, or 0.
  std::uint32_t decided() const { return outcome.rule == nullptr ? 0 : outcome.rule->rule->sid; }

  Events events;
  Inspection outcome;  ///< The last packet's.
  std::uint64_t now = 1000000;

 private:
  CompiledRules rules_;
  StreamInspector inspector_;
  TcpFrames frames_;
  std::uint64_t number_ = 0;
};

using Sids = std::vector<int>;
inline constexpr bool kInline = true;

}  // namespace penumbra::ids
