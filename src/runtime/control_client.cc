// SPDX-License-Identifier: Apache-2.0
#include "runtime/control_client.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "runtime/unix_socket.h"

namespace penumbra::runtime {
namespace {

FileDescriptor connect_to_router(const std::filesystem::path& path) {
  const sockaddr_un address = unix_address(path);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw socket_error(path, "cannot make a socket");
  if (connect_to(socket.get(), address) == 0) return socket;
  if (errno == ENOENT || errno == ECONNREFUSED) {
    throw std::runtime_error(fmt::format(
        "no router listens on {}; start one with `penumbra run CONFIG.yaml`, or name its socket", path.string()));
  }
  if (errno == EACCES) {
    throw socket_error(path, "cannot connect to the router (name its read-only socket, or ask as its user)");
  }
  throw socket_error(path, "cannot connect to the router");
}

}  // namespace

RouterConnection::RouterConnection(const std::filesystem::path& socket)
    : path_(socket), socket_(connect_to_router(socket)) {}

/// Waits until the socket is ready. Throws std::runtime_error at the deadline.
void RouterConnection::wait_for(short event, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd polled{socket_.get(), event, 0};
    const int ready = left <= 0 ? 0 : ::poll(&polled, 1, static_cast<int>(left));
    if (ready > 0) return;
    if (ready == 0) throw std::runtime_error(fmt::format("{}: the router did not answer in time", path_.string()));
    if (errno != EINTR) throw socket_error(path_, "cannot wait for the router");
  }
}

void RouterConnection::send_all(std::string_view text, Clock::time_point deadline) {
  while (!text.empty()) {
    wait_for(POLLOUT, deadline);
    const ssize_t count = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) throw socket_error(path_, "cannot send to the router");
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void RouterConnection::receive_more() {
  std::array<char, 65536> bytes;
  const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  // ECONNRESET: the router closed the connection before it accepted it.
  if (count == 0 || (count < 0 && errno == ECONNRESET)) {
    throw std::runtime_error(fmt::format("{}: the router hung up", path_.string()));
  }
  if (count < 0 && errno != EAGAIN && errno != EINTR) throw socket_error(path_, "cannot receive from the router");
  if (count > 0) text_.append(bytes.data(), static_cast<std::size_t>(count));
}

std::string RouterConnection::receive_line(Clock::time_point deadline) {
  std::size_t end = 0;
  while ((end = text_.find('\n')) == std::string::npos) {
    wait_for(POLLIN, deadline);
    receive_more();
  }
  std::string line = text_.substr(0, end);
  text_.erase(0, end + 1);
  return line;
}

nlohmann::ordered_json RouterConnection::request(std::string_view command, std::string_view topic,
                                                 std::span<const std::string> arguments, Clock::time_point deadline) {
  const nlohmann::ordered_json request{{"command", command}, {"topic", topic}, {"arguments", arguments}};
  send_all(request.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n", deadline);
  const auto answer = nlohmann::ordered_json::parse(receive_line(deadline), nullptr, false);
  if (!answer.is_object() || !answer.contains("ok") || !answer["ok"].is_boolean()) {
    throw std::runtime_error(fmt::format("{}: this is no router's answer", path_.string()));
  }
  if (!answer["ok"].get<bool>()) throw refusal_of(answer);
  return answer.value("result", nlohmann::ordered_json());
}

void RouterConnection::receive(std::span<std::uint8_t> bytes, int interrupted) {
  while (text_.size() < bytes.size()) {
    std::array<pollfd, 2> polled{{{socket_.get(), POLLIN, 0}, {told_ ? -1 : interrupted, POLLIN, 0}}};
    if (::poll(polled.data(), polled.size(), -1) < 0) continue;
    if (polled[1].revents != 0) {
      told_ = true;
      ::shutdown(socket_.get(), SHUT_WR);
    }
    if (polled[0].revents != 0) receive_more();
  }
  std::memcpy(bytes.data(), text_.data(), bytes.size());
  text_.erase(0, bytes.size());
}

nlohmann::ordered_json ask_router(const std::filesystem::path& socket, std::string_view command, std::string_view topic,
                                  std::span<const std::string> arguments, std::chrono::milliseconds timeout) {
  return RouterConnection(socket).request(command, topic, arguments, RouterConnection::Clock::now() + timeout);
}

}  // namespace penumbra::runtime
