// SPDX-License-Identifier: Apache-2.0
#include "runtime/control_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/refusal.h"
#include "runtime/unix_socket.h"

namespace penumbra::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Strings that are no UTF-8 (a port's, a packet's) are no reason to fail.
std::string dump(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string refusal(const std::exception& error) {
  return dump(to_answer(error));
}

/// A text in the request. Throws std::invalid_argument.
std::string text_of(const nlohmann::ordered_json& value, const char* what) {
  if (!value.is_string()) throw std::invalid_argument(fmt::format("expected {} to be a string", what));
  return value.get<std::string>();
}

struct Request {
  std::string command, topic;
  std::vector<std::string> arguments;
};

/// Throws std::invalid_argument.
Request parse_request(std::string_view line) {
  const auto request = nlohmann::ordered_json::parse(line, nullptr, false);
  if (request.is_discarded()) throw std::invalid_argument("not valid JSON");
  if (!request.is_object()) throw std::invalid_argument("expected a JSON object");
  for (const auto& [key, value] : request.items()) {
    if (key != "command" && key != "topic" && key != "arguments") {
      throw std::invalid_argument(fmt::format("unknown key '{}'; valid keys: command, topic, arguments", key));
    }
  }
  if (!request.contains("command")) throw std::invalid_argument("'command' is missing");
  if (!request.contains("topic")) throw std::invalid_argument("'topic' is missing");
  Request parsed{.command = text_of(request["command"], "'command'"),
                 .topic = text_of(request["topic"], "'topic'"),
                 .arguments = {}};
  if (request.contains("arguments")) {
    if (!request["arguments"].is_array()) throw std::invalid_argument("expected 'arguments' to be a list of strings");
    for (const auto& argument : request["arguments"]) parsed.arguments.push_back(text_of(argument, "each argument"));
  }
  return parsed;
}

/// Whether something listens behind a socket's path.
bool is_alive(const sockaddr_un& address) {
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return connect_to(socket.get(), address) == 0 || errno != ECONNREFUSED;
}

/// A folder in which others could put a socket of theirs in place of ours is none for it.
void require_own(const std::filesystem::path& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) return;  // binding says why
  const bool foreign = status.st_uid != ::geteuid() && status.st_uid != 0 && ::geteuid() != 0;
  const bool open_to_all = (status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0;
  if (!foreign && !open_to_all) return;
  throw std::runtime_error(fmt::format(
      "{}: other users could replace a control socket in this folder; choose another with `control: {{socket: PATH}}`",
      folder.string()));
}

FileDescriptor listen_on(const std::filesystem::path& path) {
  constexpr mode_t kOwnerOnly = 0600, kFolderOwnerOnly = 0700;
  const sockaddr_un address = unix_address(path);
  if (path.has_parent_path() && ::mkdir(path.parent_path().c_str(), kFolderOwnerOnly) != 0 && errno != EEXIST) {
    throw socket_error(path, "cannot make the control socket's folder");
  }
  require_own(path.has_parent_path() ? path.parent_path() : ".");
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // The mode of a socket that is not bound yet is what its path will have: no moment in which others could connect.
  if (!socket || ::fchmod(socket.get(), kOwnerOnly) != 0) throw socket_error(path, "cannot make a control socket");
  if (bind_to(socket.get(), address) != 0) {
    struct stat status{};
    const bool stale = errno == EADDRINUSE && ::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
    if (!stale) throw socket_error(path, "cannot make the control socket");
    if (is_alive(address)) {
      throw std::runtime_error(path.string() +
                               ": another router listens on this control socket; give this one its own "
                               "with `control: {socket: PATH}`");
    }
    if (::unlink(path.c_str()) != 0 || bind_to(socket.get(), address) != 0) {
      throw socket_error(path, "cannot replace the control socket of a router that is gone");
    }
  }
  if (::listen(socket.get(), SOMAXCONN) != 0) throw socket_error(path, "cannot listen on the control socket");
  return socket;
}

}  // namespace

std::string answer(const RequestHandler& handler, std::string_view line) {
  try {
    const Request request = parse_request(line);
    return dump({{"ok", true}, {"result", handler(request.command, request.topic, request.arguments)}});
  } catch (const std::exception& error) {
    return refusal(error);
  }
}

/// A connection: what came of a request so far, what is left of an answer. While an answer is left, no more is read.
class ControlServer::Client {
 public:
  Client(int socket, const RequestHandler& handler, const StreamCommand& stream)
      : socket_(socket), handler_(handler), stream_(stream), active_(Clock::now()) {}

  int socket() const { return socket_.get(); }
  short events() const { return output_.empty() ? POLLIN : POLLOUT; }
  bool is_done() const { return done_; }
  void hang_up() { done_ = true; }
  Clock::time_point last_active() const { return active_; }

  void read() {
    std::array<char, 4096> bytes;
    const ssize_t count = ::recv(socket(), bytes.data(), bytes.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      done_ = true;
      return;
    }
    active_ = Clock::now();
    input_.append(bytes.data(), static_cast<std::size_t>(count));
    answer_next();
  }

  void write() {
    const ssize_t count = ::send(socket(), output_.data() + written_, output_.size() - written_, MSG_NOSIGNAL);
    if (count < 0) {
      done_ = done_ || (errno != EAGAIN && errno != EINTR);
      return;
    }
    active_ = Clock::now();
    written_ += static_cast<std::size_t>(count);
    if (written_ < output_.size()) return;
    output_ = {};
    written_ = 0;
    done_ = hang_up_;
    answer_next();
  }

 private:
  void answer_next() {
    const std::size_t end = input_.find('\n');
    if (std::min(end, input_.size()) > kMostLineBytes) {
      const auto rule = fmt::format("a request must have at most {} bytes", kMostLineBytes);
      output_ = refusal(std::invalid_argument(rule)) + '\n';
      input_ = {};
      hang_up_ = true;
    } else if (end != std::string::npos) {
      const std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      if (!hand_over(line)) output_ = answer(handler_, line) + '\n';
    }
  }

  /// Gives the connection away if the stream's command was asked for, or answers why not. False for all else.
  bool hand_over(const std::string& line) {
    try {
      const Request request = parse_request(line);
      if (request.command != stream_.command) return false;
      stream_.start(request.topic, request.arguments, socket_);
      done_ = true;
    } catch (const std::exception& error) {
      output_ = refusal(error) + '\n';
    }
    return true;
  }

  FileDescriptor socket_;
  const RequestHandler& handler_;
  const StreamCommand& stream_;
  std::string input_;
  std::string output_;
  std::size_t written_ = 0;  ///< of the output
  bool hang_up_ = false;     ///< after the output
  bool done_ = false;
  Clock::time_point active_;
};

ControlServer::ControlServer(std::filesystem::path path) : path_(std::move(path)) {
  listener_ = listen_on(path_);
  wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) {
    ::unlink(path_.c_str());
    throw socket_error(path_, "cannot make an eventfd");
  }
}

ControlServer::~ControlServer() {
  stop();
  ::unlink(path_.c_str());
}

void ControlServer::start(RequestHandler handler, StreamCommand stream) {
  handler_ = std::move(handler);
  stream_ = std::move(stream);
  thread_ = std::jthread([this] { serve(); });
}

void ControlServer::stop() noexcept {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

void ControlServer::serve() {
  std::vector<pollfd> polled;
  for (;;) {
    const bool accepting = clients_.size() < kMostClients && pause_.is_over();
    polled = {{wake_.get(), POLLIN, 0}, {listener_.get(), static_cast<short>(accepting ? POLLIN : 0), 0}};
    for (const auto& client : clients_) polled.push_back({client->socket(), client->events(), 0});
    constexpr int kSecond = 1000;
    if (::poll(polled.data(), polled.size(), clients_.empty() && accepting ? -1 : kSecond) < 0) continue;
    if (polled[0].revents != 0) break;
    const Clock::time_point oldest = Clock::now() - kPatience;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      const short events = polled[i + 2].revents;
      if ((events & POLLOUT) != 0) {
        clients_[i]->write();
      } else if ((events & POLLIN) != 0) {
        clients_[i]->read();
      } else if (events != 0) {
        clients_[i]->hang_up();
      }
    }
    std::erase_if(clients_, [&](const auto& each) { return each->is_done() || each->last_active() < oldest; });
    if (polled[1].revents != 0) accept_client();
  }
  clients_.clear();
}

void ControlServer::accept_client() {
  const int socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket >= 0) {
    clients_.push_back(std::make_unique<Client>(socket, handler_, stream_));
  } else {
    pause_.note(errno);
  }
}

}  // namespace penumbra::runtime
