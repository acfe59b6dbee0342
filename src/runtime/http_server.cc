// SPDX-License-Identifier: Apache-2.0
#include "runtime/http_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

namespace penumbra::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

std::string response(std::string_view status, std::string_view content_type, std::string_view body, bool with_body,
                     std::string_view more = "") {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}", status,
                     content_type, body.size(), more, with_body ? body : std::string_view());
}

std::string refusal(std::string_view status, std::string_view more = "") {
  return response(status, kPlainText, std::string(status) + "\n", true, more);
}

/// Takes and returns the text before the next blank.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

}  // namespace

// Parses the request line (RFC 9112, section 3).
std::optional<std::string> http_answer(const std::string& request, const HttpPages& pages) {
  const std::size_t end = std::min(request.find("\r\n\r\n"), request.find("\n\n"));
  if (std::min(end, request.size()) > HttpServer::kMostRequestBytes) {
    return refusal("431 Request Header Fields Too Large");
  }
  if (end == std::string::npos) return std::nullopt;
  std::string_view line(request.data(), std::min(request.find('\n'), request.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::string_view method = take_word(line), target = take_word(line), version = take_word(line);
  if (method.empty() || !target.starts_with('/') || !version.starts_with("HTTP/1.") || !line.empty()) {
    return refusal("400 Bad Request");
  }
  if (method != "GET" && method != "HEAD") return refusal("405 Method Not Allowed", "Allow: GET, HEAD\r\n");
  const auto page = pages(std::string(target.substr(0, target.find('?'))));
  if (!page) return refusal("404 Not Found");
  return response("200 OK", page->content_type, page->body, method == "GET");
}

/// Serves a connection. It receives the request, sends the answer, and then waits for the client to close. If the
/// server closed first, the client could lose the answer (RFC 9112, section 9.6).
class HttpServer::Client {
 public:
  explicit Client(int socket) : socket_(socket), deadline_(Clock::now() + kPatience) {}

  int socket() const { return socket_.get(); }
  short events() const { return written_ < output_.size() ? POLLOUT : POLLIN; }
  Clock::time_point deadline() const { return deadline_; }
  bool is_done() const { return done_; }

  void handle(short events, const HttpPages& pages) {
    if ((events & POLLOUT) != 0) {
      write();
    } else if ((events & POLLIN) != 0) {
      read(pages);
    } else if (events != 0) {
      done_ = true;
    }
  }

 private:
  void read(const HttpPages& pages) {
    std::array<char, 4096> bytes;
    const ssize_t count = ::recv(socket(), bytes.data(), bytes.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      done_ = true;
      return;
    }
    if (answered_) return;  // Data after the request is ignored.
    input_.append(bytes.data(), static_cast<std::size_t>(count));
    auto answer = http_answer(input_, pages);
    if (!answer) return;
    answered_ = true;
    input_ = {};
    output_ = std::move(*answer);
    write();
  }

  void write() {
    const ssize_t count = ::send(socket(), output_.data() + written_, output_.size() - written_, MSG_NOSIGNAL);
    if (count < 0) {
      done_ = done_ || (errno != EAGAIN && errno != EINTR);
      return;
    }
    written_ += static_cast<std::size_t>(count);
    if (written_ < output_.size()) return;
    output_ = {};
    written_ = 0;
    ::shutdown(socket(), SHUT_WR);
  }

  FileDescriptor socket_;
  const Clock::time_point deadline_;
  std::string input_, output_;
  std::size_t written_ = 0;  ///< Bytes of the output that were written.
  bool answered_ = false;
  bool done_ = false;
};

HttpServer::HttpServer(FileDescriptor listener)
    : listener_(std::move(listener)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
}

HttpServer::~HttpServer() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

void HttpServer::start(HttpPages pages) {
  pages_ = std::move(pages);
  thread_ = std::jthread([this] { serve(); });
}

void HttpServer::serve() {
  constexpr int kSecond = 1000;
  pthread_setname_np(pthread_self(), "http");
  std::vector<pollfd> polled;
  for (;;) {
    polled = {{wake_.get(), POLLIN, 0}, {listener_.get(), static_cast<short>(pause_.is_over() ? POLLIN : 0), 0}};
    for (const auto& client : clients_) polled.push_back({client->socket(), client->events(), 0});
    if (::poll(polled.data(), polled.size(), clients_.empty() && pause_.is_over() ? -1 : kSecond) < 0) continue;
    if (polled[0].revents != 0) break;
    for (std::size_t i = 0; i < clients_.size(); ++i) clients_[i]->handle(polled[i + 2].revents, pages_);
    std::erase_if(clients_,
                  [now = Clock::now()](const auto& each) { return each->is_done() || each->deadline() < now; });
    if (polled[1].revents != 0) accept_clients();
  }
  clients_.clear();
}

/// Accepts all waiting clients, so that many silent clients do not delay an active one.
void HttpServer::accept_clients() {
  for (std::size_t accepted = 0; accepted < kMostClients; ++accepted) {
    const int socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) return pause_.note(errno);
    if (clients_.size() == kMostClients) clients_.erase(clients_.begin());
    clients_.push_back(std::make_unique<Client>(socket));
  }
}

}  // namespace penumbra::runtime
