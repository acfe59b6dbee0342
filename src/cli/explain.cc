// SPDX-License-Identifier: Apache-2.0
//
// `penumbra explain --port PORT HEADER...`: shows the path of a packet through a router.
#include "runtime/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/output.h"
#include "control/config.h"
#include "io/frames.h"
#include "runtime/frame_words.h"

namespace penumbra::cli {
namespace {

struct ExplainOptions {
  RouterAddress router;
  std::string port, hex, capture, config;
  std::uint64_t packet = 1;
  std::vector<std::string> header;
};

std::string frame_of_capture(const ExplainOptions& options) {
  const io::Frames frames = io::load_capture(options.capture);
  if (options.packet == 0 || options.packet > frames.entries.size()) {
    throw Failure(ExitCode::usage, fmt::format("{} has packets 1 to {}, not {}", options.capture, frames.entries.size(),
                                               options.packet));
  }
  const io::FrameEntry& entry = frames.entries[options.packet - 1];
  std::string digits;
  for (std::uint32_t i = 0; i < entry.size; ++i) digits += fmt::format("{:02x}", frames.bytes[entry.offset + i]);
  return digits;
}

std::vector<std::string> arguments_of(const ExplainOptions& options) {
  const int ways = (options.header.empty() ? 0 : 1) + (options.hex.empty() ? 0 : 1) + (options.capture.empty() ? 0 : 1);
  if (ways != 1) {
    throw Failure(ExitCode::usage,
                  "give one packet: a header (src 192.0.2.1 dst 198.51.100.1 proto tcp dport 80), "
                  "--hex FRAME, or -r FILE --packet N");
  }
  if (!options.header.empty()) return options.header;
  return {"--hex", options.hex.empty() ? frame_of_capture(options) : options.hex};
}

std::string text_of(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "-" : value.dump();
}

std::string verdict_of(const nlohmann::ordered_json& judged) {
  const auto verdict = judged.at("verdict").get<std::string>();
  return judged.at("reason").is_null() ? verdict : verdict + " " + judged.at("reason").get<std::string>();
}

std::string render_explanation(const nlohmann::ordered_json& answer) {
  std::string text = fmt::format("received on {}\n  {}\n", text_of(answer.at("port")), text_of(answer.at("frame")));
  for (const auto& stage : answer.at("stages")) {
    text += fmt::format("{}: {}\n  {}\n", text_of(stage.at("stage")), verdict_of(stage), text_of(stage.at("trace")));
    for (const auto& [name, value] : stage.at("tables").items()) {
      std::string words = name;
      std::ranges::replace(words, '_', ' ');
      text += fmt::format("  {}: {}\n", words, text_of(value));
    }
    if (stage.contains("go_to")) text += fmt::format("  go to {}\n", text_of(stage.at("go_to")));
  }
  text += fmt::format("result: {}", verdict_of(answer));
  if (answer.contains("help")) text += fmt::format(" ({})", text_of(answer.at("help")));
  text += '\n';
  if (answer.contains("twin")) {
    text += answer.at("twin").is_null() ? "  the port has no twin: the packet is counted and goes no further\n"
                                        : fmt::format("  to the host by {}\n", text_of(answer.at("twin")));
  }
  for (const auto& sent : answer.at("sent")) {
    text += fmt::format("  out of {}: {}\n", text_of(sent.at("port")), text_of(sent.at("frame")));
  }
  if (answer.contains("dropped_copies")) {
    for (const auto& dropped : answer.at("dropped_copies")) {
      text += fmt::format("  copies dropped: {}, {}\n", dropped.at("copies").dump(), text_of(dropped.at("reason")));
    }
  }
  return text;
}

void explain(const ExplainOptions& options) {
  const auto arguments = arguments_of(options);
  nlohmann::ordered_json answer;
  if (options.config.empty()) {
    answer = ask(options.router, "explain", options.port, arguments);
  } else {
    try {
      answer = runtime::explain_offline(control::load_config(options.config), options.port, arguments);
    } catch (const std::invalid_argument& error) {
      throw Failure(ExitCode::usage, error.what());
    }
  }
  if (options.router.json) return print_answer(answer, true);
  write_output(render_explanation(answer));
}

void set_up_explain(CLI::App& command) {
  const auto options = std::make_shared<ExplainOptions>();
  command.add_option("--port", options->port, "The port that the packet comes in by")->required()->type_name("PORT");
  command
      .add_option("HEADER", options->header, "Names and values: src ADDRESS dst ADDRESS proto tcp dport 80 ttl 1 ...")
      ->type_name("NAME VALUE");
  command.add_option("--hex", options->hex, "A whole frame as hexadecimal digits, from the destination MAC address on")
      ->type_name("FRAME");
  command.add_option("-r,--read", options->capture, "A capture that has the frame")->type_name("FILE");
  command.add_option("--packet", options->packet, "Which frame of the capture")
      ->needs("--read")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("-c,--config", options->config, "Explain by this configuration, without a running router")
      ->type_name("FILE");
  add_router_options(command, options->router);
  command.footer(fmt::format(
      "Names of a header: {}.\n"
      "Nothing is sent, counted or learned. The destination MAC address is the port's own if `dmac` is left out.\n"
      "With -c, routes that are followed (`follow`) are not known.",
      fmt::join(runtime::kFrameWords, ", ")));
  command.callback([options] { explain(*options); });
}

const bool kExplainCommand =
    register_command({"explain", "Explain what a router would do with a packet, and why", set_up_explain});

}  // namespace
}  // namespace penumbra::cli
