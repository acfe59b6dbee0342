// SPDX-License-Identifier: Apache-2.0
#include "runtime/control_client.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "runtime/unix_socket.h"

namespace penumbra::runtime {
namespace {

using Clock = std::chrono::steady_clock;

FileDescriptor connect_to_router(const std::filesystem::path& path) {
  const sockaddr_un address = unix_address(path);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw socket_error(path, "cannot make a socket");
  if (connect_to(socket.get(), address) == 0) return socket;
  if (errno == ENOENT || errno == ECONNREFUSED) {
    throw std::runtime_error(fmt::format(
        "no router listens on {}; start one with `penumbra run CONFIG.yaml`, or name its socket", path.string()));
  }
  throw socket_error(path, "cannot connect to the router");
}

/// Waits until the socket is ready. Throws std::runtime_error at the deadline.
void wait_for(const FileDescriptor& socket, short event, Clock::time_point deadline,
              const std::filesystem::path& path) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd polled{socket.get(), event, 0};
    const int ready = left <= 0 ? 0 : ::poll(&polled, 1, static_cast<int>(left));
    if (ready > 0) return;
    if (ready == 0) throw std::runtime_error(fmt::format("{}: the router did not answer in time", path.string()));
    if (errno != EINTR) throw socket_error(path, "cannot wait for the router");
  }
}

void send_all(const FileDescriptor& socket, std::string_view text, Clock::time_point deadline,
              const std::filesystem::path& path) {
  while (!text.empty()) {
    wait_for(socket, POLLOUT, deadline, path);
    const ssize_t count = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) throw socket_error(path, "cannot send to the router");
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string receive_line(const FileDescriptor& socket, Clock::time_point deadline, const std::filesystem::path& path) {
  std::string text;
  std::array<char, 65536> bytes;
  while (text.empty() || text.back() != '\n') {
    wait_for(socket, POLLIN, deadline, path);
    const ssize_t count = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (count == 0) throw std::runtime_error(fmt::format("{}: the router hung up", path.string()));
    if (count < 0 && errno != EAGAIN && errno != EINTR) throw socket_error(path, "cannot receive from the router");
    if (count > 0) text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

nlohmann::ordered_json ask_router(const std::filesystem::path& socket, std::string_view command, std::string_view topic,
                                  std::span<const std::string> arguments, std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  const FileDescriptor connection = connect_to_router(socket);
  const nlohmann::ordered_json request{{"command", command}, {"topic", topic}, {"arguments", arguments}};
  send_all(connection, request.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n", deadline,
           socket);
  const auto answer = nlohmann::ordered_json::parse(receive_line(connection, deadline, socket), nullptr, false);
  if (!answer.is_object() || !answer.contains("ok") || !answer["ok"].is_boolean()) {
    throw std::runtime_error(fmt::format("{}: this is no router's answer", socket.string()));
  }
  if (!answer["ok"].get<bool>()) throw RouterRefusal(answer.value("error", "refused without a reason"));
  return answer.value("result", nlohmann::ordered_json());
}

}  // namespace penumbra::runtime
