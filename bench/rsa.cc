// SPDX-License-Identifier: Apache-2.0
//
// Measures private operations of RSA: on one core eight at a time by AVX512-IFMA, and OpenSSL's one after the other;
// and batches on a GPU.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "bench.h"
#include "crypto/rsa/ifma.h"
#include "gpu/measurements.h"
#include "ifma_rate.h"
#include "lookup_contender.h"
#include "pin.h"
#include "rivals/openssl_rsa.h"

namespace penumbra::bench {
namespace {

constexpr char kOurs[] = "penumbra, 8 at a time", kOpenssl[] = "OpenSSL";
constexpr double kBoundBar = 0.9;
constexpr double kWindowBits = RSA_WINDOW, kPowers = RSA_POWERS;

/// A size of keys, and the least ratios to OpenSSL: to 3.0, and to newer versions, which have IFMA code for all sizes.
struct Size {
  unsigned bits;
  double bar, bar_of_newer;
};
constexpr std::array<Size, 3> kSizes{{{2048, 1.9, 1.9}, {3072, 3.8, 1.6}, {4096, 4.0, 1.5}}};

/// Returns the least number of IFMA instructions for a batch: those of the two exponentiations, with a window of four
/// bits. A number of n digits has n * n products of digits, each with two halves; a square has half as many.
double least_instructions(unsigned bits) {
  const double digits = bits / 1024.0 * 10, windows = bits / 2.0 / kWindowBits;
  const double reduction = 2 * digits * digits + digits;
  const double square = digits * digits + digits + reduction, product = 2 * digits * digits + reduction;
  const double in_table = kPowers / 2 - 1;
  return 2 * ((kWindowBits * (windows - 1) + in_table) * square + (windows + in_table) * product);
}

/// Eight inputs for one key, and both contenders.
class RsaInputs {
 public:
  RsaInputs(unsigned bits, Random& random) : openssl_(bits), bytes_(bits / 8) {
    auto expanded = std::make_unique<rsa_key>();
    openssl_.expand(*expanded);
    key_ = std::make_unique<rsa::IfmaKey>(*expanded);
    inputs_.resize(rsa::kMostTogether * bytes_);
    for (auto& byte : inputs_) byte = static_cast<std::uint8_t>(random.next());
    for (std::size_t i = 0; i < rsa::kMostTogether; ++i) inputs_[i * bytes_] &= 0x7F;
    outputs_.resize(inputs_.size());
  }

  void run_ours() {
    std::array<rsa::Operation, rsa::kMostTogether> operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      operations[i] = {.key = key_.get(), .input = &inputs_[i * bytes_], .output = &outputs_[i * bytes_]};
    }
    worker_.run(operations);
    for (const rsa::Operation& each : operations) {
      if (each.status != RSA_DONE) throw WrongAnswer("a private operation failed its check");
    }
  }
  void run_openssl() {
    for (std::size_t i = 0; i < rsa::kMostTogether; ++i) {
      openssl_.run(std::span(inputs_).subspan(i * bytes_, bytes_), std::span(outputs_).subspan(i * bytes_, bytes_));
    }
  }
  void check() {
    run_openssl();
    const std::vector<std::uint8_t> right = outputs_;
    run_ours();
    if (outputs_ != right) throw WrongAnswer("private operations give other bytes than OpenSSL");
  }
  /// Returns operations in a second.
  template <class Run>
  static double measure(Run run, unsigned batches) {
    const double begin = thread_time();
    for (unsigned i = 0; i < batches; ++i) run();
    return batches * rsa::kMostTogether / (thread_time() - begin);
  }

 private:
  OpensslRsa openssl_;
  std::size_t bytes_;
  std::unique_ptr<rsa::IfmaKey> key_;
  rsa::IfmaWorker worker_;
  std::vector<std::uint8_t> inputs_, outputs_;
};

void measure_core(const Options& options, Report& report) {
  pin_to_first_core();
  report.note(OpensslRsa::version());
  const bool is_old = OpensslRsa::version().starts_with("OpenSSL 3.0.");
  const double rate = ifma_per_second();
  report.note(fmt::format("{:.2f} G IFMA instructions of 512 bits a second", rate * 1e-9));
  Random random(options.seed);
  for (const Size& size : kSizes) {
    const double bound = rate * rsa::kMostTogether / least_instructions(size.bits);
    report.note(fmt::format("bound of RSA-{} by these instructions: {:.0f} private operations/s", size.bits, bound));
    RsaInputs batch(size.bits, random);
    batch.check();
    const unsigned batches = 2 * 4096 / size.bits * (4096 / size.bits);
    const std::vector<Contender> turns{
        {kOurs, [&] { return RsaInputs::measure([&] { batch.run_ours(); }, batches); }, Role::ours},
        {kOpenssl, [&] { return RsaInputs::measure([&] { batch.run_openssl(); }, batches); }, Role::rival}};
    const std::vector<Series> series = interleave(turns, options.rounds);
    const std::string title = fmt::format("RSA-{}, private", size.bits);
    const std::vector<double> ratios =
        report.compare(title, "operations/s/core", series, kOpenssl,
                       Place{{"rsa", "RSA, private", "key", "bits"}, static_cast<double>(size.bits)});
    report.bar(title + ": penumbra / OpenSSL", ratios[0], is_old ? size.bar : size.bar_of_newer, true);
    report.bar(title + ": penumbra / bound", spread(series[0].samples).median / bound, kBoundBar, true);
  }
  report.checked("every result equals OpenSSL's");
}

void run_rsa(const Options& options, Report& report) {
  if (rsa::has_ifma()) {
    measure_core(options, report);
  } else {
    report.note("one core is not measured: this CPU has no AVX512-IFMA");
  }
  const Availability gpu = gpu::find_gpu();
  if (gpu.available) {
    gpu::measure_rsa(options, report);
  } else {
    report.note("no GPU is measured: " + gpu.reason);
  }
}

Availability probe_rsa() {
  if (rsa::has_ifma()) return {true, ""};
  const Availability gpu = gpu::find_gpu();
  return {gpu.available, "this CPU has no AVX512-IFMA, and there is no GPU: " + gpu.reason};
}

[[maybe_unused]] const bool kRsaBenchmark =
    register_benchmark({.name = "rsa",
                        .measures = "private operations of RSA on one core, 8 at a time and OpenSSL's, and on a GPU",
                        .needs = "AVX512-IFMA or an NVIDIA GPU",
                        .cost = {.once = 8, .a_round = 0.4, .once_on_gpu = 60},
                        .probe = &probe_rsa,
                        .run = &run_rsa});

}  // namespace
}  // namespace penumbra::bench
