// SPDX-License-Identifier: Apache-2.0
//
// Measures how fast results become visible to the host, by group or item by item (APUNet, section 4.5).
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

constexpr unsigned kFewGroups = 144, kManyGroups = 1152;
constexpr std::uint32_t kPublishedWords = 1U << 25;  ///< Words of a sample.

/// Groups that write items of `item_words` words to host memory in one of the ways.
class Publisher {
 public:
  Publisher(unsigned groups, std::uint32_t item_words, Publishing way)
      : groups_(groups), item_words_(item_words), way_(way) {}

  void check_rounds(std::uint32_t rounds) const {
    std::ranges::fill(words_.span(), 0U);
    std::ranges::fill(flags_.span(), 0U);
    run(rounds);
    for (std::uint32_t place = 0; place < words_.size(); ++place) {
      const std::uint32_t buffer = place / (kPublishedItems * item_words_) % kPublishedBuffers;
      const std::uint32_t behind = (rounds + kPublishedBuffers - buffer) % kPublishedBuffers;
      if (words_[place] == published_word(place, rounds - behind)) continue;
      throw WrongAnswer(fmt::format("publishing: word {} after {} rounds is wrong", place, rounds));
    }
    const std::uint32_t flags_apart = way_ == Publishing::item ? 1 : kPublishedItems;
    for (std::uint32_t flag = 0; flag < flags_.size(); flag += flags_apart) {
      if (flags_[flag] != rounds) throw WrongAnswer(fmt::format("publishing: flag {} is wrong", flag));
    }
  }
  /// Returns the million items per second.
  double rate() const {
    const double begin = now();
    const std::uint32_t rounds = kPublishedWords / (groups_ * kPublishedItems * item_words_);
    run(rounds);
    return rounds * static_cast<double>(groups_ * kPublishedItems) / (now() - begin) * 1e-6;
  }

 private:
  void run(std::uint32_t rounds) const {
    check(launch_publish(words_.data(), flags_.data(), groups_, item_words_, rounds, way_, stream_.get()), "launching");
    stream_.wait();
  }

  unsigned groups_;
  std::uint32_t item_words_;
  Publishing way_;
  SharedArray<std::uint32_t> words_{std::size_t{groups_} * kPublishedBuffers * kPublishedItems * item_words_};
  SharedArray<std::uint32_t> flags_{std::size_t{groups_} * kPublishedItems};
  Stream stream_;
};

/// Measures all ways that differ. Returns the ratio of the group's rate to that of the atomics.
double measure_item(unsigned groups, std::uint32_t item_words, const Options& options, Report& report) {
  const Publisher by_group(groups, item_words, Publishing::group), by_item(groups, item_words, Publishing::item),
      by_words(groups, item_words, Publishing::words);
  std::vector<std::pair<std::string, const Publisher*>> ways{{"a fence and a flag for a group of 32", &by_group},
                                                             {"each word by an atomic", &by_words}};
  if (item_words > 1) ways.emplace_back("a fence and an atomic for each item", &by_item);
  std::vector<Contender> turns;
  for (const auto& [name, publisher] : ways) {
    publisher->check_rounds(kPublishedBuffers);
    publisher->check_rounds(2 * kPublishedBuffers + 1);
    turns.push_back({name, [which = publisher] { return which->rate(); }});
  }
  const auto title = fmt::format("results of {} B made visible", 4 * item_words);
  return report.compare(fmt::format("{}, {} groups of 32", title, groups), "M items/s",
                        interleave(turns, options.rounds), ways[1].first,
                        Place{{"E19", title, "groups of 32 threads"}, static_cast<double>(groups)})[0];
}

}  // namespace

void measure_group_signals(const Options& options, Report& report) {
  constexpr std::uint32_t kAnswerWords = 1, kPacketWords = 16;
  report.input("results",
               fmt::format("words of 4 bytes made from place and round, no seed; {} MiB of them a sample, to the "
                           "host's memory, from {} and {} groups of {} threads with {} buffers each",
                           kPublishedWords * sizeof(std::uint32_t) >> 20, kFewGroups, kManyGroups, kPublishedItems,
                           kPublishedBuffers));
  for (const unsigned groups : {kFewGroups, kManyGroups}) {
    measure_item(groups, kAnswerWords, options, report);
    const double of_packets = measure_item(groups, kPacketWords, options, report);
    if (groups == kManyGroups) kGroupSignal.tell(report, of_packets);
  }
  report.checked("every word is in the host's memory, in every way");
}

}  // namespace penumbra::bench::gpu
