// SPDX-License-Identifier: Apache-2.0
//
// Serves pages by HTTP to occasional clients such as monitoring systems. One thread serves all clients. A slow client,
// or an unfinished request, does not delay other clients.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/accept_pause.h"
#include "base/file_descriptor.h"

namespace penumbra::runtime {

struct HttpPage {
  std::string content_type, body;
};
/// Returns the page of a path ("/metrics"), or nothing. The server's thread calls this function.
using HttpPages = std::function<std::optional<HttpPage>(const std::string& path)>;

/// Returns the whole answer to the bytes that a client has sent so far. `pages` answers GET and HEAD; other methods are
/// refused. Returns nothing while the request's header is incomplete.
std::optional<std::string> http_answer(const std::string& request, const HttpPages& pages);

class HttpServer {
 public:
  static constexpr std::size_t kMostClients = 512;        ///< A further client disconnects the oldest one.
  static constexpr std::size_t kMostRequestBytes = 8192;  ///< Limit of a header.
  static constexpr std::chrono::seconds kPatience{10};    ///< Time from connecting to the end of the answer.

  /// `listener` must be a non-blocking listening socket. Throws std::system_error.
  explicit HttpServer(FileDescriptor listener);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Closes all connections. `pages` is not called after the return.
  ~HttpServer();

  /// Starts to serve. Earlier clients wait.
  void start(HttpPages pages);

 private:
  class Client;

  void serve();
  void accept_clients();

  FileDescriptor listener_, wake_;
  HttpPages pages_;
  std::vector<std::unique_ptr<Client>> clients_;  ///< The oldest first.
  AcceptPause pause_;
  std::jthread thread_;  ///< The last member, so that it is joined before the members that it uses are destroyed.
};

}  // namespace penumbra::runtime
