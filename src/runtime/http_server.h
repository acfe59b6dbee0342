// SPDX-License-Identifier: Apache-2.0
//
// Pages by HTTP, for machines that ask now and then. One thread serves all clients, so that one which is slow, or never
// ends its request, keeps nobody else waiting.
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
/// The page of a path ("/metrics"), or nothing. Called on the server's thread.
using HttpPages = std::function<std::optional<HttpPage>(const std::string& path)>;

/// The whole answer to what a client has sent so far: a GET or HEAD is answered by `pages`, anything else refused.
/// Nothing as long as the request's header has not ended.
std::optional<std::string> http_answer(const std::string& request, const HttpPages& pages);

class HttpServer {
 public:
  static constexpr std::size_t kMostClients = 512;        ///< one more ends the oldest
  static constexpr std::size_t kMostRequestBytes = 8192;  ///< of a header
  static constexpr std::chrono::seconds kPatience{10};    ///< from connecting to the end of the answer

  /// `listener` listens and does not block. Throws std::system_error.
  explicit HttpServer(FileDescriptor listener);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Ends all connections. Once this returns, `pages` is not being called.
  ~HttpServer();

  /// Serves from now on. Before, clients wait.
  void start(HttpPages pages);

 private:
  class Client;

  void serve();
  void accept_clients();

  FileDescriptor listener_, wake_;
  HttpPages pages_;
  std::vector<std::unique_ptr<Client>> clients_;  ///< the oldest first
  AcceptPause pause_;
  std::jthread thread_;  ///< joined before what it uses is gone
};

}  // namespace penumbra::runtime
