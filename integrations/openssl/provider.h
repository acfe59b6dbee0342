// SPDX-License-Identifier: Apache-2.0
//
// The provider of one library context of the application.
#pragma once

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/provider.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "counters.h"
#include "engine.h"
#include "key.h"

namespace penumbra::tls {

/// The engine ends every request sooner. A child process that goes on with a request of its parent has no such engine.
inline constexpr std::chrono::seconds kLongestWait{15};

/// Delegates to OpenSSL's own provider `default` in a library context of its own.
class Provider {
 public:
  /// Reads the settings of openssl.cnf. Throws std::runtime_error without OpenSSL's provider `default`.
  Provider(const OSSL_CORE_HANDLE* core, const OSSL_DISPATCH* functions);
  ~Provider();
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  OSSL_LIB_CTX* library() const { return library_; }
  Counters& counters() { return counters_; }
  const Counters& counters() const { return counters_; }

  /// Returns whether this CPU can compute batches, or another process may.
  bool has_batches() const { return rsa::has_ifma() || !settings_.engine_socket.empty(); }
  /// Returns whether an asynchronous job calls. Counts the operation otherwise.
  bool is_in_job();
  /// Runs the private operation of a key by the engine. An asynchronous job calls, and the engine takes the key. Input
  /// and output have the key's bytes. Returns false if the caller shall take OpenSSL's own code, which fails for a key
  /// reference: then there is an error of OpenSSL.
  bool run_by_job(Key& key, const unsigned char* input, unsigned char* output);
  /// Does the same for a key reference without a job, so that the thread waits for the engine.
  bool run_and_block(Key& key, const unsigned char* input, unsigned char* output);
  /// Gives an operation to the engine. Returns null if the engine does not take it, with an error for a key reference.
  std::shared_ptr<Request> begin_operation(Key& key, const std::shared_ptr<Wakeup>& wakeup, const unsigned char* input);
  /// Copies a right result, and counts how the operation has ended. Without `is_done` the job cannot wait. Returns
  /// whether there is a result; if not, there is an error for a key reference.
  bool end_operation(const Request& request, bool is_done, unsigned char* output);

 private:
  Engine* engine();
  Engine* engine_for(const Key& key);

  OSSL_LIB_CTX* library_ = nullptr;
  OSSL_PROVIDER* default_ = nullptr;
  Settings settings_;
  Counters counters_{};
  // An engine belongs to one process. A child process starts its own, and never touches that of its parent, whose
  // threads it does not have and whose mutex may be locked.
  std::atomic<pid_t> starting_ = 0, started_ = 0;
  Engine* engine_ = nullptr;
};

/// Adds an error of OpenSSL about a key reference.
void raise_reference_error(const std::string& reason);

extern const OSSL_DISPATCH kKeyManagement[];
extern const OSSL_DISPATCH kSignature[];

/// Returns the key of a handle that kKeyManagement made; null if there is none.
Key* key_of(void* handle);

/// Makes an entry of a table of functions.
template <class Function>
OSSL_DISPATCH entry(int number, Function* function) {
  return {number, reinterpret_cast<void (*)()>(function)};
}

}  // namespace penumbra::tls
