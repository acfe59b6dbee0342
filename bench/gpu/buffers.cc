// SPDX-License-Identifier: Apache-2.0
//
// Measures many small buffers in flight to a resident kernel (Intel, section IV), and how the host learns of its
// answers (APUNet, section 4.5).
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "gpu/bars.h"
#include "gpu/measurements.h"
#include "gpu/resident_exchange.h"
#include "gpu/timing.h"

namespace penumbra::bench::gpu {
namespace {

constexpr unsigned kSlots[] = {1, 2, 4, 8, 16, 48, 72, 144};
constexpr unsigned kMostSlots = 144;
constexpr unsigned kMostThreads = 256;
constexpr std::uint32_t kBufferItems = 32;

/// Returns the microseconds per buffer of `items` numbers with `slots` buffers in flight, from one thread.
double exchange_time(ResidentExchange& exchange, unsigned slots, std::uint32_t items) {
  const Running running(exchange);
  for (unsigned slot = 0; slot < slots; ++slot) exchange.post(slot, items);
  std::uint64_t buffers = 0;
  const double begin = now();
  double end = begin;
  do {
    for (unsigned slot = 0; slot < slots; ++slot) {
      exchange.wait(slot);
      exchange.post(slot, items);
    }
    buffers += slots;
    end = now();
  } while (end - begin < kSampleSeconds);
  for (unsigned slot = 0; slot < slots; ++slot) exchange.wait(slot);
  return (end - begin) * 1e6 / static_cast<double>(buffers);
}

void check_running(ResidentExchange& exchange, unsigned slots, std::uint32_t items) {
  const Running running(exchange);
  check_answers(exchange, slots, items);
}

}  // namespace

void measure_buffers(const Options& options, Report& report) {
  report.input("numbers",
               "of 4 bytes, in sequence, no seed; a multiplication and an addition answer each; a group of as many "
               "threads as a buffer has numbers, but at most " +
                   std::to_string(kMostThreads));
  for (const std::uint32_t items : {kBufferItems, 128U, 512U, 1024U}) {
    ResidentExchange exchange(kMostSlots, std::min(items, kMostThreads), items);
    check_running(exchange, kMostSlots, items);
    std::vector<Contender> turns;
    Places places{{"E21", "a buffer to a kernel that never stops", "buffers in flight"},
                  fmt::format("buffers of {} numbers", items),
                  {}};
    for (const unsigned slots : kSlots) {
      places.at.emplace_back(static_cast<double>(slots));
      turns.push_back({fmt::format("{} in flight", slots),
                       [&exchange, slots, items] { return exchange_time(exchange, slots, items); }});
    }
    report.compare(fmt::format("exchange of a buffer of {}, bare kernel", items), "us a buffer",
                   interleave(turns, options.rounds), "1 in flight", places);
  }
  report.checked("every answer of every buffer is right");
}

}  // namespace penumbra::bench::gpu
