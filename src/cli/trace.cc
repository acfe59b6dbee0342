// SPDX-License-Identifier: Apache-2.0
//
// `penumbra trace add|show|clear`: the paths of single packets through a running router.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/output.h"

namespace penumbra::cli {
namespace {

struct Request {
  std::uint64_t packets = 0;
  std::string port, filter;

  std::vector<std::string> arguments() const {
    std::vector<std::string> words{std::to_string(packets)};
    if (!port.empty()) words.insert(words.end(), {"--port", port});
    if (!filter.empty()) words.insert(words.end(), {"--filter", filter});
    return words;
  }
};

/// Returns each packet followed by its path, one line per step.
std::string render_traces(const nlohmann::ordered_json& traces) {
  std::string text;
  for (const auto& trace : traces) {
    text += fmt::format("packet {}  {}  port {}  worker {}\n  {}\n", trace.at("packet").dump(),
                        trace.at("time").get<std::string>(), trace.at("port").get<std::string>(),
                        trace.at("worker").dump(), trace.at("frame").get<std::string>());
    for (const auto& line : trace.at("lines")) text += "    " + line.get<std::string>() + "\n";
  }
  return text;
}

void show(const RouterAddress& address) {
  const auto traces = ask(address, "trace", "show", {});
  if (address.json) return print_answer(traces, true);
  write_output(traces.empty() ? "no packets traced yet; ask for some with `trace add N`\n" : render_traces(traces));
}

void ask_for(const RouterAddress& address, const Request& request) {
  const auto answer = ask(address, "trace", "add", request.arguments());
  if (address.json) return print_answer(answer, true);
  std::string text = fmt::format("waiting for {} packets", answer.at("waiting_for").dump());
  if (const auto replaced = answer.at("replaced").get<std::uint64_t>(); replaced != 0) {
    text += fmt::format("; this replaces the trace before, which still waited for {}", replaced);
  }
  write_output(text + "\n");
}

void set_up_trace(CLI::App& command) {
  const auto address = std::make_shared<RouterAddress>();
  const auto request = std::make_shared<Request>();
  add_router_options(command, *address);
  command.require_subcommand(1);
  CLI::App* add =
      command.add_subcommand("add", "Trace the next packets, in place of those asked for before")->fallthrough();
  add->add_option("N", request->packets, "How many packets")->required()->transform(as_count())->type_name("N");
  add->add_option("--port", request->port, "Only packets received on this port")->type_name("PORT");
  add->add_option("--filter", request->filter, "Only packets that match this pcap filter expression")
      ->type_name("EXPRESSION");
  add->callback([address, request] { ask_for(*address, *request); });
  command.add_subcommand("show", "Show the packets traced so far, with each one's way through the stages")
      ->fallthrough()
      ->callback([address] { show(*address); });
  command.add_subcommand("clear", "Forget traced packets and trace no more")->fallthrough()->callback([address] {
    print_answer(ask(*address, "trace", "clear", {}), address->json);
  });
}

const bool kTraceCommand = register_command({"trace", "Follow single packets through a running router", set_up_trace});

}  // namespace
}  // namespace penumbra::cli
