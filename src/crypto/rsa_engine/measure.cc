// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa_engine/measure.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <vector>

#include "crypto/rsa/key.h"

namespace penumbra::rsa_engine {
namespace {

std::span<std::uint8_t> bytes_of(std::uint32_t* words, std::size_t count) {
  return {reinterpret_cast<std::uint8_t*>(words), count * sizeof *words};
}

/// Makes a number with the highest bits set, odd.
void fill_prime(std::uint32_t* prime, std::uint32_t words) {
  rsa::fill_random(bytes_of(prime, words));
  prime[words - 1] |= 0xC0000000;
  prime[0] |= 1;
}

/// Expands random numbers in place of the parts of a key.
std::shared_ptr<const StoredKey> random_key(std::size_t size) {
  const auto bytes = bytes_of_size(size);
  const auto words = static_cast<std::uint32_t>(bytes / sizeof(std::uint32_t) / 2);
  std::uint32_t p[RSA_MOST_HALF_WORDS], q[RSA_MOST_HALF_WORDS], product[RSA_MOST_WORDS];
  fill_prime(p, words);
  fill_prime(q, words);
  words_multiply(product, p, q, words);
  std::vector<std::uint8_t> modulus(bytes), prime1(bytes / 2), prime2(bytes / 2), number(bytes / 2);
  rsa::bytes_of({product, std::size_t{2} * words}, modulus);
  rsa::bytes_of({p, words}, prime1);
  rsa::bytes_of({q, words}, prime2);
  rsa::fill_random(number);
  number[0] &= 0x3F;  // less than both primes
  const std::array<std::uint8_t, 3> exponent{1, 0, 1};
  auto key = std::make_shared<StoredKey>();
  rsa::expand({modulus, exponent, prime1, prime2, number, number, number}, key->key());
  return key;
}

}  // namespace

double measure_batch(BatchForm& form, std::size_t size, std::size_t count) {
  constexpr unsigned kRounds = 3;  // the first expands the key and makes factors of blinding
  const auto key = random_key(size);
  const std::vector<std::unique_ptr<Task>> tasks = [&] {
    std::vector<std::unique_ptr<Task>> all;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(std::make_unique<Task>());
      all.back()->key = key;
      rsa::fill_random(all.back()->input);
      all.back()->input[0] &= 0x7F;
    }
    return all;
  }();
  std::vector<Task*> pointers;
  pointers.reserve(count);
  for (const auto& task : tasks) pointers.push_back(task.get());
  double best = std::numeric_limits<double>::infinity();
  for (unsigned round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    form.run(pointers);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

std::array<std::size_t, kSizes> measure_least(BatchForm& gpu, BatchForm& cpu, unsigned threads) {
  std::array<std::size_t, kSizes> least{};
  for (std::size_t size = 0; size < kSizes; ++size) {
    const double of_one = measure_batch(cpu, size, cpu.most()) / static_cast<double>(cpu.most()) / threads;
    std::size_t count = cpu.most();
    while (count <= gpu.most() && measure_batch(gpu, size, count) > of_one * static_cast<double>(count)) count *= 2;
    least[size] = count;
  }
  cpu.forget_keys();
  gpu.forget_keys();
  return least;
}

}  // namespace penumbra::rsa_engine
