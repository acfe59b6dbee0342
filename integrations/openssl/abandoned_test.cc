// SPDX-License-Identifier: Apache-2.0
//
// Connections that end while their jobs are paused. OpenSSL loses such a job, with its stack and what lies on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <openssl/async.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

#include "provider_testing.h"
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#endif
#endif

namespace penumbra::tls {
namespace {

constexpr std::uint64_t kClients = 1'000, kTogether = 20;

/// Returns the bytes that the process has from its allocator.
std::int64_t allocated_bytes() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return static_cast<std::int64_t>(__sanitizer_get_current_allocated_bytes());
#endif
#endif
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

class ProviderAbandonedTest : public ProviderEngineTest {
 protected:
  void SetUp() override {
    ProviderEngineTest::SetUp();
    if (IsSkipped()) return;
    run_and_verify(key(), 1);  // starts the engine
    descriptors_ = open_descriptors();
  }

  void wait_for_the_end() {
    wait_until_idle();
    while (open_descriptors() > descriptors_) std::this_thread::yield();
  }

  /// Lets jobs pause and ends their connections. Returns the bytes that each of them takes away.
  std::int64_t abandon(const std::function<void(Signing&)>& change) {
    const std::int64_t before = allocated_bytes();
    for (std::size_t i = 0; i < kClients; i += kTogether) {
      auto all = signings(key(), kTogether, {});
      for (const auto& each : all) {
        change(*each);
        EXPECT_FALSE(each->job.go());
      }
      for (const auto& each : all) each->job.wait.free();
      all.clear();
      wait_for_the_end();
    }
    return (allocated_bytes() - before) / static_cast<std::int64_t>(kClients);
  }
  /// As abandon(), but the jobs pause before they sign, so that the engine has no part in it.
  std::int64_t abandon_before_signing() {
    return abandon([this](Signing& signing) {
      signing.job.work = [this] {
        const PkeyContext context = context_of(key(), kOurs, {}, &EVP_PKEY_sign_init);
        return ASYNC_pause_job();
      };
    });
  }
  std::int64_t abandon_while_signing() {
    return abandon([](Signing&) {});
  }

  std::size_t descriptors_ = 0;
};

/// haproxy#3453: the provider gives back its part of a thousand connections.
TEST_F(ProviderAbandonedTest, ForgetsThousandClients) {
  PENUMBRA_MAY_LEAK;
  abandon_while_signing();  // grows what is kept
  const std::int64_t without_engine = abandon_before_signing(), with_engine = abandon_while_signing();
  EXPECT_LT(with_engine, without_engine + static_cast<std::int64_t>(sizeof(Request) / 4));
  const auto found = counters();
  EXPECT_EQ(found.at("abandoned"), 2 * kClients);
  EXPECT_EQ(found.at("taken"), 2 * kClients + 1);
  run_and_verify(key(), 16);
}

/// QAT_Engine#178, #349: the engine must not write to a descriptor that the application uses again.
TEST_F(ProviderAbandonedTest, NeverWritesToAReusedDescriptor) {
  PENUMBRA_MAY_LEAK;
  for (unsigned i = 0; i < 20; ++i) {
    auto one = std::move(signings(key(4096), 1, {}).front());
    ASSERT_FALSE(one->job.go());
    const int descriptor = one->job.wait.descriptor();
    one->job.wait.free();
    const int other = eventfd(0, EFD_NONBLOCK);
    ASSERT_EQ(dup2(other, descriptor), descriptor);
    wait_until_idle();
    std::uint64_t written = 0;
    EXPECT_EQ(read(descriptor, &written, sizeof written), -1);
    close(descriptor);
    if (other != descriptor) close(other);
  }
}

}  // namespace
}  // namespace penumbra::tls
