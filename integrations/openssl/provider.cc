// SPDX-License-Identifier: Apache-2.0
//
// Entry of the module `penumbra` (docs/tls.md), by the public API of OpenSSL only.
#include "provider.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace penumbra::tls {
namespace {

constexpr char kEngineUser[] = "penumbra-tls";  ///< The user of the package's service.

/// Returns a number of a setting, or the default if it is absent. Throws std::runtime_error for any other text.
unsigned number_of(const char* name, const char* text, unsigned otherwise, unsigned least, unsigned most) {
  if (text == nullptr) return otherwise;
  unsigned value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || stop != end || value < least || value > most) {
    throw std::runtime_error(std::string("penumbra: '") + name + "' in openssl.cnf must be a number from " +
                             std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

/// Returns the number of a user whom a setting names, or of kEngineUser, which need not exist. Throws
/// std::runtime_error if the setting names no user.
std::optional<uid_t> engine_user_of(const char* text) {
  const char* const name = text == nullptr ? kEngineUser : text;
  const char* const end = name + std::strlen(name);
  uid_t number = 0;
  if (const auto [stop, error] = std::from_chars(name, end, number); error == std::errc{} && stop == end) return number;
  passwd user{}, *found = nullptr;
  std::array<char, 16384> room;
  if (getpwnam_r(name, &user, room.data(), room.size(), &found) == 0 && found != nullptr) return found->pw_uid;
  if (text == nullptr) return std::nullopt;
  throw std::runtime_error(std::string("penumbra: 'engine-user' in openssl.cnf names '") + text +
                           "', but there is no such user");
}

Settings settings_of(const OSSL_CORE_HANDLE* core, const OSSL_DISPATCH* functions) {
  const char *threads = nullptr, *least_batch = nullptr, *counters_file = nullptr, *engine = nullptr,
             *engine_user = nullptr;
  OSSL_FUNC_core_get_params_fn* get_params = nullptr;
  for (; functions->function_id != 0; ++functions) {
    if (functions->function_id == OSSL_FUNC_CORE_GET_PARAMS) get_params = OSSL_FUNC_core_get_params(functions);
  }
  const auto wanted = [](const char* name, const char** text) {
    return OSSL_PARAM_construct_utf8_ptr(name, const_cast<char**>(text), 0);
  };
  OSSL_PARAM params[] = {wanted("threads", &threads),         wanted("least-batch", &least_batch),
                         wanted("counters", &counters_file),  wanted("engine", &engine),
                         wanted("engine-user", &engine_user), OSSL_PARAM_construct_end()};
  if (get_params != nullptr) get_params(core, params);
  Settings settings;
  settings.threads = number_of("threads", threads, settings.threads, 1, kMostThreads);
  settings.least_batch = number_of("least-batch", least_batch, settings.least_batch, 1, rsa::kMostTogether);
  if (counters_file != nullptr) settings.counters_file = counters_file;
  if (engine != nullptr) {
    settings.engine_socket = engine;
    settings.engine_user = engine_user_of(engine_user);
  }
  return settings;
}

}  // namespace

Provider::Provider(const OSSL_CORE_HANDLE* core, const OSSL_DISPATCH* functions)
    : settings_(settings_of(core, functions)) {
  library_ = OSSL_LIB_CTX_new();
  default_ = library_ == nullptr ? nullptr : OSSL_PROVIDER_load(library_, "default");
  if (default_ == nullptr) {
    OSSL_LIB_CTX_free(library_);
    throw std::runtime_error("penumbra: OpenSSL's provider 'default' does not load");
  }
}

Provider::~Provider() {
  if (started_.load() == getpid()) delete engine_;
  OSSL_PROVIDER_unload(default_);
  OSSL_LIB_CTX_free(library_);
}

Engine* Provider::engine() {
  const pid_t process = getpid();
  if (started_.load(std::memory_order_acquire) == process) return engine_;
  pid_t starting = starting_.load();
  // Another thread starts the engine now, or it could not be started.
  if (starting == process || !starting_.compare_exchange_strong(starting, process)) return nullptr;
  if (starting != 0) {
    for (const auto& each : kCounters) counters_.*each.counter = 0;
  }
  try {
    engine_ = new Engine(library_, settings_, counters_);
  } catch (const std::exception&) {
    engine_ = nullptr;
  }
  started_.store(process, std::memory_order_release);
  return engine_;
}

/// Returns the engine for an operation. A key reference waits until another thread has started the engine.
Engine* Provider::engine_for(const Key& key) {
  Engine* found = engine();
  while (found == nullptr && key.is_reference() && started_.load(std::memory_order_acquire) != getpid()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    found = engine();
  }
  return found;
}

namespace {

int get_params(void* provider, OSSL_PARAM params[]) {
  OSSL_PARAM* name = OSSL_PARAM_locate(params, OSSL_PROV_PARAM_NAME);
  OSSL_PARAM* status = OSSL_PARAM_locate(params, OSSL_PROV_PARAM_STATUS);
  if (name != nullptr && OSSL_PARAM_set_utf8_ptr(name, "Penumbra: batches of RSA") != 1) return 0;
  if (status != nullptr && OSSL_PARAM_set_int(status, 1) != 1) return 0;
  for (const auto& each : kCounters) {
    OSSL_PARAM* const wanted = OSSL_PARAM_locate(params, each.name);
    const std::uint64_t value = (static_cast<Provider*>(provider)->counters().*each.counter).load();
    if (wanted != nullptr && OSSL_PARAM_set_uint64(wanted, value) != 1) return 0;
  }
  return 1;
}

const OSSL_PARAM* gettable_params(void*) {
  static const std::array<OSSL_PARAM, kCounters.size() + 3> kParams = [] {
    std::array<OSSL_PARAM, kCounters.size() + 3> params{};
    params[0] = OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_NAME, nullptr, 0);
    params[1] = OSSL_PARAM_construct_int(OSSL_PROV_PARAM_STATUS, nullptr);
    for (std::size_t i = 0; i < kCounters.size(); ++i) {
      params[i + 2] = OSSL_PARAM_construct_uint64(kCounters[i].name, nullptr);
    }
    return params;
  }();
  return kParams.data();
}

const OSSL_ALGORITHM* query(void*, int operation, int* is_uncached) {
  static constexpr char kNames[] = "RSA:rsaEncryption:1.2.840.113549.1.1.1", kProperties[] = "provider=penumbra";
  static const OSSL_ALGORITHM kKeyManagements[] = {{kNames, kProperties, kKeyManagement, "RSA keys"}, {}};
  static const OSSL_ALGORITHM kSignatures[] = {{kNames, kProperties, kSignature, "RSA in batches"}, {}};
  *is_uncached = 0;
  switch (operation) {
    case OSSL_OP_KEYMGMT:
      return kKeyManagements;
    case OSSL_OP_SIGNATURE:
      return kSignatures;
    default:
      return nullptr;
  }
}

void tear_down(void* provider) {
  delete static_cast<Provider*>(provider);
}

const OSSL_DISPATCH kProvider[] = {entry(OSSL_FUNC_PROVIDER_TEARDOWN, &tear_down),
                                   entry(OSSL_FUNC_PROVIDER_QUERY_OPERATION, &query),
                                   entry(OSSL_FUNC_PROVIDER_GETTABLE_PARAMS, &gettable_params),
                                   entry(OSSL_FUNC_PROVIDER_GET_PARAMS, &get_params),
                                   {0, nullptr}};

}  // namespace
}  // namespace penumbra::tls

extern "C" __attribute__((visibility("default"))) int OSSL_provider_init(const OSSL_CORE_HANDLE* core,
                                                                         const OSSL_DISPATCH* in,
                                                                         const OSSL_DISPATCH** out, void** context) {
  try {
    *context = new penumbra::tls::Provider(core, in);
    *out = penumbra::tls::kProvider;
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 0;
  }
}
