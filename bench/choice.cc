// SPDX-License-Identifier: Apache-2.0
//
// Compares gopt, as it calibrates itself, and `auto` with the best fixed choice of a CPU engine. The comparison covers
// every shader, in tables of several sizes, in batches of 1 to 4096 items.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "choice_work.h"
#include "gopt/width_choice.h"
#include "lookup_contender.h"
#include "pin.h"

namespace penumbra::bench {
namespace {

constexpr double kBar = 0.97;
constexpr std::array<std::uint32_t, 10> kLengths{1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096};
constexpr std::array<std::uint32_t, 8> kWidths{1, 4, 8, 12, 16, 24, 32, 64};
constexpr double kSampleSeconds = 0.003;
constexpr unsigned kSelectionRounds = 3;  ///< Rounds that find the best fixed choice; their figures are not used again.
constexpr unsigned kSecondLook = 3;       ///< Factor on the rounds for a result that seems to miss the bar.
constexpr double kSettling = 0.05;        ///< Seconds in which a choice calibrates itself for a batch length.
constexpr double kLongestSettling = 2;    ///< Limit of kSettling while a first trial is not over.
constexpr std::size_t kSettledItems = 2'000'000;  ///< Items after which trials are over.
constexpr std::size_t kCheckedItems = 20'000;

/// An engine on a work's table, set up as in a router.
class Way {
 public:
  Way(std::string name, const std::string& engine, const ChoiceWork& work)
      : name_(std::move(name)), choice_(engine), engine_(create_engine(engine)), work_(work) {
    begin_as_calibrated();
    batch_.table = work.table;
    output_.resize(LookupContender::kMostBatch * work.answer_bytes);
  }

  const std::string& name() const { return name_; }
  std::vector<std::string> notes() const { return engine_->notes(); }

  /// Starts again with the engine's calibrations, as a router does after a restart.
  void begin_as_calibrated() {
    std::map<std::string, std::vector<EngineCalibration>> found;
    for (const auto& [of, member] : engine_->members()) found[of] = member->calibrations();
    auto own = engine_->calibrations();
    queue_.reset();
    engine_ = create_engine(choice_);
    engine_->use_table(*work_.table);
    batch_.shader = engine_->find_shader(work_.table->name());
    engine_->announce(*batch_.shader, *work_.table);
    queue_ = engine_->open_queue_for(first_core());
    for (const auto& [of, member] : engine_->members()) member->load_calibrations(std::move(found[of]));
    engine_->load_calibrations(std::move(own));
  }

  /// True once the engine or a member of it has measured batches of this length.
  bool knows(std::uint32_t length) const {
    auto all = engine_->calibrations();
    for (const auto& [of, member] : engine_->members()) {
      for (EngineCalibration& each : member->calibrations()) all.push_back(std::move(each));
    }
    const std::size_t place = 2 * gopt::length_class(length);
    return std::ranges::any_of(all, [place](const EngineCalibration& each) {
      return each.figures.size() > place && each.figures[place] != 0;
    });
  }

  void run(std::size_t at, std::uint32_t items) {
    batch_.inputs[0] = work_.inputs + at * work_.input_bytes;
    batch_.outputs[0] = output_.data();
    batch_.items = items;
    auto answer = queue_->submit(batch_);
    while (answer == EngineQueue::Submitted::full) answer = queue_->submit(batch_);
    while (answer == EngineQueue::Submitted::queued && queue_->poll() == nullptr) {
    }
    keep(output_.data());
  }

  /// Checks answers in batches of `length`. Throws WrongAnswer.
  void check(std::uint32_t length) {
    for_each_batch(std::min(kCheckedItems, work_.count()), length, [&](std::size_t at, std::size_t count) {
      std::ranges::fill(output_, std::byte{0xA5});
      run(at, static_cast<std::uint32_t>(count));
      const std::size_t bytes = work_.answer_bytes;
      if (std::memcmp(output_.data(), work_.right.data() + at * bytes, count * bytes) == 0) return;
      throw WrongAnswer(fmt::format("{}, {}, {}: a wrong answer among items {} to {}", work_.table->name(), work_.size,
                                    name_, at, at + count));
    });
  }

 private:
  std::string name_, choice_;
  std::unique_ptr<Engine> engine_;
  const ChoiceWork& work_;
  std::unique_ptr<EngineQueue> queue_;
  Batch batch_;
  std::vector<std::byte> output_;
};

/// Ratios to the best fixed choice.
struct Cell {
  std::string best;
  Series gopt, automatic;
};

double median_of(const Series& series) {
  return spread(series.samples).median;
}

/// One shader on one table, with all choices.
class WorkOnWays {
 public:
  explicit WorkOnWays(const ChoiceWork& work) : work_(work) {
    fixed_.push_back(std::make_unique<Way>("scalar", "scalar", work));
    for (const std::uint32_t width : kWidths) {
      const std::string engine = fmt::format("gopt,width={}", width);
      fixed_.push_back(std::make_unique<Way>(engine, engine, work));
    }
    gopt_ = std::make_unique<Way>("gopt", "gopt", work);
    automatic_ = std::make_unique<Way>("auto", resolve_engine(kAuto, work.table->name()), work);
  }

  void check() {
    for (const std::uint32_t length : {1U, 7U, 64U, 4096U}) {
      for (const auto& way : fixed_) way->check(length);
      gopt_->check(length);
      automatic_->check(length);
    }
  }

  Cell measure(std::uint32_t length, unsigned rounds) {
    length_ = length;
    batches_ = batches_of_a_sample(*fixed_.front());
    Way& best = find_best();
    for (Way* way : {gopt_.get(), automatic_.get()}) {
      settle(*way);
      way->begin_as_calibrated();
    }
    Cell cell = compare(best, rounds);
    if (std::min(median_of(cell.gopt), median_of(cell.automatic)) < kBar) cell = compare(best, kSecondLook * rounds);
    return cell;
  }
  std::vector<std::string> notes() const { return gopt_->notes(); }

 private:
  void run_next(Way& way) {
    if (cursor_ + length_ > work_.count()) cursor_ = 0;
    way.run(cursor_, length_);
    cursor_ += length_;
  }
  double time_of(Way& way, std::size_t batches) {
    const double begin = thread_time();
    for (std::size_t i = 0; i < batches; ++i) run_next(way);
    return thread_time() - begin;
  }
  std::size_t batches_of_a_sample(Way& way) {
    std::size_t batches = 1;
    while (time_of(way, batches) < kSampleSeconds / 4) batches *= 2;
    return std::max<std::size_t>(
        1, static_cast<std::size_t>(kSampleSeconds / time_of(way, batches) * static_cast<double>(batches)));
  }
  Contender contender(Way& way) {
    return {way.name(), [this, &way] {
              time_of(way, batches_ / 8);  // Warms the caches and the branch predictor, which another choice has used.
              return static_cast<double>(batches_ * length_) / time_of(way, batches_) * 1e-6;
            }};
  }
  Way& find_best() {
    std::vector<Contender> turns;
    turns.reserve(fixed_.size());
    for (const auto& way : fixed_) turns.push_back(contender(*way));
    const std::vector<Series> series = interleave(turns, kSelectionRounds);
    std::size_t best = 0;
    for (std::size_t i = 1; i < series.size(); ++i) {
      if (median_of(series[i]) > median_of(series[best])) best = i;
    }
    return *fixed_[best];
  }
  void settle(Way& way) {
    const double begin = thread_time();
    const auto is_over = [&](std::size_t items) {
      const double time = thread_time() - begin;
      if (items < kSettledItems && time < kSettling) return false;
      return time > kLongestSettling || way.knows(length_);
    };
    for (std::size_t items = 0; !is_over(items);) {
      for (std::size_t part = 0; part < 4096; part += length_, items += length_) run_next(way);
    }
  }
  Cell compare(Way& best, unsigned rounds) {
    const auto series = interleave({contender(best), contender(*gopt_), contender(*automatic_)}, rounds);
    Cell cell{best.name(), ratio(series[1], series[0]), ratio(series[2], series[0])};
    for (Series* each : {&cell.gopt, &cell.automatic}) each->name = fmt::format("batches of {}", length_);
    return cell;
  }

  const ChoiceWork& work_;
  std::vector<std::unique_ptr<Way>> fixed_;
  std::unique_ptr<Way> gopt_, automatic_;
  std::uint32_t length_ = 0;
  std::size_t batches_ = 0, cursor_ = 0;
};

/// The worst point of the grid.
struct Worst {
  double ratio = 1e9;
  std::string where;

  void add(double other, const std::string& place) {
    if (other >= ratio) return;
    ratio = other;
    where = place;
  }
};

void tell(Report& report, const std::string& what, const std::string& title, const std::vector<Series>& ratios) {
  Places places{{"choice", what + " over the best fixed choice", "items a batch"}, title, {}};
  for (const std::uint32_t length : kLengths) places.at.emplace_back(static_cast<double>(length));
  report.compare(fmt::format("{} over the best fixed choice, {}", what, title), "times", ratios, "", places);
}

void run_choice(const Options& options, Report& report) {
  pin_to_first_core();
  report.note("the best fixed choice is scalar or gopt at a width, as three rounds of their own say for each place");
  Worst gopt, automatic;
  std::size_t places = 0;
  for (const auto& make : choice_works(options)) {
    const ChoiceWork work = make();
    const std::string title = fmt::format("{}, {}", work.table->name(), work.size);
    WorkOnWays on(work);
    on.check();
    std::vector<Series> of_gopt, of_auto;
    std::vector<std::string> best;
    for (const std::uint32_t length : kLengths) {
      Cell cell = on.measure(length, options.rounds);
      const std::string place = fmt::format("{}, batches of {}, where {} is best", title, length, cell.best);
      gopt.add(median_of(cell.gopt), place);
      automatic.add(median_of(cell.automatic), place);
      best.push_back(fmt::format("{}: {}", length, cell.best));
      of_gopt.push_back(std::move(cell.gopt));
      of_auto.push_back(std::move(cell.automatic));
      ++places;
    }
    tell(report, "gopt", title, of_gopt);
    tell(report, "auto", title, of_auto);
    report.note(fmt::format("{}, best fixed choice by items a batch: {}", title, fmt::join(best, "; ")));
    for (const std::string& note : on.notes()) report.note(note);
  }
  report.checked("every answer of all engines and widths in batches of 1, 7, 64 and 4096");
  for (const auto& [what, worst] : {std::pair("gopt", &gopt), {"auto", &automatic}}) {
    report.note(fmt::format("{} is worst in {}: {:.3f}", what, worst->where, worst->ratio));
    report.bar(fmt::format("{} / best of scalar and gopt at any width, least of {} places", what, places), worst->ratio,
               kBar, true);
  }
}

[[maybe_unused]] const bool kChoiceBenchmark =
    register_benchmark({.name = "choice",
                        .measures = "gopt as it calibrates itself, and auto, compared with the best fixed CPU engine",
                        .needs = "2 GB of memory",
                        .cost = {110, 7},
                        .takes_routes = true,
                        .run = &run_choice});

}  // namespace
}  // namespace penumbra::bench
