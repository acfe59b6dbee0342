// SPDX-License-Identifier: Apache-2.0
//
// Handshakes of TLS with the provider, by libssl over buffers in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/async.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "provider_testing.h"

namespace penumbra::tls {
namespace {

using testing::Pair;

using Ssl = std::unique_ptr<SSL, FreeBy<&SSL_free>>;
using SslContext = std::unique_ptr<SSL_CTX, FreeBy<&SSL_CTX_free>>;
using Certificate = std::unique_ptr<X509, FreeBy<&X509_free>>;

/// A server and a client. What one writes, the other reads.
struct Connection {
  Ssl server, client;

  Connection(SSL_CTX* of_server, SSL_CTX* of_client) : server(SSL_new(of_server)), client(SSL_new(of_client)) {
    for (SSL* each : {server.get(), client.get()}) SSL_set_bio(each, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(server.get());
    SSL_set_connect_state(client.get());
  }

  /// Moves what `from` has written.
  static void deliver(SSL* from, SSL* to) {
    std::array<char, 4096> part;
    int bytes = 0;
    while ((bytes = BIO_read(SSL_get_wbio(from), part.data(), part.size())) > 0) {
      EXPECT_EQ(BIO_write(SSL_get_rbio(to), part.data(), bytes), bytes);
    }
  }
  int step_client() {
    const int error = SSL_get_error(client.get(), SSL_do_handshake(client.get()));
    deliver(client.get(), server.get());
    return error;
  }
  int step_server() {
    const int error = SSL_get_error(server.get(), SSL_do_handshake(server.get()));
    deliver(server.get(), client.get());
    return error;
  }
  /// Sends ClientHello. The server's job then pauses.
  void begin() {
    EXPECT_EQ(step_client(), SSL_ERROR_WANT_READ);
    EXPECT_EQ(step_server(), SSL_ERROR_WANT_ASYNC);
  }
  void wait_for_job() const {
    OSSL_ASYNC_FD descriptor = -1;
    std::size_t count = 0;
    ASSERT_EQ(SSL_get_all_async_fds(server.get(), nullptr, &count), 1);
    ASSERT_EQ(count, 1U);
    ASSERT_EQ(SSL_get_all_async_fds(server.get(), &descriptor, &count), 1);
    pollfd one{.fd = descriptor, .events = POLLIN, .revents = 0};
    ASSERT_GT(poll(&one, 1, 60'000), 0);
  }
  /// Ends the handshake, and moves a message in each direction.
  void finish() {
    int error = step_server();
    while (error == SSL_ERROR_WANT_ASYNC) {
      wait_for_job();
      error = step_server();
    }
    EXPECT_EQ(error, SSL_ERROR_WANT_READ);
    EXPECT_EQ(step_server(), SSL_ERROR_WANT_READ) << "no job is paused any more";
    step_client();
    EXPECT_EQ(step_server(), SSL_ERROR_NONE);
    EXPECT_EQ(step_client(), SSL_ERROR_NONE);
    talk(client.get(), server.get());
    talk(server.get(), client.get());
  }
  static void talk(SSL* from, SSL* to) {
    std::array<char, 16> got{};
    EXPECT_EQ(SSL_write(from, "hello", 5), 5);
    deliver(from, to);
    EXPECT_EQ(SSL_read(to, got.data(), got.size()), 5);
    EXPECT_STREQ(got.data(), "hello");
  }
};

/// The parameter is a version of TLS.
class ProviderSslTest : public ProviderEngineTest, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    ProviderEngineTest::SetUp();
    if (IsSkipped()) return;
    server_.reset(SSL_CTX_new_ex(library_, "?provider=penumbra", TLS_server_method()));
    client_.reset(SSL_CTX_new_ex(library_, kDefault, TLS_client_method()));
    for (SSL_CTX* each : {server_.get(), client_.get()}) {
      ASSERT_EQ(SSL_CTX_set_min_proto_version(each, GetParam()), 1);
      ASSERT_EQ(SSL_CTX_set_max_proto_version(each, GetParam()), 1);
    }
    SSL_CTX_set_mode(server_.get(), SSL_MODE_ASYNC);
    SSL_CTX_set_verify(client_.get(), SSL_VERIFY_PEER, nullptr);
    add_certificate();
  }
  ~ProviderSslTest() override { ASYNC_cleanup_thread(); }

  /// Signs its own certificate, which the client trusts.
  void add_certificate() {
    const Certificate certificate(X509_new_ex(library_, kDefault));
    X509* const made = certificate.get();
    ASSERT_EQ(X509_set_version(made, X509_VERSION_3), 1);
    ASSERT_EQ(ASN1_INTEGER_set(X509_get_serialNumber(made), 1), 1);
    ASSERT_NE(X509_gmtime_adj(X509_getm_notBefore(made), -3600), nullptr);
    ASSERT_NE(X509_gmtime_adj(X509_getm_notAfter(made), 3600), nullptr);
    const auto* const name = reinterpret_cast<const unsigned char*>("localhost");
    ASSERT_EQ(X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC, name, -1, -1, 0), 1);
    ASSERT_EQ(X509_set_issuer_name(made, X509_get_subject_name(made)), 1);
    ASSERT_EQ(X509_set_pubkey(made, key(4096)), 1);
    const Digest digest(EVP_MD_fetch(library_, "SHA256", nullptr));
    ASSERT_GT(X509_sign(made, key(4096), digest.get()), 0);
    ASSERT_EQ(SSL_CTX_use_certificate(server_.get(), made), 1);
    ASSERT_EQ(SSL_CTX_use_PrivateKey(server_.get(), key(4096)), 1);
    ASSERT_EQ(X509_STORE_add_cert(SSL_CTX_get_cert_store(client_.get()), made), 1);
  }

  SslContext server_, client_;
};

INSTANTIATE_TEST_SUITE_P(Versions, ProviderSslTest, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& each) { return each.param == TLS1_2_VERSION ? "Tls12" : "Tls13"; });

/// pdns#17900, openssl#16809: an application calls again before the signature is there. The error stays WANT_ASYNC, and
/// is WANT_READ after the signature.
TEST_P(ProviderSslTest, WaitsForTheJobAfterSpuriousCalls) {
  unsigned spurious = 0;
  while (spurious == 0) {
    std::vector<std::unique_ptr<Connection>> all;
    for (unsigned i = 0; i < 16; ++i) {
      all.push_back(std::make_unique<Connection>(server_.get(), client_.get()));
      all.back()->begin();
    }
    for (unsigned i = 0; i < 20; ++i) {
      const int error = all.back()->step_server();
      EXPECT_THAT(error, testing::AnyOf(SSL_ERROR_WANT_ASYNC, SSL_ERROR_WANT_READ));
      spurious += error == SSL_ERROR_WANT_ASYNC ? 1 : 0;
    }
    for (const auto& each : all) each->finish();
  }
  const auto found = counters();
  EXPECT_GE(found.at("answered"), 16U);
  EXPECT_EQ(found.at("taken"), found.at("answered"));
}

/// openssl#16514: the application closes a connection whose job is paused. OpenSSL refuses, and the handshake can go
/// on.
TEST_P(ProviderSslTest, GoesOnAfterAShutdownDuringTheJob) {
  Connection connection(server_.get(), client_.get());
  connection.begin();
  for (unsigned i = 0; i < 3; ++i) {
    const int result = SSL_shutdown(connection.server.get());
    EXPECT_EQ(result, -1);
    EXPECT_EQ(SSL_get_error(connection.server.get(), result), SSL_ERROR_SSL);
  }
  ERR_clear_error();
  connection.finish();
  EXPECT_THAT(counters(), testing::IsSupersetOf({Pair("taken", 1U), Pair("answered", 1U)}));
}

TEST_P(ProviderSslTest, ForgetsConnectionsThatAreShutDownAndFreed) {
  PENUMBRA_MAY_LEAK;
  Connection first(server_.get(), client_.get());
  first.begin();
  first.finish();
  first.server.reset();
  const std::size_t before = open_descriptors();
  for (unsigned i = 0; i < 40; ++i) {
    Connection connection(server_.get(), client_.get());
    connection.begin();
    EXPECT_EQ(SSL_shutdown(connection.server.get()), -1);
  }
  ERR_clear_error();
  wait_until_idle();
  while (open_descriptors() > before) std::this_thread::yield();
  EXPECT_THAT(counters(), testing::IsSupersetOf({Pair("taken", 41U), Pair("abandoned", 40U), Pair("answered", 1U)}));
}

}  // namespace
}  // namespace penumbra::tls
