// SPDX-License-Identifier: Apache-2.0
//
// Results made visible to the host once a group, or item by item (APUNet, section 4.5).
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gpu/bars.h"
#include "gpu/cuda_call.h"
#include "gpu/kernels.h"
#include "gpu/measurements.h"

namespace penumbra::bench::gpu {
namespace {

constexpr unsigned kGroupsAtOnce = 144;
constexpr std::uint32_t kPublishingRounds = 500;

/// Groups that write 64 bytes an item to the host's memory, in one of the ways.
class Publisher {
 public:
  explicit Publisher(Publishing way) : way_(way) {}

  void check_rounds(std::uint32_t rounds) const {
    std::ranges::fill(words_.span(), 0U);
    std::ranges::fill(flags_.span(), 0U);
    run(rounds);
    for (std::uint32_t place = 0; place < words_.size(); ++place) {
      const std::uint32_t buffer = place / kWordsOfABuffer % kPublishedBuffers;
      const std::uint32_t behind = (rounds + kPublishedBuffers - buffer) % kPublishedBuffers;
      if (words_[place] == published_word(place, rounds - behind)) continue;
      throw WrongAnswer(fmt::format("publishing: word {} after {} rounds is wrong", place, rounds));
    }
    const std::uint32_t flags_apart = way_ == Publishing::item ? 1 : kPublishedItems;
    for (std::uint32_t flag = 0; flag < flags_.size(); flag += flags_apart) {
      if (flags_[flag] != rounds) throw WrongAnswer(fmt::format("publishing: flag {} is wrong", flag));
    }
  }
  /// Million items a second.
  double rate() const {
    const double begin = now();
    run(kPublishingRounds);
    return kPublishingRounds * static_cast<double>(kGroupsAtOnce * kPublishedItems) / (now() - begin) * 1e-6;
  }

 private:
  static constexpr std::uint32_t kWordsOfABuffer = kPublishedItems * kPublishedWords;

  void run(std::uint32_t rounds) const {
    check(launch_publish(words_.data(), flags_.data(), kGroupsAtOnce, rounds, way_, stream_.get()), "launching");
    stream_.wait();
  }

  Publishing way_;
  SharedArray<std::uint32_t> words_{std::size_t{kGroupsAtOnce} * kPublishedBuffers * kWordsOfABuffer};
  SharedArray<std::uint32_t> flags_{std::size_t{kGroupsAtOnce} * kPublishedItems};
  Stream stream_;
};

}  // namespace

void measure_group_signals(const Options& options, Report& report) {
  const std::pair<const char*, Publisher> ways[] = {
      {"a fence and a flag for a group of 32", Publisher(Publishing::group)},
      {"a fence and an atomic for each item", Publisher(Publishing::item)},
      {"each word by an atomic", Publisher(Publishing::words)}};
  std::vector<Contender> turns;
  for (const auto& [name, publisher] : ways) {
    publisher.check_rounds(kPublishedBuffers);
    publisher.check_rounds(2 * kPublishedBuffers + 1);
    turns.push_back({name, [&publisher] { return publisher.rate(); }});
  }
  report.checked("E19: every word stands in the host's memory, in every way");
  const auto series = interleave(turns, options.rounds);
  const auto ratios = report.compare(fmt::format("E19 results of 64 B made visible, {} groups of 32", kGroupsAtOnce),
                                     "M items/s", series, series[1].name);
  kGroupSignal.tell(report, ratios[0]);
}

}  // namespace penumbra::bench::gpu
