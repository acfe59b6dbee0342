// SPDX-License-Identifier: Apache-2.0
//
// `penumbra capture PORT|drops [-w FILE]`: packets of a running router, as lines or into a capture.
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

struct Wish {
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

/// Writes what comes until there is no more. Throws Failure if the file takes it no longer, OutputClosed if that is a
/// pipe that nobody reads.
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

void report(const Wish& wish, runtime::CaptureClient& client) {
  const auto report = client.report();
  if (wish.router.json) {
    write_output(report.dump() + "\n");
  } else {
    const std::string text = in_words(report);
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  if (!report.contains("ended")) return;
  throw Failure(ExitCode::failure, fmt::format("the capture ends: {}", report.at("ended").get<std::string>()));
}

void capture(const Wish& wish) {
  const bool piped = wish.file == kStandardOutput;
  if (piped && ::isatty(STDOUT_FILENO) == 1) {
    throw Failure(ExitCode::usage,
                  "a terminal cannot show a capture; pipe it on: penumbra capture ... -w - | tcpdump -r -");
  }
  if (wish.router.json && (piped || wish.file.empty())) {
    throw Failure(ExitCode::usage, "-j needs standard output; write the capture to a file with -w FILE");
  }
  if (!wish.file.empty()) refuse_precious(wish.file);
  const Interruption interruption;
  connected(wish.router, [&](const std::filesystem::path& socket) {
    runtime::CaptureClient client(socket, wish.what == kDrops ? "drops" : "port", wish.arguments());
    if (wish.file.empty()) {
      print(client, interruption);
      return report(wish, client);
    }
    io::CaptureFile file(piped ? "/dev/stdout" : wish.file);
    file.begin();
    write(client, file, interruption);
    report(wish, client);
  });
}

void set_up_capture(CLI::App& command) {
  const auto wish = std::make_shared<Wish>();
  command.add_option("WHAT", wish->what, "A port's name, or `drops` for the packets that the router drops")
      ->required()
      ->type_name("PORT|drops");
  command
      .add_option(
          "-w,--write", wish->file,
          "The capture, written anew: pcap with nanoseconds; - for standard output. If not given, a line a packet")
      ->type_name("FILE");
  command.add_option("--filter", wish->filter, "Only packets that match this pcap filter expression")
      ->type_name("EXPRESSION");
  command.add_option("--count", wish->count, "End after so many packets")->transform(as_count())->type_name("N");
  command.add_option("--snaplen", wish->bytes, "Only the first bytes of each packet")
      ->transform(as_count())
      ->type_name("BYTES");
  command.add_option("--direction", wish->direction, "Of a port: received packets (if not given), sent ones, or both")
      ->check(one_of({"rx", "tx", "both"}));
  command.add_flag("--punts", wish->punts, "With drops: also packets that go to the host");
  command
      .add_option("--reason", wish->reason, "With drops: only for this reason, as `show drops` has it: STAGE.REASON")
      ->type_name("REASON");
  add_router_options(command, wish->router);
  command.footer(
      "Ends with --count, on SIGINT and SIGTERM, with the router, or when the port is removed (exit code 1), and then\n"
      "says how many packets it got and lost. It never slows the router: of what comes faster than it is taken,\n"
      "the capture loses packets, not the router.");
  command.callback([wish] { capture(*wish); });
}

const bool kCaptureCommand = register_command(
    {"capture", "Print packets that a running router receives, sends or drops, or write them into a file",
     set_up_capture});

}  // namespace
}  // namespace penumbra::cli
