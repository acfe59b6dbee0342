// SPDX-License-Identifier: Apache-2.0
#include "report/verdicts.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/pattern.h"
#include "report/sentences.h"
#include "report/targets.h"

namespace penumbra::report {
namespace {

constexpr std::size_t kMostFiguresTold = 6;
/// Runs differ in the third digit: what is not told apart in print does not decide.
constexpr double kTolerance = 0.005;

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

Verdict judge_bounds(const Check& check, const std::vector<Finding>& findings) {
  const auto is_inside = [&check](const Finding& finding) {
    return (!check.at_least || finding.value >= *check.at_least * (1 - kTolerance)) &&
           (!check.at_most || finding.value <= *check.at_most * (1 + kTolerance));
  };
  std::vector<Finding> inside, failing;
  for (const Finding& finding : findings) (is_inside(finding) ? inside : failing).push_back(finding);
  const std::string wanted = bounds_text(check);
  if (failing.empty()) return {Outcome::holds, fmt::format("{} (asked: {}).", figures_text(inside), wanted)};
  std::string sentence = fmt::format("{} (asked: {})", figures_text(failing), wanted);
  if (!inside.empty()) sentence += "; but it holds for " + figures_text(inside);
  return {Outcome::does_not_hold, sentence + "."};
}

/// Places from the first to the last of some findings.
std::string stretch_of(const std::vector<Finding>& findings) {
  const std::string& unit = findings.front().plot->x_unit;
  const std::string first = place_name(findings.front().place, unit), last = place_name(findings.back().place, unit);
  return first == last ? "at " + first : fmt::format("from {} to {}", first, last);
}

std::string lead_of(const std::vector<Finding>& findings) {
  std::vector<std::string> parts;
  for (auto begin = findings.begin(); begin != findings.end();) {
    const bool ahead = begin->ahead >= 1;
    const auto end =
        std::find_if(begin, findings.end(), [ahead](const Finding& each) { return (each.ahead >= 1) != ahead; });
    const auto [least, most] =
        std::minmax_element(begin, end, [](const Finding& a, const Finding& b) { return a.ahead < b.ahead; });
    const std::string by = figure(least->ahead) == figure(most->ahead)
                               ? figure(least->ahead)
                               : figure(least->ahead) + " to " + figure(most->ahead);
    parts.push_back(fmt::format("{} {} ({} times as good)", ahead ? "ahead" : "behind", stretch_of({begin, end}), by));
    begin = end;
  }
  return enumerate(parts);
}

/// Where the two named curves cross.
std::string crossing_of(const std::vector<Finding>& findings, std::size_t document) {
  const Finding& first = findings.front();
  for (const Panel& panel : first.plot->panels) {
    if (panel.document != document) continue;
    const auto named = [&panel](const std::string& name) {
      return std::ranges::find(panel.curves, name, &Curve::name);
    };
    const auto of = named(first.of), to = named(first.to);
    if (of == panel.curves.end() || to == panel.curves.end()) continue;
    const auto where = crossings(*of, *to);
    if (where.empty()) return ", and the two do not cross";
    std::vector<std::string> names;
    names.reserve(where.size());
    for (const double place : where) names.push_back(place_name(place, first.plot->x_unit));
    return ", and they cross near " + enumerate(names);
  }
  return "";
}

/// Of the findings of one plot, by place.
Verdict judge_ahead(const Check& check, const std::vector<Finding>& findings, std::size_t document) {
  bool holds = true, is_tested = false;
  for (const Finding& finding : findings) {
    const auto* place = std::get_if<double>(&finding.place);
    if (place == nullptr) continue;
    if (check.ahead_up_to && *place <= *check.ahead_up_to) {
      is_tested = true;
      holds = holds && finding.ahead >= 1;
    }
    if (check.behind_from && *place >= *check.behind_from) {
      is_tested = true;
      holds = holds && finding.ahead <= 1;
    }
  }
  const std::string sentence =
      fmt::format("{}: {} is {} {}{}.", findings.front().plot->title, findings.front().of, lead_of(findings),
                  "beside " + findings.front().to, crossing_of(findings, document));
  if (!is_tested) return {Outcome::cannot_be_said, "Nothing was measured at the places in question. " + sentence};
  return {holds ? Outcome::holds : Outcome::does_not_hold, sentence};
}

Verdict judge_peak(const Check& check, const std::vector<Finding>& findings) {
  const auto most = std::ranges::max_element(findings, {}, &Finding::value);
  const auto* place = std::get_if<double>(&most->place);
  const std::string sentence = fmt::format(
      "The greatest of {}: {}; asked: between {} and {}.", counted(findings.size(), "ratio"), text_of(*most),
      place_name(check.peak_from, most->plot->x_unit), place_name(check.peak_to, most->plot->x_unit));
  if (place == nullptr || findings.size() < 2) return {Outcome::cannot_be_said, sentence};
  const bool holds = *place >= check.peak_from && *place <= check.peak_to;
  return {holds ? Outcome::holds : Outcome::does_not_hold, sentence};
}

/// Several plots' verdicts as one: what fails once does not hold.
Verdict together(const std::vector<Verdict>& verdicts) {
  Verdict all;
  std::vector<std::string> sentences;
  for (const Verdict& each : verdicts) {
    sentences.push_back(each.sentence);
    if (each.outcome == Outcome::cannot_be_said) continue;
    if (all.outcome != Outcome::does_not_hold) all.outcome = each.outcome;
  }
  all.sentence = fmt::format("{}", fmt::join(sentences, " "));
  return all;
}

}  // namespace

Verdict judge(const Conclusion& conclusion, const std::vector<Plot>& plots, std::size_t document) {
  if (!conclusion.check) return {Outcome::cannot_be_said, conclusion.why_not};
  const Check& check = *conclusion.check;
  const std::vector<Finding> findings = find(check.target, plots, document);
  if (findings.empty()) return {Outcome::cannot_be_said, "These results have no figures for it."};
  if (check.kind == Check::Kind::bounds) return judge_bounds(check, findings);
  std::vector<Verdict> verdicts;
  for (auto begin = findings.begin(); begin != findings.end();) {
    const auto end =
        std::find_if(begin, findings.end(), [begin](const Finding& each) { return each.plot != begin->plot; });
    const std::vector<Finding> of_plot(begin, end);
    verdicts.push_back(check.kind == Check::Kind::peak ? judge_peak(check, of_plot)
                                                       : judge_ahead(check, of_plot, document));
    begin = end;
  }
  return together(verdicts);
}

std::string name_of(Outcome outcome) {
  if (outcome == Outcome::holds) return "holds";
  return outcome == Outcome::does_not_hold ? "does not hold" : "cannot be said";
}

}  // namespace penumbra::report
