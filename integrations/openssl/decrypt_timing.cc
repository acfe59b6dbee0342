// SPDX-License-Identifier: Apache-2.0
//
// Compares the time that decryption by RSA takes for right and for wrong paddings, by Welch's t-test on interleaved
// samples (Reparaz, Balasch, Verbauwhede: Dude, is my code constant time?, DATE 2017). It is a report and no gate,
// because a busy machine disturbs it.
//
//   decrypt_timing CONFIGURATION PROPERTIES BITS SAMPLES
//
// CONFIGURATION is one of OpenSSL that loads `penumbra`. It prints a line for each padding: its name, the number of
// samples, and the t of the largest magnitude of all croppings. It ends early when the magnitude exceeds kClear. The
// line `control` compares with inputs that are refused at once, so that its magnitude must be large.
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "handles.h"

namespace penumbra::tls {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kSecretBytes = 48;    // of TLS, whose first two are the version
constexpr std::size_t kInputs = 512;        // of a class, so that no class is the one in a cache
constexpr std::size_t kFirstSamples = 200;  // They choose the croppings, and count no more.
constexpr double kClear = 10;

enum class Kind { pkcs1, tls, control };
constexpr std::array kKinds{Kind::pkcs1, Kind::tls, Kind::control};
constexpr std::array kNames{"pkcs1", "tls", "control"};

void require(bool holds, const char* otherwise) {
  if (!holds) throw std::runtime_error(otherwise);
}

/// Welford's running mean and variance.
struct Moments {
  double count = 0, mean = 0, squares = 0;
  void add(double value) {
    const double difference = value - mean;
    mean += difference / ++count;
    squares += difference * (value - mean);
  }
  double variance() const { return squares / (count - 1); }
};

/// A t-test of two classes on the samples below a limit.
struct Test {
  double limit;
  std::array<Moments, 2> classes;
  double t() const {
    const auto& [right, wrong] = classes;
    if (right.count < 100 || wrong.count < 100) return 0;
    return (right.mean - wrong.mean) / std::sqrt(right.variance() / right.count + wrong.variance() / wrong.count);
  }
};

class Timing {
 public:
  Timing(OSSL_LIB_CTX* library, EVP_PKEY* key, const std::string& properties, Kind kind)
      : library_(library), key_(key), context_(EVP_PKEY_CTX_new_from_pkey(library, key, properties.c_str())) {
    const bool is_of_tls = kind == Kind::tls;
    require(EVP_PKEY_decrypt_init(context_.get()) == 1 &&
                EVP_PKEY_CTX_set_rsa_padding(context_.get(),
                                             is_of_tls ? RSA_PKCS1_WITH_TLS_PADDING : RSA_PKCS1_PADDING) == 1,
            "decryption does not begin");
    unsigned version = 0x0303;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION, &version),
                           OSSL_PARAM_construct_end()};
    require(!is_of_tls || EVP_PKEY_CTX_set_params(context_.get(), params) == 1, "the version cannot be set");
    for (std::size_t i = 0; i < kInputs; ++i) {
      inputs_[0].push_back(encrypted(0x02));
      inputs_[1].push_back(kind == Kind::control ? Bytes(inputs_[0].back().size(), 0xFF) : encrypted(0x03));
    }
  }

  void run(std::size_t samples) {
    std::vector<double> first;
    while (samples_ < samples && std::abs(t()) < kClear) {
      std::array<std::uint8_t, 3> choice;
      require(RAND_bytes(choice.data(), choice.size()) == 1, "there are no random bytes");
      const std::size_t of_class = choice[0] % 2, index = (choice[1] << 8 | choice[2]) % kInputs;
      const double took = measure(inputs_[of_class][index]);
      if (tests_.empty()) {
        first.push_back(took);
        if (first.size() == kFirstSamples) choose_limits(first);
        continue;
      }
      ++samples_;
      for (Test& test : tests_) {
        if (took < test.limit) test.classes[of_class].add(took);
      }
    }
  }
  std::size_t samples() const { return samples_; }
  double t() const {
    double largest = 0;
    for (const Test& test : tests_) largest = std::abs(test.t()) > std::abs(largest) ? test.t() : largest;
    return largest;
  }

 private:
  /// Encrypts a secret with a padding whose second byte is `type`; 2 is right.
  Bytes encrypted(std::uint8_t type) {
    const auto bytes = static_cast<std::size_t>(EVP_PKEY_get_size(key_));
    Bytes padded(bytes), result(bytes);
    require(RAND_bytes(padded.data(), static_cast<int>(bytes)) == 1, "there are no random bytes");
    std::ranges::replace(padded, 0, 1);
    padded[0] = 0;
    padded[1] = type;
    const std::size_t secret = bytes - kSecretBytes;
    padded[secret - 1] = 0;
    padded[secret] = padded[secret + 1] = 3;
    std::size_t length = bytes;
    const PkeyContext context(EVP_PKEY_CTX_new_from_pkey(library_, key_, "provider=default"));
    require(EVP_PKEY_encrypt_init(context.get()) == 1 &&
                EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_NO_PADDING) == 1 &&
                EVP_PKEY_encrypt(context.get(), result.data(), &length, padded.data(), bytes) == 1,
            "a secret cannot be encrypted");
    return result;
  }
  /// Returns the time of a decryption in nanoseconds. The result is of no interest.
  double measure(const Bytes& input) {
    std::array<std::uint8_t, 1024> output;
    std::size_t length = output.size();
    const auto begin = Clock::now();
    EVP_PKEY_decrypt(context_.get(), output.data(), &length, input.data(), input.size());
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    ERR_clear_error();
    return took.count();
  }
  /// Crops at several percentiles, because interruptions make the largest times.
  void choose_limits(std::vector<double>& first) {
    std::ranges::sort(first);
    for (const double share : {0.2, 0.5, 0.8, 0.95}) {
      tests_.push_back({.limit = first[static_cast<std::size_t>(share * kFirstSamples)], .classes = {}});
    }
    tests_.push_back({.limit = std::numeric_limits<double>::infinity(), .classes = {}});
  }

  OSSL_LIB_CTX* library_;
  EVP_PKEY* key_;
  PkeyContext context_;
  std::array<std::vector<Bytes>, 2> inputs_;
  std::vector<Test> tests_;
  std::size_t samples_ = 0;
};

void run(const char* configuration, const std::string& properties, unsigned bits, std::size_t samples) {
  OSSL_LIB_CTX* const library = OSSL_LIB_CTX_new();
  require(OSSL_LIB_CTX_load_config(library, configuration) == 1, "the configuration is wrong");
  const PkeyContext context(EVP_PKEY_CTX_new_from_name(library, "RSA", properties.c_str()));
  EVP_PKEY* made = nullptr;
  require(EVP_PKEY_keygen_init(context.get()) == 1 &&
              EVP_PKEY_CTX_set_rsa_keygen_bits(context.get(), static_cast<int>(bits)) == 1 &&
              EVP_PKEY_generate(context.get(), &made) == 1,
          "a key cannot be made");
  const Pkey key(made);
  for (const Kind kind : kKinds) {
    Timing timing(library, key.get(), properties, kind);
    timing.run(samples);
    std::cout << kNames[static_cast<std::size_t>(kind)] << ' ' << timing.samples() << ' ' << timing.t() << '\n'
              << std::flush;
  }
}

}  // namespace
}  // namespace penumbra::tls

int main(int count, char** words) {
  try {
    if (count != 5) throw std::runtime_error("usage: decrypt_timing CONFIGURATION PROPERTIES BITS SAMPLES");
    penumbra::tls::run(words[1], words[2], static_cast<unsigned>(std::stoul(words[3])), std::stoul(words[4]));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
