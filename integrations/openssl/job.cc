// SPDX-License-Identifier: Apache-2.0
//
// A private operation as an asynchronous job of OpenSSL (ASYNC_start_job(3)).
#include <openssl/async.h>

#include <memory>
#include <utility>

#include "provider.h"

namespace penumbra::tls {
namespace {

/// Identifies the provider's descriptor in a wait context.
constexpr char kIdentity = 0;

/// A job that is resumed so often without a result cannot pause: the application has blocked pauses.
constexpr unsigned kMostVainPauses = 10'000;

/// What the provider keeps in a wait context, of which each connection has one.
struct Connection {
  std::shared_ptr<Wakeup> wakeup;
  std::shared_ptr<Request> request;  ///< Of the paused job, or null.
  Counters* counters = nullptr;
};

/// Called when the wait context is freed. A job that is paused then is never resumed.
void end_connection(ASYNC_WAIT_CTX*, const void*, OSSL_ASYNC_FD, void* custom) {
  const std::unique_ptr<Connection> connection(static_cast<Connection*>(custom));
  if (connection->request != nullptr) {
    connection->request->is_abandoned.store(true, std::memory_order_release);
    count(connection->counters->abandoned);
  }
  connection->wakeup->close_descriptor();
}

/// Returns the provider's part of a wait context; null before the first operation of the connection.
Connection* find_connection(ASYNC_WAIT_CTX* context) {
  OSSL_ASYNC_FD descriptor = -1;
  void* custom = nullptr;
  const bool is_found = ASYNC_WAIT_CTX_get_fd(context, &kIdentity, &descriptor, &custom) == 1;
  return is_found ? static_cast<Connection*>(custom) : nullptr;
}

/// Adds the provider's part to a wait context. Returns null if OpenSSL fails.
Connection* add_connection(ASYNC_WAIT_CTX* context, const std::shared_ptr<Wakeup>& wakeup, Counters& counters) {
  auto connection = std::make_unique<Connection>(Connection{.wakeup = wakeup, .request = {}, .counters = &counters});
  const int descriptor = wakeup->descriptor();
  if (ASYNC_WAIT_CTX_set_wait_fd(context, &kIdentity, descriptor, connection.get(), &end_connection) != 1) {
    return nullptr;
  }
  return connection.release();
}

/// Pauses the job until the request is done. Returns false if the job cannot pause.
///
/// The job pauses at least once. HAProxy learns the descriptors of a wait context when a job pauses, and aborts when
/// a connection ends with a descriptor that it has not learnt.
bool wait_for(const Request& request) {
  for (unsigned pauses = 0; pauses < kMostVainPauses; ++pauses) {
    if (ASYNC_pause_job() != 1) return false;
    // The descriptor is cleared before the flag is read. So a signal after that wakes the job again.
    request.wakeup->clear();
    if (request.is_done.load(std::memory_order_acquire)) return true;
  }
  return false;
}

/// Gives an operation to the engine. Returns null if the engine does not take it.
Connection* begin_in_job(Provider& provider, Key& key, const unsigned char* input) {
  ASYNC_WAIT_CTX* const context = ASYNC_get_wait_ctx(ASYNC_get_current_job());
  Connection* connection = find_connection(context);
  const std::shared_ptr<Wakeup> wakeup = connection != nullptr ? connection->wakeup : Wakeup::make();
  auto request = provider.begin_operation(key, wakeup, input);
  if (request == nullptr) return nullptr;
  if (connection == nullptr) connection = add_connection(context, wakeup, provider.counters());
  if (connection == nullptr) {
    request->is_abandoned.store(true, std::memory_order_release);
    provider.end_operation(*request, false, nullptr);
    return nullptr;
  }
  connection->request = std::move(request);
  return connection;
}

}  // namespace

bool Provider::is_in_job() {
  const bool is_job = ASYNC_get_current_job() != nullptr;
  if (!is_job) count(counters_.without_job);
  return is_job;
}

bool Provider::run_by_job(Key& key, const unsigned char* input, unsigned char* output) {
  Connection* const connection = begin_in_job(*this, key, input);
  if (connection == nullptr) return false;
  // The stack of a job that is never resumed is never unwound. So it owns nothing while the job is paused.
  Request& request = *connection->request;
  bool is_done = wait_for(request);
  if (!is_done && key.is_reference()) is_done = request.wait(kLongestWait);
  const bool is_right = end_operation(request, is_done, output);
  if (!is_right) request.is_abandoned.store(true, std::memory_order_release);
  connection->request.reset();
  return is_right;
}

}  // namespace penumbra::tls
