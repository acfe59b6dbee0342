// SPDX-License-Identifier: Apache-2.0
#include "runtime/control_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "runtime/refusal.h"

namespace penumbra::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns a short text unchanged, and the beginning and the size of a long text. Requests may contain full tables,
/// which are too long to copy.
std::string shortened(std::string_view text) {
  constexpr std::size_t kMost = 200;
  if (text.size() <= kMost) return std::string(text);
  return fmt::format("{}... ({} bytes)", text.substr(0, kMost), text.size());
}

/// Returns the words of a request in one line, whatever bytes the request contains.
std::string in_words(const ControlRequest& request) {
  constexpr std::size_t kMost = 1000;
  auto words = nlohmann::ordered_json::array({shortened(request.command), shortened(request.topic)});
  for (const auto& argument : request.arguments) {
    words.push_back(shortened(argument));
    if (words.size() > kMost) break;
  }
  std::string text = words.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  if (text.size() > kMost) text.replace(kMost, std::string::npos, "...");
  return text;
}

std::string peer_in_words(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return "uid unknown";
  return fmt::format("uid {} gid {} pid {}", peer.uid, peer.gid, peer.pid);
}

/// Returns the exception's message as JSON in one line.
std::string quoted(const std::exception& error) {
  return nlohmann::ordered_json(shortened(error.what()))
      .dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

/// Serves a connection. Holds a partial request and the rest of an answer. While an answer is incomplete, the server
/// reads nothing from the client.
class ControlServer::Client {
 public:
  Client(int socket, bool is_read_only, const ControlService& service)
      : socket_(socket),
        peer_(peer_in_words(socket)),
        is_read_only_(is_read_only),
        service_(service),
        active_(Clock::now()) {}

  int socket() const { return socket_.get(); }
  short events() const { return output_.empty() ? POLLIN : POLLOUT; }
  bool is_done() const { return done_; }
  Clock::time_point last_active() const { return active_; }

  /// Handles the events that poll() has reported.
  void take(short events) {
    if ((events & POLLOUT) != 0) {
      write();
    } else if ((events & POLLIN) != 0) {
      read();
    } else if (events != 0) {
      done_ = true;
    }
  }

 private:
  void read() {
    std::array<char, 65536> bytes;
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

  void answer_next() {
    const std::size_t end = input_.find('\n', searched_);
    searched_ = end == std::string::npos ? input_.size() : 0;
    const std::size_t most = is_read_only_ ? kMostReadOnlyLineBytes : kMostLineBytes;
    if (std::min(end, input_.size()) > most) {
      const auto rule = fmt::format("a request must have at most {} bytes", most);
      output_ = refusal_line(std::invalid_argument(rule)) + '\n';
      input_ = {};
      searched_ = 0;
      hang_up_ = true;
    } else if (end != std::string::npos) {
      const std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      carry_out(line);
    }
  }

  /// Appends the answer to the output, or gives the connection to the stream command.
  void carry_out(const std::string& line) {
    ControlRequest request;
    bool is_audited = false;
    try {
      request = parse_request(line);
      is_audited = service_.is_privileged && service_.is_privileged(request);
      if (is_audited && is_read_only_) {
        throw RouterRefusal(
            RefusalKind::permission,
            fmt::format("{}: this control socket only shows; ask on the router's other one", request.command), {});
      }
      if (request.command == service_.stream.command) {
        service_.stream.start(request.topic, request.arguments, socket_);
        done_ = true;
      } else {
        output_ = success_line(service_.handle(request.command, request.topic, request.arguments)) + '\n';
      }
      if (is_audited) audit(request, "done");
    } catch (const std::exception& error) {
      output_ = refusal_line(error) + '\n';
      if (is_audited) audit(request, "refused: " + quoted(error));
    }
  }

  void audit(const ControlRequest& request, std::string_view result) const {
    if (service_.audit) service_.audit(fmt::format("audit: {} asked for {}: {}", peer_, in_words(request), result));
  }

  FileDescriptor socket_;
  const std::string peer_;
  const bool is_read_only_;
  const ControlService& service_;
  std::string input_;
  std::size_t searched_ = 0;  ///< Bytes of the input without a newline.
  std::string output_;
  std::size_t written_ = 0;  ///< Bytes of the output that were written.
  bool hang_up_ = false;     ///< True if the connection closes after the output.
  bool done_ = false;
  Clock::time_point active_;
};

ControlServer::ControlServer(const control::ControlSockets& sockets) {
  const auto listen = [this](const auto& path, const auto& access, bool is_read_only) {
    Entrance& entrance = entrances_.emplace_back();
    entrance.listener = std::make_unique<ListeningSocket>(path, access);
    entrance.is_read_only = is_read_only;
  };
  listen(sockets.socket, sockets.access, false);
  if (!sockets.read_only_socket.empty()) listen(sockets.read_only_socket, sockets.read_only_access, true);
  wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd for the control socket");
}

ControlServer::~ControlServer() {
  stop();
}

void ControlServer::start(ControlService service) {
  service_ = std::move(service);
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
    polled = {{wake_.get(), POLLIN, 0}};
    bool waits_for_time = false;  // A silent client or a pause needs a timeout.
    for (const Entrance& entrance : entrances_) {
      const bool accepts = entrance.accepts();
      waits_for_time = waits_for_time || !accepts || !entrance.clients.empty();
      polled.push_back({entrance.listener->descriptor(), static_cast<short>(accepts ? POLLIN : 0), 0});
      for (const auto& client : entrance.clients) polled.push_back({client->socket(), client->events(), 0});
    }
    constexpr int kSecond = 1000;
    if (::poll(polled.data(), polled.size(), waits_for_time ? kSecond : -1) < 0) continue;
    if (polled[0].revents != 0) break;
    const Clock::time_point oldest = Clock::now() - kPatience;
    auto next = polled.begin() + 1;
    for (Entrance& entrance : entrances_) {
      const bool is_asked = (next++)->revents != 0;
      for (const auto& client : entrance.clients) client->take((next++)->revents);
      std::erase_if(entrance.clients,
                    [&](const auto& each) { return each->is_done() || each->last_active() < oldest; });
      if (is_asked) accept_client(entrance);
    }
  }
  for (Entrance& entrance : entrances_) entrance.clients.clear();
}

void ControlServer::accept_client(Entrance& entrance) {
  const int socket = ::accept4(entrance.listener->descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket >= 0) {
    entrance.clients.push_back(std::make_unique<Client>(socket, entrance.is_read_only, service_));
  } else {
    entrance.pause.note(errno);
  }
}

}  // namespace penumbra::runtime
