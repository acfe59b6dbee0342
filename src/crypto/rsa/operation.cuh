// SPDX-License-Identifier: Apache-2.0
//
// The private operation of RSA by a group of lanes: blinding, both powers, the Chinese remainder theorem (RFC 8017,
// section 5.1.2) and the check. kLanes lanes work on each prime; together they work on the modulus.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crypto/rsa/cuda_tasks.h"
#include "crypto/rsa/power.cuh"

namespace penumbra::rsa::gpu {

/// The lanes of an operation, with their key and memory.
template <unsigned kLanes, unsigned kWords, unsigned kWindow, class LaneType>
struct Worker {
  static constexpr unsigned kAll = kLanes * kWords, kBoth = 2 * kLanes;
  using Lane = LaneType;
  using PowerTable = Table<kLanes, kWords, kWindow>;

  const Lane& lane;
  const rsa_key& key;
  PowerTable table;
  Modulus<kWords> modulus;  ///< This lane's words of the key's modulus.

  PENUMBRA_LANE Worker(const Lane& lane_of, const rsa_key& key_of, const PowerTable& table_of)
      : lane(lane_of), key(key_of), table(table_of) {
    load_words(modulus.words, key.modulus);
    modulus.inverse = key.inverse;
  }
  /// The place among the lanes of the operation.
  PENUMBRA_LANE unsigned place() const { return place_of<kBoth>(lane); }
  PENUMBRA_LANE unsigned first() const { return place() * kWords; }
  PENUMBRA_LANE unsigned half() const { return place() / kLanes; }
  PENUMBRA_LANE unsigned first_of_half() const { return place() % kLanes * kWords; }
  /// Loads this lane's words of a number that has the words of the modulus.
  PENUMBRA_LANE void load_words(std::uint32_t (&words)[kWords], const std::uint32_t* number) const {
    PENUMBRA_UNROLL
    for (unsigned i = 0; i < kWords; ++i) words[i] = number[first() + i];
  }
  /// Stores this lane's words of a number that has the words of the modulus.
  PENUMBRA_LANE void store_words(const BothColumns<kAll>& column, const std::uint32_t (&words)[kWords]) const {
    store(column.of(half()), first_of_half(), words);
  }
  /// Sets result = a * b / R mod modulus. `b` passes through the shared memory.
  PENUMBRA_LANE void multiply_shared(std::uint32_t (&result)[kWords], const std::uint32_t (&a)[kWords],
                                     const std::uint32_t (&b)[kWords]) const {
    const BothColumns<kAll> column = table.of_both(0);
    lane.sync();
    store_words(column, b);
    lane.sync();
    multiply<kBoth>(lane, result, a, column, modulus);
  }
  /// Sets result = a * number / R mod modulus, where the number has the words of the modulus.
  PENUMBRA_LANE void multiply_by(std::uint32_t (&result)[kWords], const std::uint32_t (&a)[kWords],
                                 const std::uint32_t* number) const {
    multiply<kBoth>(lane, result, a, [number](unsigned i) { return number[i]; }, modulus);
  }
};

/// Sets result = number^d mod modulus, or number^-d. The number is less than the modulus.
template <class WorkerType, unsigned kWords>
PENUMBRA_LANE void crt_power(const WorkerType& worker, std::uint32_t (&result)[kWords],
                             const std::uint32_t (&number)[kWords], bool is_negative) {
  constexpr unsigned kAll = WorkerType::kAll, kLanes = kAll / kWords, kBoth = WorkerType::kBoth;
  const auto& lane = worker.lane;
  const unsigned first = worker.first_of_half();
  const rsa_half& half = worker.key.half[worker.half()];
  const BothColumns<kAll> shared = worker.table.of_both(0);
  const auto is_one = [](unsigned i) { return i == 0 ? 1U : 0U; };
  Modulus<kWords> prime;
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) prime.words[i] = half.prime[first + i];
  prime.inverse = half.inverse;

  std::uint32_t low[kWords], high[kWords], base[kWords];
  lane.sync();
  worker.store_words(shared, number);
  lane.sync();
  load(low, shared.of(0), first);
  load(high, shared.of(1), first);
  lane.sync();
  reduce<kLanes>(lane, base, low, high, prime);
  multiply<kLanes>(lane, base, base, [&half](unsigned i) { return half.cube[i]; }, prime);
  power(lane, result, base, is_negative ? half.negative : half.exponent, worker.table, prime);
  multiply<kLanes>(lane, result, result, is_one, prime);
  subtract_once<kLanes>(lane, result, prime.words);

  // h = (by_p - by_q) / q mod p, by the lanes of p. The lanes of q calculate something that nobody uses.
  std::uint32_t by_q[kWords], addend[kWords];
  lane.sync();
  worker.store_words(shared, result);
  lane.sync();
  load(by_q, shared.of(1), first);
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) addend[i] = worker.half() == 0 ? by_q[i] : 0;
  subtract_once<kLanes>(lane, by_q, prime.words);
  const std::uint32_t borrow = subtract<kLanes>(lane, result, result, by_q);
  add<kLanes>(lane, result, prime.words, 0U - borrow);
  multiply<kLanes>(lane, result, result, [&worker](unsigned i) { return worker.key.coefficient[i]; }, prime);
  subtract_once<kLanes>(lane, result, prime.words);

  // result = by_q + q * h, modulo the modulus
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) result[i] = worker.half() == 0 ? result[i] : 0;
  std::uint32_t square[kWords];
  worker.load_words(square, worker.key.square);
  multiply<kBoth>(
      lane, square, square, [&worker](unsigned i) { return i < kAll ? worker.key.half[1].prime[i] : 0; },
      worker.modulus);
  worker.multiply_shared(result, square, result);
  const std::uint32_t carry = add<kBoth>(lane, result, addend);
  subtract<kBoth>(lane, result, result, worker.modulus.words, 0U - carry);
}

/// Returns 1 if number^e mod modulus = expected. The public exponents of a warp may differ.
template <class WorkerType, unsigned kWords>
PENUMBRA_LANE std::uint32_t is_root(const WorkerType& worker, const std::uint32_t (&number)[kWords],
                                    const std::uint32_t (&expected)[kWords]) {
  constexpr unsigned kBoth = WorkerType::kBoth;
  const auto& lane = worker.lane;
  const BothColumns<WorkerType::kAll> base = worker.table.of_both(1);
  std::uint32_t power[kWords], product[kWords];
  worker.multiply_by(power, number, worker.key.square);
  lane.sync();
  worker.store_words(base, power);
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) power[i] = 0;
  subtract<kBoth>(lane, power, power, worker.modulus.words);  // R - modulus = R mod modulus
  PENUMBRA_ROLL
  for (unsigned bit = 32; bit-- > 0;) {
    const std::uint32_t exponent = worker.key.exponent >> bit;
    if (lane.ballot(exponent != 0) == 0) continue;
    worker.multiply_shared(power, power, power);
    if (lane.ballot((exponent & 1) != 0) == 0) continue;
    multiply<kBoth>(lane, product, power, base, worker.modulus);
    PENUMBRA_UNROLL
    for (unsigned i = 0; i < kWords; ++i) power[i] = (exponent & 1) != 0 ? product[i] : power[i];
  }
  multiply<kBoth>(lane, power, power, [](unsigned i) { return i == 0 ? 1U : 0U; }, worker.modulus);
  subtract_once<kBoth>(lane, power, worker.modulus.words);
  std::uint32_t difference = 0;
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) difference |= power[i] ^ expected[i];
  return group_ballot<kBoth>(lane, difference != 0) == 0 ? 1 : 0;
}

/// Returns the words of a number of bytes from `first` on.
template <unsigned kWords>
PENUMBRA_LANE void words_of_bytes(std::uint32_t (&words)[kWords], const std::uint8_t* end, unsigned first) {
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) {
    const std::uint8_t* const at = end - 4 * (first + i + 1);
    words[i] = std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
  }
}
template <unsigned kWords>
PENUMBRA_LANE void bytes_of_words(std::uint8_t* end, unsigned first, const std::uint32_t (&words)[kWords]) {
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) {
    std::uint8_t* const at = end - 4 * (first + i + 1);
    for (unsigned j = 0; j < 4; ++j) at[j] = static_cast<std::uint8_t>(words[i] >> (24 - 8 * j));
  }
}

/// Sets this lane's words of a pair.
template <class WorkerType, unsigned kWords>
PENUMBRA_LANE void store_pair(const WorkerType& worker, rsa_pair& pair, const std::uint32_t (&before)[kWords],
                              const std::uint32_t (&after)[kWords]) {
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) {
    pair.before[worker.first() + i] = before[i];
    pair.after[worker.first() + i] = after[i];
  }
}

/// Runs an operation of a batch, or makes its pair of the input, which is then random and less than the modulus. If
/// `is_stored` is false, changes nothing: the lane only helps its warp.
template <unsigned kLanes, unsigned kWords, unsigned kWindow, class Lane>
PENUMBRA_LANE void run_operation(const Lane& lane, const Tasks& tasks, std::uint32_t index, bool is_stored,
                                 const Table<kLanes, kWords, kWindow>& table) {
  constexpr unsigned kBytes = 8 * kLanes * kWords, kBoth = 2 * kLanes;
  const Worker<kLanes, kWords, kWindow, Lane> worker(lane, tasks.keys[tasks.key[index]], table);
  rsa_pair& pair = tasks.pairs[tasks.pair[index]];
  std::uint32_t input[kWords], number[kWords], result[kWords];
  words_of_bytes(input, tasks.inputs + std::size_t{kBytes} * (index + 1), worker.first());
  const std::uint32_t is_small = subtract<kBoth>(lane, number, input, worker.modulus.words);
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) input[i] &= 0U - is_small;
  worker.multiply_by(number, input, tasks.makes_pairs ? &worker.key.square[0] : &pair.before[0]);
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) result[i] = tasks.makes_pairs ? input[i] : number[i];
  crt_power(worker, result, result, tasks.makes_pairs);
  worker.multiply_by(result, result, tasks.makes_pairs ? &worker.key.square[0] : &pair.after[0]);
  if (tasks.makes_pairs) {
    if (is_stored) store_pair(worker, pair, number, result);
    return;
  }
  subtract_once<kBoth>(lane, result, worker.modulus.words);
  const std::uint32_t is_right = is_root(worker, result, input);
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) result[i] &= 0U - (is_right & is_small);
  if (is_stored) {
    bytes_of_words(tasks.outputs + std::size_t{kBytes} * (index + 1), worker.first(), result);
    if (worker.place() == 0) {
      tasks.statuses[index] = is_small == 0 ? RSA_TOO_LARGE : is_right == 0 ? RSA_WRONG : RSA_DONE;
    }
  }
  worker.load_words(number, pair.before);
  worker.multiply_shared(number, number, number);
  worker.load_words(result, pair.after);
  worker.multiply_shared(result, result, result);
  if (is_stored) store_pair(worker, pair, number, result);
}

}  // namespace penumbra::rsa::gpu
