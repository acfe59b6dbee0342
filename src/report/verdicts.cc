// SPDX-License-Identifier: Apache-2.0
#include "report/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "report/targets.h"

namespace penumbra::report {
namespace {

constexpr std::size_t kMostFiguresTold = 6;

std::string bounds_text(const Check& check) {
  if (check.at_least && check.at_most) {
    return fmt::format("between {} and {}", figure(*check.at_least), figure(*check.at_most));
  }
  if (check.at_least) return figure(*check.at_least) + " or more";
  return check.at_most ? figure(*check.at_most) + " or less" : "";
}

std::string figures_text(const std::vector<Finding>& findings) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(findings.size(), kMostFiguresTold); ++i) {
    const bool same_plot = i > 0 && findings[i - 1].plot == findings[i].plot;
    texts.push_back(same_plot ? short_text_of(findings[i]) : text_of(findings[i]));
  }
  std::string text = fmt::format("{}", fmt::join(texts, "; "));
  if (findings.size() > kMostFiguresTold) text += fmt::format("; and {} more", findings.size() - kMostFiguresTold);
  return text;
}

/// Judges one figure by its spread: the variation between runs may exceed its distance from a bound.
Outcome outcome_of(const Check& check, const Spread& value) {
  const double lower = check.at_least ? *check.at_least * (1 - kTolerance) : -std::numeric_limits<double>::infinity();
  const double upper = check.at_most ? *check.at_most * (1 + kTolerance) : std::numeric_limits<double>::infinity();
  if (value.least >= lower && value.most <= upper) return Outcome::holds;
  return value.most < lower || value.least > upper ? Outcome::does_not_hold : Outcome::cannot_be_said;
}

Verdict judge_bounds(const Check& check, const std::vector<Finding>& findings) {
  std::vector<Finding> inside, failing, open;
  bool do_medians_hold = true;
  for (const Finding& finding : findings) {
    const Outcome outcome = outcome_of(check, finding.value);
    (outcome == Outcome::holds ? inside : outcome == Outcome::does_not_hold ? failing : open).push_back(finding);
    const double median = finding.value.median;
    if (outcome_of(check, {median, median, median}) == Outcome::does_not_hold) do_medians_hold = false;
  }
  const std::string wanted = bounds_text(check);
  if (failing.empty() && open.empty()) {
    return {Outcome::holds, fmt::format("{} (asked: {}).", figures_text(inside), wanted)};
  }
  std::string sentence;
  if (failing.empty()) {
    sentence = fmt::format("By the medians it {}, but runs may differ by more than that: {} (asked: {})",
                           do_medians_hold ? "holds" : "does not hold", figures_text(open), wanted);
  } else {
    sentence = fmt::format("{} (asked: {})", figures_text(failing), wanted);
    if (!open.empty()) sentence += "; undecided, for runs may differ by more than that: " + figures_text(open);
  }
  if (!inside.empty()) sentence += "; it certainly holds for " + figures_text(inside);
  return {failing.empty() ? Outcome::cannot_be_said : Outcome::does_not_hold, sentence + "."};
}

/// Returns the places from the first to the last figure.
std::string stretch_of(const std::vector<Finding>& findings) {
  const std::string& unit = findings.front().plot->x_unit;
  const std::string first = place_name(findings.front().place, unit), last = place_name(findings.back().place, unit);
  return first == last ? "at " + first : fmt::format("from {} to {}", first, last);
}

std::string lead_of(const std::vector<Finding>& findings) {
  std::vector<std::string> parts;
  for (auto begin = findings.begin(); begin != findings.end();) {
    const auto is_ahead = [](const Finding& each) { return each.ahead.median >= 1; };
    const bool ahead = is_ahead(*begin);
    const auto end = std::find_if(begin, findings.end(), [&](const Finding& each) { return is_ahead(each) != ahead; });
    const auto [least, most] = std::minmax_element(
        begin, end, [](const Finding& a, const Finding& b) { return a.ahead.median < b.ahead.median; });
    const std::string from = figure(least->ahead.median), to = figure(most->ahead.median);
    const std::string times = from == to ? from : fmt::format("{} to {}", from, to);
    parts.push_back(
        fmt::format("{} {} ({} times as good)", ahead ? "ahead" : "behind", stretch_of({begin, end}), times));
    begin = end;
  }
  return enumerate(parts);
}

std::string crossing_text(const std::vector<Finding>& findings) {
  const std::vector<double> where = crossings_of(findings);
  if (where.empty()) return ", and the two do not cross";
  std::vector<std::string> names;
  names.reserve(where.size());
  for (const double place : where) names.push_back(place_name(place, findings.front().plot->x_unit));
  return ", and they cross near " + enumerate(names);
}

/// Tests one half of a check of leads, place by place: `of` is better there, or it is not.
class LeadTest {
 public:
  explicit LeadTest(bool wants_ahead) : wants_ahead_(wants_ahead) {}
  void add(const Finding& finding) {
    is_tested_ = true;
    const bool is_ahead = finding.ahead.least > 1, is_not_ahead = finding.ahead.most <= 1;
    if (!is_ahead && !is_not_ahead) {
      open_.push_back(place_name(finding.place, finding.plot->x_unit));
    } else if (is_ahead != wants_ahead_) {
      fails_ = true;
    }
  }
  bool is_tested() const { return is_tested_; }
  bool fails() const { return fails_; }
  const std::vector<std::string>& open() const { return open_; }

 private:
  std::vector<std::string> open_;
  bool wants_ahead_, is_tested_ = false, fails_ = false;
};

/// Judges the figures of one plot, by place.
Verdict judge_ahead(const Check& check, const std::vector<Finding>& findings) {
  LeadTest ahead(true), behind(false);
  for (const Finding& finding : findings) {
    const auto* place = std::get_if<double>(&finding.place);
    if (place == nullptr) continue;
    if (check.ahead_up_to && *place <= *check.ahead_up_to) ahead.add(finding);
    if (check.behind_from && *place >= *check.behind_from) behind.add(finding);
  }
  const Finding& first = findings.front();
  std::string sentence = fmt::format("{}: {} is {} compared with {}{}.", first.plot->title, first.of, lead_of(findings),
                                     first.to, crossing_text(findings));
  if (ahead.fails() || behind.fails()) return {Outcome::does_not_hold, sentence};
  std::vector<std::string> untested, open = ahead.open();
  open.insert(open.end(), behind.open().begin(), behind.open().end());
  const std::string& unit = first.plot->x_unit;
  if (check.ahead_up_to && !ahead.is_tested()) untested.push_back("up to " + place_name(*check.ahead_up_to, unit));
  if (check.behind_from && !behind.is_tested())
    untested.push_back("from " + place_name(*check.behind_from, unit) + " on");
  if (untested.empty() && open.empty()) return {Outcome::holds, sentence};
  if (!untested.empty()) sentence = fmt::format("Nothing was measured {}. {}", enumerate(untested), sentence);
  if (!open.empty()) sentence += fmt::format(" At {} runs may differ by more than the two do.", enumerate(open));
  return {Outcome::cannot_be_said, sentence};
}

/// The ratios inside the places of the wanted peak, or the ratios outside.
struct PeakSide {
  const Finding* greatest = nullptr;       ///< The greatest by its median.
  const Finding* greatest_most = nullptr;  ///< The ratio that may be the greatest within its spread.
  double greatest_least = -std::numeric_limits<double>::infinity();

  void add(const Finding& finding) {
    if (greatest == nullptr || finding.value.median > greatest->value.median) greatest = &finding;
    if (greatest_most == nullptr || finding.value.most > greatest_most->value.most) greatest_most = &finding;
    greatest_least = std::max(greatest_least, finding.value.least);
  }
};

Verdict judge_peak(const Check& check, const std::vector<Finding>& findings) {
  PeakSide inside, outside;
  for (const Finding& finding : findings) {
    const auto* place = std::get_if<double>(&finding.place);
    const bool is_inside = place != nullptr && *place >= check.peak_from && *place <= check.peak_to;
    (is_inside ? inside : outside).add(finding);
  }
  const bool is_inside = outside.greatest == nullptr ||
                         (inside.greatest != nullptr && inside.greatest->value.median > outside.greatest->value.median);
  const PeakSide &winner = is_inside ? inside : outside, &other = is_inside ? outside : inside;
  const std::string& unit = winner.greatest->plot->x_unit;
  const std::string sentence =
      fmt::format("The greatest of {}: {}; asked: between {} and {}.", counted(findings.size(), "ratio"),
                  text_of(*winner.greatest), place_name(check.peak_from, unit), place_name(check.peak_to, unit));
  if (other.greatest == nullptr) {
    return {Outcome::cannot_be_said,
            fmt::format("{} All that was measured lies {}.", sentence, is_inside ? "inside" : "outside")};
  }
  if (winner.greatest_least <= other.greatest_most->value.most) {
    return {Outcome::cannot_be_said, fmt::format("{} Runs may differ by more than it does from {}.", sentence,
                                                 short_text_of(*other.greatest_most))};
  }
  return {is_inside ? Outcome::holds : Outcome::does_not_hold, sentence};
}

/// Combines the verdicts of several plots: one failure means that the conclusion fails, and one open verdict that it is
/// open.
Verdict together(const std::vector<Verdict>& verdicts) {
  Verdict all{Outcome::holds, ""};
  std::vector<std::string> sentences;
  for (const Verdict& each : verdicts) {
    sentences.push_back(each.sentence);
    if (all.outcome != Outcome::does_not_hold && each.outcome != Outcome::holds) all.outcome = each.outcome;
  }
  all.sentence = fmt::format("{}", fmt::join(sentences, " "));
  return all;
}

}  // namespace

Verdict judge(const Conclusion& conclusion, const std::vector<Plot>& plots, std::size_t document) {
  if (!conclusion.check) return {Outcome::cannot_be_said, conclusion.why_not};
  const Check& check = *conclusion.check;
  std::vector<Finding> findings = find(check.target, plots, document);
  if (check.than_at) {
    findings = over_the_same(findings, find(check.target, plots, document, check.than_at), check.target.of_each);
  }
  if (findings.empty()) {
    const bool has_reason = !conclusion.why_not.empty();
    return {Outcome::cannot_be_said, has_reason ? conclusion.why_not : "These results have no figures for it."};
  }
  if (check.kind == Check::Kind::bounds) return judge_bounds(check, findings);
  std::vector<Verdict> verdicts;
  for (auto begin = findings.begin(); begin != findings.end();) {
    const auto end =
        std::find_if(begin, findings.end(), [begin](const Finding& each) { return each.plot != begin->plot; });
    const std::vector<Finding> of_plot(begin, end);
    verdicts.push_back(check.kind == Check::Kind::peak ? judge_peak(check, of_plot) : judge_ahead(check, of_plot));
    begin = end;
  }
  return together(verdicts);
}

std::string name_of(Outcome outcome) {
  if (outcome == Outcome::holds) return "holds";
  return outcome == Outcome::does_not_hold ? "does not hold" : "cannot be said";
}

}  // namespace penumbra::report
