// SPDX-License-Identifier: Apache-2.0
#include "runtime/capture_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "penumbra/errors.h"

namespace penumbra::runtime {
namespace {

std::uint64_t number(const std::string& option, const std::string& text, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc{} || rest != end || value == 0 || value > most) {
    throw std::invalid_argument(fmt::format("{}: expected a number from 1 to {}, found '{}'", option, most, text));
  }
  return value;
}

void set_direction(const std::string& value, CaptureRequest& request) {
  if (value != "rx" && value != "tx" && value != "both") {
    throw std::invalid_argument(fmt::format("--direction: expected rx, tx or both, found '{}'", value));
  }
  request.received = value != "tx";
  request.sent = value != "rx";
}

std::uint16_t reason_called(const std::string& name, const Pipeline& pipeline) {
  std::vector<std::string> names;
  names.reserve(pipeline.reasons().size());
  for (std::size_t i = 0; i < pipeline.reasons().size(); ++i) {
    const auto index = static_cast<std::uint16_t>(i);
    names.push_back(pipeline.reason_name(index));
    if (names.back() == name) return index;
  }
  throw std::invalid_argument(
      fmt::format("--reason: there is no reason '{}'; {}", name, did_you_mean_or_list(name, names)));
}

/// Sets an option. Some options are valid for captures of a port only, some for captures of drops only.
void set_option(const std::string& option, const std::string& value, bool of_port, const Pipeline& pipeline,
                CaptureRequest& request) {
  constexpr std::uint64_t kMostPackets = 1'000'000'000'000'000;
  if (option == "--filter") {
    request.filter = std::make_unique<PacketFilter>(value);
  } else if (option == "--count") {
    request.packets = number(option, value, kMostPackets);
  } else if (option == "--snaplen") {
    request.bytes = static_cast<std::uint32_t>(number(option, value, CaptureRequest::kMostBytes));
  } else if (option == "--direction" && of_port) {
    set_direction(value, request);
  } else if (option == "--punts" && !of_port) {
    request.punted = true;
  } else if (option == "--reason" && !of_port) {
    request.reason = reason_called(value, pipeline);
    const bool punt = pipeline.reasons()[*request.reason].reason.kind == Verdict::Kind::punt;
    (punt ? request.punted : request.dropped) = true;
  } else if (option == "--direction" || option == "--punts" || option == "--reason") {
    throw std::invalid_argument(
        fmt::format("{} goes with {}", option, of_port ? "dropped packets, not with a port's" : "a port"));
  } else {
    throw std::invalid_argument(fmt::format("unknown option '{}'", option));
  }
}

}  // namespace

CaptureRequest parse_capture_request(std::string_view what, std::span<const std::string> arguments,
                                     const Pipeline& pipeline, const std::vector<std::string>& ports) {
  CaptureRequest request;
  const bool of_port = what == "port";
  if (of_port) {
    if (arguments.empty()) throw std::invalid_argument("capture port: which?");
    const auto found = std::ranges::find(ports, arguments[0]);
    if (found == ports.end() || found->empty()) {
      throw std::invalid_argument(
          fmt::format("there is no port '{}'; {}", arguments[0], did_you_mean_or_list(arguments[0], ports)));
    }
    request.port = static_cast<std::uint16_t>(found - ports.begin());
    request.received = true;
    arguments = arguments.subspan(1);
  } else if (what == "drops") {
    request.dropped = true;
  } else {
    throw std::invalid_argument(fmt::format("capture knows port and drops, not '{}'", what));
  }
  for (std::size_t at = 0; at < arguments.size(); at += 2) {
    if (at + 1 == arguments.size()) throw std::invalid_argument(fmt::format("{}: a value is missing", arguments[at]));
    set_option(arguments[at], arguments[at + 1], of_port, pipeline, request);
  }
  return request;
}

}  // namespace penumbra::runtime
