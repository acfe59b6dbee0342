// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <openssl/rsa.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "provider_testing.h"

namespace penumbra::tls {

/// Requests without OpenSSL's jobs, whose changes of stacks ThreadSanitizer does not know.
class RequestTest : public ProviderTest {
 protected:
  ~RequestTest() override {
    for (Key* each : keys_of_engine_) each->release();
  }

  Key& add_key() {
    keys_of_engine_.push_back(new Key(generate(2048)));
    EXPECT_TRUE(keys_of_engine_.back()->is_taken());
    return *keys_of_engine_.back();
  }
  static std::shared_ptr<Request> request(Key& key, std::uint8_t number) {
    auto made = std::make_shared<Request>(key, Wakeup::make());
    made->input.fill(0);
    std::fill_n(made->input.begin() + 1, 100, number);  // less than the modulus
    return made;
  }
  static void wait(const Request& request) {
    pollfd one{.fd = request.wakeup->descriptor(), .events = POLLIN, .revents = 0};
    ASSERT_GT(poll(&one, 1, 60'000), 0);
  }
  /// Verifies by OpenSSL's public operation.
  bool is_right(const Request& request) {
    const std::size_t bytes = request.key.bytes();
    std::size_t length = bytes;
    Bytes input(bytes);
    const PkeyContext context(EVP_PKEY_CTX_new_from_pkey(library_, request.key.pkey(), nullptr));
    return request.is_done.load(std::memory_order_acquire) && request.is_right &&
           EVP_PKEY_encrypt_init(context.get()) == 1 &&
           EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_NO_PADDING) == 1 &&
           EVP_PKEY_encrypt(context.get(), input.data(), &length, request.output.data(), bytes) == 1 &&
           std::equal(input.begin(), input.end(), request.input.begin());
  }

  Counters counters_{};
  std::vector<Key*> keys_of_engine_;
};

}  // namespace penumbra::tls
