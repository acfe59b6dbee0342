// SPDX-License-Identifier: Apache-2.0
//
// Measures private operations of RSA on a GPU, by size of the batch and by lanes for each prime, with and without
// copies of inputs and results.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "crypto/rsa/cuda.h"
#include "gpu/bars.h"
#include "gpu/measurements.h"
#include "rivals/openssl_rsa.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::uint32_t kLeastBatch = 64;  ///< 128 halves.
constexpr std::uint32_t kMostBatch = 67584;
constexpr std::uint32_t kBatchSizes[] = {kLeastBatch, 512, 1024, 4096, 16896, kMostBatch};
constexpr char kWithCopies[] = "with copies", kWithoutCopies[] = "without copies";
constexpr double kSampleTime = 0.1;

/// Inputs for two keys, which alternate.
class Work {
 public:
  Work(unsigned bits, Random& random) : openssl_{OpensslRsa(bits), OpensslRsa(bits)}, batch_(bits, 2, kMostBatch) {
    for (const OpensslRsa& each : openssl_) {
      auto key = std::make_unique<rsa_key>();
      each.expand(*key);
      batch_.add_key(*key);
    }
    for (auto& byte : batch_.inputs()) byte = static_cast<std::uint8_t>(random.next());
    for (std::uint32_t i = 0; i < kMostBatch; ++i) {
      batch_.inputs()[std::size_t{i} * batch_.bytes()] &= 0x7F;
      batch_.keys()[i] = i % 2;
    }
  }
  rsa::CudaBatch& batch() { return batch_; }
  /// Compares some results with OpenSSL's. All others have passed the check of the operation.
  void check(std::uint32_t count) {
    constexpr std::uint32_t kCompared = 32;
    batch_.run(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (batch_.statuses()[i] != RSA_DONE) throw WrongAnswer("a private operation failed its check");
      if (i % (count / kCompared) != 0) continue;
      std::vector<std::uint8_t> right(batch_.bytes());
      const std::size_t at = std::size_t{i} * batch_.bytes();
      openssl_[i % 2].run(batch_.inputs().subspan(at, right.size()), right);
      if (!std::ranges::equal(right, batch_.outputs().subspan(at, right.size()))) {
        throw WrongAnswer("private operations give other bytes than OpenSSL");
      }
    }
  }
  /// Returns seconds for a batch.
  double measure(std::uint32_t count, unsigned lanes, bool with_copies) {
    batch_.set_lanes(lanes);
    unsigned batches = 0;
    const double begin = now();
    double end = begin;
    do {
      if (with_copies) {
        batch_.run(count);
      } else {
        batch_.run_in_place(count);
      }
      ++batches;
      end = now();
    } while (end - begin < kSampleTime);
    return (end - begin) / batches;
  }

 private:
  std::array<OpensslRsa, 2> openssl_;
  rsa::CudaBatch batch_;
};

/// Returns the series with other samples.
template <class Change>
std::vector<Series> changed(std::vector<Series> all, Change change) {
  for (Series& series : all) std::ranges::transform(series.samples, series.samples.begin(), change);
  return all;
}

/// Measures one size of batches. Returns operations in a second of both first contenders: with and without copies.
std::vector<double> measure_batch(Work& work, unsigned bits, std::uint32_t count, const Options& options,
                                  Report& report) {
  std::vector<Contender> turns{{kWithCopies, [&] { return work.measure(count, 0, true); }},
                               {kWithoutCopies, [&] { return work.measure(count, 0, false); }}};
  for (const unsigned lanes : work.batch().lanes()) {
    work.batch().set_lanes(lanes);
    work.check(count);
    turns.push_back({fmt::format("{} lanes for each prime, without copies", lanes),
                     [&work, count, lanes] { return work.measure(count, lanes, false); }});
  }
  const std::vector<Series> seconds = interleave(turns, options.rounds);
  const std::string title = fmt::format("RSA-{} on a GPU, batches of {}", bits, count);
  const std::vector<Series> rates = changed(seconds, [count](double each) { return count / each; });
  report.compare(
      title, "operations/s", rates, "",
      Place{{"rsa", fmt::format("RSA-{} on a GPU", bits), "operations in a batch"}, static_cast<double>(count)});
  report.compare(title, "ms a batch", changed(seconds, [](double each) { return each * 1e3; }), "");
  return {spread(rates[0].samples).median, spread(rates[1].samples).median};
}

}  // namespace

void measure_rsa(const Options& options, Report& report) {
  Random random(options.seed);
  double rate_2048 = 0;
  for (const unsigned bits : {2048U, 3072U, 4096U}) {
    Work work(bits, random);
    double best = 0;
    for (const std::uint32_t count : kBatchSizes) {
      const std::vector<double> rates = measure_batch(work, bits, count, options, report);
      best = std::max(best, rates[1]);
      if (bits == 2048 && count == kLeastBatch) kRsaLatency.tell(report, 1e3 * count / rates[1]);
      if (bits == 2048 && count == kMostBatch) kRsaCopies.tell(report, rates[0] / rates[1]);
    }
    if (bits == 2048) {
      rate_2048 = best;
      kRsaRate.tell(report, best * 1e-6);
    } else {
      (bits == 3072 ? kRsa3072 : kRsa4096).tell(report, best / rate_2048);
    }
  }
  report.note(
      "one batch of up to 32 also makes factors of blinding, and takes about twice as long: medians leave it out");
  report.checked("results of every form equal OpenSSL's");
}

}  // namespace penumbra::bench::gpu
