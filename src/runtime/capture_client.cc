// SPDX-License-Identifier: Apache-2.0
#include "runtime/capture_client.h"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

namespace penumbra::runtime {
namespace {

constexpr std::chrono::seconds kTimeout{10};

}  // namespace

CaptureClient::CaptureClient(const std::filesystem::path& socket, std::string_view what,
                             std::span<const std::string> arguments)
    : connection_(socket) {
  connection_.request("capture", what, arguments, RouterConnection::Clock::now() + kTimeout);
}

std::span<const std::uint8_t> CaptureClient::next(int interrupted) {
  constexpr std::uint32_t kMost = 1U << 24;  // Far more than the router sends in a frame.
  std::array<std::uint8_t, sizeof(std::uint32_t)> head{};
  connection_.receive(head, interrupted);
  std::uint32_t size = 0;
  std::memcpy(&size, head.data(), sizeof size);
  if (size > kMost) throw std::runtime_error("this is no router's capture");
  frame_.resize(size);
  connection_.receive(frame_, interrupted);
  return frame_;
}

nlohmann::ordered_json CaptureClient::report() {
  auto report = nlohmann::ordered_json::parse(connection_.receive_line(RouterConnection::Clock::now() + kTimeout),
                                              nullptr, false);
  if (!report.is_object()) throw std::runtime_error("this is no router's capture");
  return report;
}

}  // namespace penumbra::runtime
