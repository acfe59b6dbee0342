// SPDX-License-Identifier: Apache-2.0
#include "cli/announcement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "cli/version.h"

namespace penumbra::cli {
namespace {

std::string count_of(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Returns each function with its engine, if it has one: "ipv4 on auto, acl".
std::string pipeline_in_words(const control::RouterConfig& config, const runtime::Router& router) {
  if (config.pipeline.empty()) return "no functions";
  std::vector<std::string> words;
  const auto engines = router.engines();
  for (const auto& stage : config.pipeline) {
    const auto engine =
        std::ranges::find(engines, stage.function, [](const auto& each) -> const std::string& { return each.first; });
    words.push_back(engine == engines.end() ? stage.function : stage.function + " on " + engine->second);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::string announce_port(const nlohmann::ordered_json& port) {
  const auto text = [&port](const char* key) { return port.value(key, std::string{}); };
  std::string line = fmt::format("port '{}': {}", text("name"), text("driver"));
  if (port.contains("device")) line += " " + text("device");
  if (port.contains("link")) line += ", link " + text("link");
  if (port.contains("sink")) line += ", sends to " + text("sink");
  line += fmt::format(", MAC {}, MTU {}", text("mac"), port.value("mtu", 0U));
  line += port.contains("twin") ? ", twin " + text("twin") : ", no twin";
  return line;
}

std::string announcement(const control::RouterConfig& config, const runtime::Router& router) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("penumbra {} runs {}: {}, {} on core{} {}, {}", version_number(), config.file.string(),
                              count_of(config.ports.size(), "port"), count_of(config.cores.size(), "worker"),
                              config.cores.size() == 1 ? "" : "s", fmt::join(config.cores, ", "),
                              pipeline_in_words(config, router)));
  for (const auto& port : router.show("ports", {})) lines.push_back(announce_port(port));
  if (!config.control.socket.empty()) {
    lines.push_back(
        fmt::format("control socket {0}: penumbra show ports --socket {0}", config.control.socket.string()));
  }
  if (!config.control.read_only_socket.empty()) {
    lines.push_back(fmt::format("read-only control socket {}", config.control.read_only_socket.string()));
  }
  if (config.metrics.wanted()) lines.push_back(fmt::format("metrics: http://{}/metrics", config.metrics.listen.text));
  lines.push_back(fmt::format("to end it: Ctrl-C, or kill {0}; to reload its configuration: kill -HUP {0}", getpid()));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace penumbra::cli
