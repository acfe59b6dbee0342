// SPDX-License-Identifier: Apache-2.0
//
// `penumbra show TOPIC`: asks a running router. Every topic of every registered function is a subcommand.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "cli/arguments.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/watch.h"
#include "penumbra/engine.h"
#include "penumbra/function.h"

namespace penumbra::cli {
namespace {

const std::vector<ShowTopic>& router_topics() {
  static const std::vector<ShowTopic> kTopics{
      {"ports", "Ports with their counters; with a port's name, its queues"},
      {"workers", "Workers: core, queues, packets, cycles"},
      {"functions", "The functions of the pipeline, with their engines, cycles and bursts"},
      {"drops", "[all]: packets dropped and punted, by reason; with `all` also the reasons at 0"},
      {"config", "The running configuration as YAML, with what commands have changed"},
      {"engines", "Engines, and whether they can run here; works without a router too"},
  };
  return kTopics;
}

/// Returns the topics of the router and of the functions, each once.
std::vector<ShowTopic> all_topics() {
  auto topics = router_topics();
  for (const auto& function : functions()) {
    for (const auto& topic : function.topics) {
      if (std::ranges::find(topics, topic.name, &ShowTopic::name) == topics.end()) topics.push_back(topic);
    }
  }
  return topics;
}

/// Returns the engines of this machine, for `show` without a router.
nlohmann::ordered_json probe_engines() {
  auto table = nlohmann::ordered_json::array();
  for (const auto& engine : engines()) {
    const Availability found = engine.probe();
    table.push_back({{"engine", engine.name},
                     {"available", found.available},
                     {"reason", found.reason},
                     {"settings", describe_settings(engine)},
                     {"summary", engine.summary}});
  }
  return table;
}

/// Topics with counters, which have rates.
constexpr std::array<std::string_view, 4> kWatched{"ports", "workers", "functions", "drops"};

/// Removes raw counters, which are for programs.
nlohmann::ordered_json for_people(nlohmann::ordered_json answer) {
  if (!answer.is_array()) return answer;
  for (auto& row : answer) {
    if (row.is_object()) row.erase("counters");
  }
  return answer;
}

void show(const RouterAddress& address, const std::string& topic, const std::vector<std::string>& arguments) {
  try {
    const auto answer = ask(address, "show", topic, arguments);
    if (address.json) return print_answer(answer, true);
    if (topic == "config") return write_output(answer.at("yaml").get<std::string>());
    if (!answer.empty()) return print_answer(for_people(answer), false, address.wide);
    write_output(topic == "drops" ? "nothing dropped or punted; `show drops all` lists the reasons\n" : "none\n");
  } catch (const Failure& failure) {
    const bool optional = topic == "engines" && address.socket.empty();
    if (!optional || failure.code() != ExitCode::no_connection) throw;
    print_answer(probe_engines(), address.json, address.wide);
  }
}

/// Adds `--watch`, alone or with a time. CLI11 takes the following word as the time.
void add_watch(CLI::App& command, std::optional<double>& seconds) {
  CLI::Option* const option =
      command.add_option("--watch", seconds, "Ask again every so many seconds, and show rates; until SIGINT");
  value_is_optional(*option, "1")->transform(as_seconds())->type_name("SECONDS");
}

void set_up_show(CLI::App& command) {
  const auto address = std::make_shared<RouterAddress>();
  add_router_options(command, *address);
  add_wide_flag(command, *address);
  command.require_subcommand(1);
  for (const auto& topic : all_topics()) {
    CLI::App* child = command.add_subcommand(topic.name, topic.help)->fallthrough();
    const auto arguments = std::make_shared<std::vector<std::string>>();
    child->add_option("ARGUMENTS", *arguments, "What to show of it")
        ->type_name(topic.name == "ports" ? "PORT" : "TEXT");
    for (const auto& [name, help, value] : topic.flags) {
      if (value.empty()) {
        child->add_flag_callback(name, [arguments, flag = name] { arguments->push_back(flag); }, help);
        continue;
      }
      const auto take = [arguments, flag = name](const std::string& text) {
        arguments->insert(arguments->end(), {flag, text});
      };
      child->add_option_function<std::string>(name, take, help)->type_name(value);
    }
    const auto period = std::make_shared<std::optional<double>>();
    if (std::ranges::find(kWatched, topic.name) != kWatched.end()) add_watch(*child, *period);
    child->callback([address, arguments, period, name = topic.name] {
      if (*period) return watch(*address, name, *arguments, **period);
      show(*address, name, *arguments);
    });
  }
}

const bool kShowCommand = register_command({"show", "Show what a running router does", set_up_show});

}  // namespace
}  // namespace penumbra::cli
