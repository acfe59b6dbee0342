// SPDX-License-Identifier: Apache-2.0
//
// The begin and the end of a private operation by the engine, in an asynchronous job or not.
#include <openssl/err.h>

#include <algorithm>
#include <memory>
#include <string>

#include "provider.h"

namespace penumbra::tls {
namespace {

const char* reason_of(Loss loss) {
  switch (loss) {
    case Loss::ended:
      return "the engine has ended or is late";
    case Loss::refused:
      return "the engine does not have the key; put it in the folder of --keys, and start the engine again";
    case Loss::full:
      return "this process has more keys than the engine takes";
    case Loss::wrong:
      return "the engine gave no right result";
    default:
      return "no engine of root, this user or 'engine-user' answers; start it (penumbra tls-engine --keys FOLDER)";
  }
}

}  // namespace

void raise_reference_error(const std::string& reason) {
  ERR_raise_data(ERR_LIB_PROV, ERR_R_OPERATION_FAIL, "penumbra: no signature by a key reference: %s", reason.c_str());
}

std::shared_ptr<Request> Provider::begin_operation(Key& key, const std::shared_ptr<Wakeup>& wakeup,
                                                   const unsigned char* input) {
  Engine* const engine = engine_for(key);
  if (engine != nullptr && wakeup != nullptr) {
    auto request = std::make_shared<Request>(key, wakeup);
    std::copy_n(input, key.bytes(), request->input.data());
    if (engine->submit(request)) return request;
  }
  if (!key.is_reference()) {
    count(counters_.refused);
    return nullptr;
  }
  count(counters_.taken);
  count(counters_.failed);
  raise_reference_error(settings_.engine_socket.empty()
                            ? "set 'engine' in the provider's section of openssl.cnf"
                            : "this process can make no threads or descriptors, or lock no memory (ulimit)");
  return nullptr;
}

bool Provider::end_operation(const Request& request, bool is_done, unsigned char* output) {
  const bool is_right = is_done && request.is_right, is_reference = request.key.is_reference();
  count(is_right ? counters_.answered : is_reference ? counters_.failed : counters_.fell_back);
  if (is_right) std::copy_n(request.output.data(), request.key.bytes(), output);
  if (!is_right && is_reference) {
    const std::string reason = reason_of(is_done ? request.loss : Loss::ended);
    raise_reference_error(reason + "; its socket is " + settings_.engine_socket);
  }
  return is_right;
}

bool Provider::run_and_block(Key& key, const unsigned char* input, unsigned char* output) {
  const auto request = begin_operation(key, Wakeup::make(), input);
  if (request == nullptr) return false;
  return end_operation(*request, request->wait(kLongestWait), output);
}

}  // namespace penumbra::tls
