// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "gpu/arithmetic.h"
#include "gpu/measurements.h"
#include "gpu/resident_exchange.h"
#include "gpu/timing.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::uint32_t kMostNumbers = 1U << 18;
constexpr unsigned kGroups = 64, kThreads = 256;
constexpr std::uint32_t kOfAGroup = 1024;  ///< Numbers per group; more only if no group is left.
constexpr std::uint32_t kExchanges = 300;

/// Copies to the GPU, a kernel and copies back, given to the stream each time or launched as a graph.
class ByCopies {
 public:
  explicit ByCopies(std::uint32_t numbers)
      : numbers_(numbers),
        in_(numbers),
        out_(numbers),
        device_in_(numbers),
        device_out_(numbers),
        graph_(stream_, [this] { give(); }) {}

  void once() const {
    give();
    stream_.wait();
  }
  void once_by_graph() const {
    graph_.launch(stream_);
    stream_.wait();
  }
  /// Checks the answers of both variants with different numbers.
  void check_answers() const {
    std::iota(in_.span().begin(), in_.span().end(), 3);
    once();
    check_numbers(3);
    std::iota(in_.span().begin(), in_.span().end(), 77);
    once_by_graph();
    check_numbers(77);
  }

 private:
  void give() const {
    stream_.copy(device_in_.data(), in_.data(), in_.bytes());
    check(launch_answers(device_in_.data(), device_out_.data(), numbers_, stream_.get()), "launching");
    stream_.copy(out_.data(), device_out_.data(), out_.bytes());
  }
  void check_numbers(std::uint32_t first) const {
    for (std::uint32_t i = 0; i < numbers_; ++i) {
      if (out_[i] != answer(first + i)) throw WrongAnswer(fmt::format("exchange by copies: answer {} is wrong", i));
    }
  }

  std::uint32_t numbers_;
  SharedArray<std::uint32_t> in_, out_;
  DeviceArray<std::uint32_t> device_in_, device_out_;
  Stream stream_;
  Graph graph_;
};

/// Returns the microseconds of an exchange whose numbers are divided among resident groups.
double by_polling(ResidentExchange& exchange, std::uint32_t numbers) {
  const unsigned groups = std::clamp((numbers + kOfAGroup - 1) / kOfAGroup, 1U, kGroups);
  const std::vector<std::uint32_t> parts = shares(numbers, groups);
  const Running running(exchange);
  return microseconds_each(kExchanges, [&] {
    for (unsigned slot = 0; slot < groups; ++slot) exchange.post(slot, parts[slot]);
    for (unsigned slot = 0; slot < groups; ++slot) exchange.wait(slot);
  });
}

}  // namespace

void measure_exchanges(const Options& options, Report& report) {
  report.input("numbers",
               fmt::format("of 4 bytes, in sequence, no seed; a multiplication and an addition answer each; by "
                           "polling {} of them to a group of {} threads, at most {} groups",
                           kOfAGroup, kThreads, kGroups));
  ResidentExchange exchange(kGroups, kThreads, kMostNumbers / kGroups);
  {
    const Running running(exchange);
    check_answers(exchange, kGroups, kMostNumbers / kGroups);
  }
  for (const std::uint32_t numbers : {1U, 32U, 256U, 1024U, 4096U, 16'384U, 65'536U, kMostNumbers}) {
    const ByCopies copies(numbers);
    copies.check_answers();
    const auto series =
        interleave({{"asynchronous copies", [&] { return microseconds_each(kExchanges, [&] { copies.once(); }); }},
                    {"a graph of them", [&] { return microseconds_each(kExchanges, [&] { copies.once_by_graph(); }); }},
                    {"polling on shared memory", [&] { return by_polling(exchange, numbers); }}},
                   options.rounds);
    report.compare(fmt::format("exchange of {} numbers", numbers), "us", series, "asynchronous copies",
                   Place{{"E3", "N numbers there and back", "numbers"}, static_cast<double>(numbers)});
  }
  report.checked("every answer of every way is right");
}

}  // namespace penumbra::bench::gpu
