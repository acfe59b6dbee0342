// SPDX-License-Identifier: Apache-2.0
//
// Many small buffers in flight to a kernel that never stops (Intel, section IV), and how the host learns of answers.
#include <fmt/format.h>

#include <algorithm>

#include "gpu/arithmetic.h"
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

/// Microseconds a buffer of `items` numbers with `slots` of them in flight, from one thread.
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
  for (const std::uint32_t items : {kBufferItems, 128U, 512U, 1024U}) {
    ResidentExchange exchange(kMostSlots, std::min(items, kMostThreads), items, Signal::group);
    check_running(exchange, kMostSlots, items);
    std::vector<Contender> turns;
    for (const unsigned slots : kSlots) {
      turns.push_back({fmt::format("{} in flight", slots),
                       [&exchange, slots, items] { return exchange_time(exchange, slots, items); }});
    }
    report.compare(fmt::format("E21 exchange of a buffer of {}, bare kernel", items), "us a buffer",
                   interleave(turns, options.rounds), "1 in flight");
  }
  report.checked("E21: every answer of every buffer is right");
}

void measure_group_signals(const Options& options, Report& report) {
  ResidentExchange by_group(kMostSlots, kBufferItems, kBufferItems, Signal::group);
  ResidentExchange by_item(kMostSlots, kBufferItems, kBufferItems, Signal::item);
  check_running(by_group, kMostSlots, kBufferItems);
  check_running(by_item, kMostSlots, kBufferItems);
  report.checked("E19: every answer of both ways is right");
  const auto rate = [](ResidentExchange& exchange) {
    return kBufferItems / exchange_time(exchange, kMostSlots, kBufferItems);
  };
  const auto series = interleave({{"a fence and a flag for a group of 32", [&] { return rate(by_group); }},
                                  {"an atomic for each item", [&] { return rate(by_item); }}},
                                 options.rounds);
  const auto ratios = report.compare("E19 answers made visible, 144 groups of 32", "M items/s", series, series[1].name);
  kGroupSignal.tell(report, ratios[0]);
}

}  // namespace penumbra::bench::gpu
