// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "crypto/rsa/key.h"
#include "crypto/rsa_engine/expansions.h"

namespace penumbra::rsa_engine {
namespace {

constexpr unsigned kUsesOfPair = 32;

struct CountedPair {
  rsa_pair pair;
  unsigned uses;  ///< That are left.
};

/// Runs one task at a time by the plain source.
class PlainForm final : public BatchForm {
 public:
  const char* name() const override { return "plain"; }
  std::size_t most() const override { return 1; }
  void run(std::span<Task* const> tasks) override {
    for (Task* const task : tasks) {
      task->status = RSA_WRONG;
      auto* const pair = pairs_.find(task->key, [](const rsa_key&) { return SecretArray<CountedPair>(1); });
      if (pair != nullptr) run_one(*task, (*pair)[0]);
    }
  }
  void forget_keys() override { pairs_.forget(); }

 private:
  static void run_one(Task& task, CountedPair& pair) {
    const rsa_key& key = task.key->key();
    std::array<std::uint32_t, RSA_MOST_WORDS> input{}, output{};
    const auto words = std::span(input).first(key.words);
    if (pair.uses == 0) {
      std::array<std::uint8_t, kMostBytes> random;
      const auto bytes = std::span(random).first(task.key->bytes());
      rsa::fill_random(bytes);
      bytes[0] &= 0x7F;  // less than the modulus
      rsa::words_of(bytes, words);
      rsa_make_pair(&pair.pair, input.data(), &key);
      erase_bytes(random.data(), random.size());
      pair.uses = kUsesOfPair;
    }
    --pair.uses;
    rsa::words_of(std::span(task.input).first(task.key->bytes()), words);
    task.status = static_cast<rsa_status>(rsa_private(output.data(), input.data(), &key, &pair.pair));
    rsa::bytes_of(std::span(output).first(key.words), std::span(task.output).first(task.key->bytes()));
    erase_bytes(input.data(), sizeof input);
  }

  Expansions<SecretArray<CountedPair>> pairs_;
};

}  // namespace

std::unique_ptr<BatchForm> make_plain_form() {
  return std::make_unique<PlainForm>();
}

}  // namespace penumbra::rsa_engine
