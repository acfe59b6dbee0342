// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/gen.h"
#include "cli/output.h"
#include "io/capture_writer.h"
#include "io/output_file.h"
#include "io/traffic.h"

namespace penumbra::cli {
namespace {

struct TrafficOptions {
  std::uint64_t packets = 1'000'000;
  std::string routes, size = "imix", destinations = "uniform", output;
  double odd_percent = 0;
  std::uint64_t seed = 1;
  bool ipv6 = false, json = false;
};

std::string size_help(bool ipv6) {
  return fmt::format("expected imix or the bytes of an {} frame without FCS, {} to {}{}", ipv6 ? "IPv6" : "IPv4",
                     control::SynthSource::least_frame(ipv6), control::SynthSource::kLargestFrame,
                     ipv6 ? ": its headers of Ethernet, IPv6 and UDP take 14 + 40 + 8" : "");
}

constexpr const char* kDestinationsHelp = "expected uniform, prefixes or zipf[:FLOWS[:EXPONENT]]";

control::SynthSource parse_source(const TrafficOptions& options) {
  control::SynthSource source;
  source.ipv6 = options.ipv6;
  source.count = options.packets;
  source.seed = options.seed;
  const auto bytes = control::parse_frame_size(options.size, options.ipv6);
  if (!bytes) throw CLI::ValidationError("--size", size_help(options.ipv6));
  source.frame_bytes = *bytes;
  const bool prefixes = options.destinations == "prefixes";
  if (prefixes && options.routes.empty()) {
    throw CLI::ValidationError("--dst", "prefixes are taken from --routes FILE, which is missing");
  }
  if (!prefixes && !options.routes.empty()) {
    throw CLI::ValidationError("--routes", "prefixes are taken from it with --dst prefixes only");
  }
  if (!control::parse_destinations(prefixes ? "prefixes:" + options.routes : options.destinations, source)) {
    throw CLI::ValidationError("--dst", kDestinationsHelp);
  }
  return source;
}

void generate(const TrafficOptions& options) {
  const control::SynthSource source = parse_source(options);
  const bool to_output = options.output == kStandardOutput;
  if (to_output && options.json) {
    throw Failure(ExitCode::usage, "-j needs standard output; write the capture to a file");
  }
  if (!options.routes.empty() && !to_output && io::same_file(options.routes, options.output)) {
    throw Failure(ExitCode::usage, fmt::format("{} is read, and cannot be written too", options.output));
  }
  refuse_precious(options.output);
  const io::Traffic traffic(source, io::TrafficMix{.odd_share = options.odd_percent / 100});
  io::CaptureFile file(to_output ? "/dev/stdout" : options.output);
  file.begin();
  io::CaptureWriter writer(file);
  std::vector<std::uint8_t> frame(control::SynthSource::kLargestFrame);
  constexpr std::uint64_t kNanosecondsApart = 1000;
  std::uint64_t bytes_made = 0;
  for (std::uint64_t i = 0; i < options.packets && file.error() == 0; ++i) {
    const std::size_t bytes = traffic.fill(i, frame);
    bytes_made += bytes;
    writer.add(i * kNanosecondsApart, {frame.data(), bytes});
  }
  writer.flush();
  if (file.error() != 0) {
    if (to_output && file.error() == EPIPE) throw OutputClosed{};
    throw Failure(ExitCode::failure,
                  fmt::format("{}: cannot be written: {}", options.output, std::strerror(file.error())));
  }
  if (!options.json) return;
  const nlohmann::ordered_json made{{"file", options.output}, {"packets", options.packets}, {"bytes", bytes_made}};
  write_output(made.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace

void set_up_gen_traffic(CLI::App& command) {
  const auto options = std::make_shared<TrafficOptions>();
  command.add_flag("-6,--ipv6", options->ipv6, "Packets and routes of IPv6");
  command.add_option("--packets", options->packets, "How many packets")
      ->transform(as_count())
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--routes", options->routes, "The route file whose prefixes are the destinations of --dst prefixes")
      ->type_name("FILE");
  command
      .add_option(
          "--size", options->size,
          "Bytes of a frame without FCS, 60 (of IPv6 62) to 9214; or imix: 7 of the shortest, 4 of 590, 1 of 1514")
      ->type_name("BYTES|imix")
      ->capture_default_str();
  command
      .add_option("--dst", options->destinations,
                  "uniform (over all addresses, of IPv6 2000::/3), prefixes (uniform over those of --routes) or "
                  "zipf[:FLOWS[:EXPONENT]] (over "
                  "that many flows, 10000 if not given, with that exponent, 1 if not given)")
      ->type_name("DESTINATIONS")
      ->capture_default_str();
  command
      .add_option(
          "--odd", options->odd_percent,
          "Percentage of odd packets: expired, malformed, martian, fragments, multicast, ARP, the other family and "
          "so on")
      ->check(CLI::Range(0.0, 100.0).description(""))
      ->type_name("PERCENT")
      ->capture_default_str();
  command.add_option("--seed", options->seed, "Another seed gives other traffic")
      ->check(as_seed())
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option(
          "-o,--output", options->output,
          "The capture to write, pcap with nanosecond timestamps, never over a file that is none; - is standard "
          "output")
      ->required()
      ->type_name("FILE");
  add_json_flag(command, options->json)->description("Print packets, bytes of their frames and file as JSON");
  command.callback([options] { generate(*options); });
}

}  // namespace penumbra::cli
