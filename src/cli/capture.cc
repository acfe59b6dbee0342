// SPDX-License-Identifier: Apache-2.0
//
// `penumbra capture PORT|drops [-w FILE]`: packets of a running router, as lines or as a capture file.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "cli/arguments.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/output.h"
#include "cli/packet_line.h"
#include "cli/render.h"
#include "io/capture_writer.h"
#include "runtime/capture_client.h"

namespace penumbra::cli {
namespace {

constexpr const char* kDrops = "drops";

struct Request {
  RouterAddress router;
  std::string what, file, filter, direction, reason;
  std::optional<std::uint64_t> count, bytes;
  bool punts = false;

  std::vector<std::string> arguments() const {
    std::vector<std::string> words;
    const auto add = [&words](const char* option, const std::string& value) {
      if (!value.empty()) words.insert(words.end(), {option, value});
    };
    if (what != kDrops) words.push_back(what);
    add("--direction", direction);
    add("--punts", punts ? "yes" : "");
    add("--reason", reason);
    add("--filter", filter);
    add("--count", count ? std::to_string(*count) : "");
    add("--snaplen", bytes ? std::to_string(*bytes) : "");
    return words;
  }
};

std::string in_words(const nlohmann::ordered_json& report) {
  std::string text = fmt::format("{} packets captured, {} lost because they came faster than they were taken\n",
                                 group_digits(report.at("captured")), group_digits(report.at("lost")));
  for (const auto& [reason, packets] : report.at("reasons").items()) {
    text += fmt::format("  {} {}\n", group_digits(packets), reason);
  }
  return text;
}

/// Writes packets until the capture ends. Throws Failure if the file cannot be written. Throws OutputClosed if the
/// output is a pipe without a reader.
void write(runtime::CaptureClient& client, io::CaptureFile& file, const Interruption& interruption) {
  for (;;) {
    const auto records = client.next(interruption.descriptor());
    if (records.empty()) return;
    if (file.append(records) == records.size()) continue;
    if (file.error() == EPIPE) throw OutputClosed{};
    throw Failure(ExitCode::failure,
                  fmt::format("{}: {}", file.path().string(), std::generic_category().message(file.error())));
  }
}

void print(runtime::CaptureClient& client, const Interruption& interruption) {
  for (;;) {
    const auto records = client.next(interruption.descriptor());
    if (records.empty()) return;
    write_output(packet_lines(records));
    flush_output();
  }
}

void report(const Request& request, runtime::CaptureClient& client) {
  const auto report = client.report();
  if (request.router.json) {
    write_output(report.dump() + "\n");
  } else {
    const std::string text = in_words(report);
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  if (!report.contains("ended")) return;
  throw Failure(ExitCode::failure, fmt::format("the capture ends: {}", report.at("ended").get<std::string>()));
}

void capture(const Request& request) {
  const bool piped = request.file == kStandardOutput;
  if (piped && ::isatty(STDOUT_FILENO) == 1) {
    throw Failure(ExitCode::usage,
                  "a terminal cannot show a capture; pipe it on: penumbra capture ... -w - | tcpdump -r -");
  }
  if (request.router.json && (piped || request.file.empty())) {
    throw Failure(ExitCode::usage, "-j needs standard output; write the capture to a file with -w FILE");
  }
  if (!request.file.empty()) refuse_precious(request.file);
  const Interruption interruption;
  connected(request.router, [&](const std::filesystem::path& socket) {
    runtime::CaptureClient client(socket, request.what == kDrops ? "drops" : "port", request.arguments());
    if (request.file.empty()) {
      print(client, interruption);
      return report(request, client);
    }
    io::CaptureFile file(piped ? "/dev/stdout" : request.file);
    file.begin();
    write(client, file, interruption);
    report(request, client);
  });
}

void set_up_capture(CLI::App& command) {
  const auto request = std::make_shared<Request>();
  command.add_option("WHAT", request->what, "A port's name, or `drops` for the packets that the router drops")
      ->required()
      ->type_name("PORT|drops");
  command
      .add_option("-w,--write", request->file,
                  "The capture, rewritten: pcap with nanoseconds; - for standard output. If not given, a line a packet")
      ->type_name("FILE");
  command.add_option("--filter", request->filter, "Only packets that match this pcap filter expression")
      ->type_name("EXPRESSION");
  command.add_option("--count", request->count, "End after so many packets")->transform(as_count())->type_name("N");
  command.add_option("--snaplen", request->bytes, "Only the first bytes of each packet")
      ->transform(as_count())
      ->type_name("BYTES");
  command
      .add_option("--direction", request->direction, "Of a port: received packets (if not given), sent ones, or both")
      ->check(one_of({"rx", "tx", "both"}));
  command.add_flag("--punts", request->punts, "With drops: also packets that go to the host");
  command
      .add_option("--reason", request->reason, "With drops: only for this reason, as `show drops` has it: STAGE.REASON")
      ->type_name("REASON");
  add_router_options(command, request->router);
  command.footer(
      "Ends with --count, on SIGINT and SIGTERM, with the router, or when the port is removed (exit code 1), and then\n"
      "says how many packets it got and lost. It never slows the router: of what comes faster than it is taken,\n"
      "the capture loses packets, not the router.");
  command.callback([request] { capture(*request); });
}

const bool kCaptureCommand = register_command(
    {"capture", "Print packets that a running router receives, sends or drops, or write them into a file",
     set_up_capture});

}  // namespace
}  // namespace penumbra::cli
