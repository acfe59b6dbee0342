// SPDX-License-Identifier: Apache-2.0
//
// `penumbra show TOPIC`: asks a running router. Every topic of every registered function is a subcommand.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/output.h"
#include "penumbra/engine.h"
#include "penumbra/function.h"

namespace penumbra::cli {
namespace {

const std::vector<ShowTopic>& router_topics() {
  static const std::vector<ShowTopic> kTopics{
      {"ports", "Ports with their counters; with a port's name, its queues"},
      {"workers", "Workers: core, queues, packets, cycles"},
      {"functions", "The functions of the pipeline, with their engines"},
      {"drops", "[all]: packets dropped and punted, by reason; with `all` also the reasons at 0"},
      {"engines", "Engines, and whether they can run here; works without a router too"},
  };
  return kTopics;
}

/// The router's own topics and those of the functions, each once.
std::vector<ShowTopic> all_topics() {
  auto topics = router_topics();
  for (const auto& function : functions()) {
    for (const auto& topic : function.topics) {
      if (std::ranges::find(topics, topic.name, &ShowTopic::name) == topics.end()) topics.push_back(topic);
    }
  }
  return topics;
}

/// What this machine offers, for when no router runs.
nlohmann::ordered_json probe_engines() {
  auto table = nlohmann::ordered_json::array();
  for (const auto& engine : engines()) {
    const Availability found = engine.probe();
    table.push_back({{"engine", engine.name},
                     {"available", found.available},
                     {"reason", found.reason},
                     {"summary", engine.summary}});
  }
  return table;
}

void show(const RouterAddress& address, const std::string& topic, const std::vector<std::string>& arguments) {
  try {
    const auto answer = ask(address, "show", topic, arguments);
    if (!answer.empty() || address.json) return print_answer(answer, address.json);
    write_output(topic == "drops" ? "nothing dropped or punted; `show drops all` lists the reasons\n" : "none\n");
  } catch (const Failure& failure) {
    const bool optional = topic == "engines" && address.socket.empty();
    if (!optional || failure.code() != ExitCode::no_connection) throw;
    print_answer(probe_engines(), address.json);
  }
}

void set_up(CLI::App& command) {
  const auto address = std::make_shared<RouterAddress>();
  add_router_options(command, *address);
  command.require_subcommand(1);
  for (const auto& topic : all_topics()) {
    CLI::App* child = command.add_subcommand(topic.name, topic.help)->fallthrough();
    const auto arguments = std::make_shared<std::vector<std::string>>();
    child->add_option("ARGUMENTS", *arguments, "What to show of it")->type_name("TEXT");
    child->callback([address, arguments, name = topic.name] { show(*address, name, *arguments); });
  }
}

const bool kRegistered = register_command({"show", "Show what a running router does", set_up});

}  // namespace
}  // namespace penumbra::cli
