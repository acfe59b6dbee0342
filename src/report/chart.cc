// SPDX-License-Identifier: Apache-2.0
#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/marks.h"
#include "report/markup.h"

namespace penumbra::report {
namespace {

constexpr double kWidth = 390, kHeight = 265, kLargeWidth = 600, kLargeHeight = 380;
constexpr std::size_t kMostCurvesOfSmall = 7;
constexpr double kLeft = 58, kRight = 16, kTop = 28, kBottom = 48;
constexpr double kRowHeight = 12, kRowGap = 8, kSingleRowHeight = 18, kLeastRowLabel = 60, kRowLabelGap = 8;
constexpr std::size_t kRowLabelLetters = 24, kMostXTicks = 5, kMostYTicks = 6;
// Widths of a letter in labels of rows, in names of axes, and in names that are too long for their axis. The widths are
// upper estimates, because fonts differ.
constexpr double kRowLetterWidth = 7, kNameLetterWidth = 7.8, kLongNameLetterWidth = 6.3;
constexpr double kCap = 3;
constexpr std::size_t kMostRowLabelLines = 2;
constexpr double kRowLabelLine = 13;
/// Gap between two labels of a horizontal axis: 0.6 of the letters' size.
constexpr double kBetweenLabels = 7;
/// Growth of marks and lines for each curve on top of them, so that all remain visible, and the maximum number that
/// counts.
constexpr double kMarkerRim = 1.4, kLineWidth = 2, kLineRim = 2;
constexpr std::size_t kMostOnTop = 4;

double size_under(std::size_t others) {
  return kMarkerSize + kMarkerRim * static_cast<double>(std::min(others, kMostOnTop));
}

double along(const Scale& scale, double value, double from, double to) {
  return from + std::clamp(scale.position(value), -0.01, 1.01) * (to - from);
}

std::string tip(const Curve& curve, const Point& point, const Plot& plot) {
  const std::string place = place_name(point.place, plot.x_unit);
  return element("title", fmt::format("{}{}{}: {}", point.name.empty() ? curve.name : point.name,
                                      place.empty() ? "" : ", ", place, figure(point.value)));
}

std::string axis_name(const std::string& name, const std::string& unit) {
  if (unit.empty() || unit == "B") return name;
  return name.empty() ? unit : fmt::format("{} ({})", name, unit);
}

bool have_room(const std::vector<Tick>& ticks, const std::vector<double>& columns) {
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    const auto letters = static_cast<double>(letters_of(ticks[i - 1].label) + letters_of(ticks[i].label));
    if (columns[i] - columns[i - 1] < letters * kRowLetterWidth / 2 + kBetweenLabels) return false;
  }
  return true;
}

/// Returns as many ticks of a horizontal axis as have room for their labels, which are centred on `column` of the tick.
template <class Column>
std::vector<Tick> ticks_with_room(const Scale& scale, std::string_view unit, std::size_t most, const Column& column) {
  for (; most > 1; --most) {
    std::vector<Tick> all = ticks(scale, unit, most);
    std::vector<double> columns;
    std::ranges::transform(all, std::back_inserter(columns), column);
    if (have_room(all, columns)) return all;
  }
  return ticks(scale, unit, most);
}

/// Returns wide lines beneath a curve wherever other curves cover it. Limits have no rims because all have one colour.
std::string rims(const std::vector<Dot>& dots, const std::vector<std::size_t>& stretches) {
  std::string all;
  for (std::size_t begin = 0; begin < stretches.size();) {
    std::size_t end = begin;
    std::string path = fmt::format("M{:.1f} {:.1f}", dots[begin].x, dots[begin].y);
    for (; end < stretches.size() && stretches[end] == stretches[begin]; ++end) {
      path += fmt::format("L{:.1f} {:.1f}", dots[end + 1].x, dots[end + 1].y);
    }
    if (stretches[begin] > 0) {
      const double width = kLineWidth + kLineRim * static_cast<double>(std::min(stretches[begin], kMostOnTop));
      all += fmt::format("<path class=\"rim\" style=\"stroke-width:{:.1f}\" d=\"{}\"/>", width, path);
    }
    begin = end;
  }
  return all;
}

}  // namespace

Chart::Chart(const Plot& plot, std::vector<PaperSeries> papers, const Looks& looks)
    : plot_(plot), papers_(std::move(papers)), looks_(looks), places_(plot.places()), by_words_(plot.is_by_words()) {
  const auto is_of_rows = [this](const Panel& panel) { return has_rows(panel); };
  if (std::ranges::all_of(plot.panels, is_of_rows)) papers_.clear();
  std::vector<double> values, numbers;
  for (const Panel& panel : plot.panels) {
    is_large_ = is_large_ || (!has_rows(panel) && panel.curves.size() > kMostCurvesOfSmall);
    if (has_rows(panel)) rows_left_ = std::max(rows_left_, longest_row_label(panel) + 2 * kRowLabelGap);
    for (const Curve& curve : panel.curves) {
      for (const Point& point : curve.points) {
        values.insert(values.end(), {point.value.least, point.value.median, point.value.most});
      }
    }
  }
  for (const Place& place : places_) {
    if (const auto* number = std::get_if<double>(&place)) numbers.push_back(*number);
  }
  for (const PaperSeries& series : papers_) {
    for (const auto& [place, value] : series.points) {
      numbers.push_back(place);
      values.push_back(value);
    }
  }
  x_ = place_scale(numbers);
  y_ = value_scale(values);
}

double Chart::width() const {
  return is_large_ ? kLargeWidth : kWidth;
}
double Chart::height() const {
  return is_large_ ? kLargeHeight : kHeight;
}
double Chart::column(double place) const {
  return along(x_, place, kLeft, width() - kRight);
}
double Chart::height_of(double value) const {
  return along(y_, value, height() - kBottom, kTop);
}
double Chart::row_column(double value) const {
  return along(y_, value, rows_left_, width() - kRight - 8);
}

std::vector<Place> Chart::places_of(const Panel& panel) const {
  std::vector<Place> some;
  std::ranges::copy_if(places_, std::back_inserter(some), [&panel](const Place& place) {
    return std::ranges::any_of(panel.curves, [&place](const Curve& curve) { return curve.at(place) != nullptr; });
  });
  return some;
}

double Chart::longest_row_label(const Panel& panel) const {
  std::size_t letters = 0;
  const auto add = [&letters](const std::string& name) {
    for (const std::string& part : wrapped(name, kRowLabelLetters, kMostRowLabelLines)) {
      letters = std::max(letters, letters_of(part));
    }
  };
  const std::vector<Place> places = places_of(panel);
  if (places.size() == 1) {
    for (const Curve& curve : panel.curves) add(curve.name);
  } else {
    for (const Place& place : places) add(place_name(place, plot_.x_unit));
  }
  return std::max(kLeastRowLabel, static_cast<double>(letters) * kRowLetterWidth);
}

std::string Chart::row_label(double middle, const std::string& name) const {
  const auto lines = wrapped(name, kRowLabelLetters, kMostRowLabelLines);
  double y = middle + 4 - kRowLabelLine * (static_cast<double>(lines.size()) - 1) / 2;
  std::string marks;
  for (const std::string& each : lines) {
    marks += text_at(rows_left_ - kRowLabelGap, y, "end", each);
    y += kRowLabelLine;
  }
  return lines.back().ends_with(kEllipsis) ? fmt::format("<g>{}{}</g>", element("title", name), marks) : marks;
}

std::string Chart::name_below(double left, double y, const std::string& name) const {
  const double right = width() - kRight, middle = (left + right) / 2;
  const double room = 2 * std::min(middle, width() - middle);
  if (static_cast<double>(letters_of(name)) * kNameLetterWidth <= room)
    return text_at(middle, y, "middle", name, "name");
  const auto most = static_cast<std::size_t>(right / kLongNameLetterWidth);
  return text_at(right, y, "end", shortened(name, most), "name long");
}

std::string Chart::curve_marks(const Curve& curve, const std::vector<Dot>& dots, const Covered& under) const {
  const Looks::Look look = looks_.of(curve.name, curve.role);
  std::string bars, markers, path;
  for (std::size_t i = 0; i < dots.size(); ++i) {
    const Point& point = curve.points[i];
    const auto [x, y] = dots[i];
    const double low = height_of(point.value.least), high = height_of(point.value.most);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
    if (low - high > 1) {
      bars +=
          fmt::format("<path class=\"spread\" d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h{4}M{3:.1f} {2:.1f}h{4}\"/>",
                      x, low, high, x - kCap, 2 * kCap);
    }
    markers +=
        fmt::format("<g>{}{}</g>", tip(curve, point, plot_), marker(look.shape, x, y, size_under(under.dots[i])));
  }
  return fmt::format("<g class=\"{}\">{}{}<path class=\"line\" d=\"{}\"/>{}</g>", look.classes(curve.role), bars,
                     curve.role == Role::limit ? "" : rims(dots, under.stretches), path, markers);
}

std::string Chart::paper_look(const PaperSeries& series) const {
  for (const Panel& panel : plot_.panels) {
    const auto curve = std::ranges::find(panel.curves, series.curve, &Curve::name);
    if (curve != panel.curves.end()) return fmt::format(" c{}", looks_.of(curve->name, curve->role).colour);
  }
  return "";
}

std::string Chart::paper_marks() const {
  std::string marks;
  for (const PaperSeries& series : papers_) {
    for (const auto& [place, value] : series.points) {
      marks += fmt::format("<g class=\"paper{}\">{}{}</g>", paper_look(series),
                           element("title", fmt::format("{} in the paper, {}: {} {}", series.name,
                                                        place_name(place, plot_.x_unit), figure(value), plot_.unit)),
                           marker(3, column(place), height_of(value)));
    }
  }
  return marks;
}

Drawing Chart::draw_lines(const Panel& panel) const {
  const double bottom = height() - kBottom, right = width() - kRight;
  std::string marks;
  for (const Tick& tick : ticks(y_, "", kMostYTicks)) {
    const double y = height_of(tick.value);
    marks += line("grid", kLeft, y, right, y) + text_at(kLeft - 6, y + 4, "end", tick.label);
  }
  const auto label_column = [this](const Tick& tick) {  // Keeps the whole label visible.
    return std::min(column(tick.value), width() - static_cast<double>(letters_of(tick.label)) * kLetterWidth / 2);
  };
  for (const Tick& tick : ticks_with_room(x_, plot_.x_unit, kMostXTicks, label_column)) {
    const double x = column(tick.value);
    marks += line("tick", x, bottom, x, bottom + 4) + text_at(label_column(tick), bottom + 18, "middle", tick.label);
  }
  marks += line("axis", kLeft, bottom, right, bottom);
  marks += text_at(4, 14, "start", plot_.unit + (y_.is_log ? " (log)" : ""), "name");
  marks += name_below(kLeft, height() - 8, axis_name(plot_.x, plot_.x_unit) + (x_.is_log ? " (log)" : ""));
  std::vector<std::vector<Dot>> dots;
  for (const Curve& curve : panel.curves) {
    auto& own = dots.emplace_back();
    for (const Point& point : curve.points) {
      own.push_back({column(std::get<double>(point.place)), height_of(point.value.median)});
    }
  }
  const std::vector<Covered> under = covered(dots);
  for (std::size_t i = 0; i < dots.size(); ++i) marks += curve_marks(panel.curves[i], dots[i], under[i]);
  return {marks + paper_marks(), height()};
}

std::string Chart::bar_and_dot(const Curve& curve, const Point& point, double y) const {
  const Looks::Look look = looks_.of(curve.name, curve.role);
  const double x = row_column(point.value.median);
  const double least = row_column(point.value.least), most = row_column(point.value.most);
  std::string marks = tip(curve, point, plot_);
  marks += y_.is_log ? "" : line("stem", row_column(0), y, x, y);
  if (most - least > 1) {
    marks +=
        fmt::format("<path class=\"spread\" d=\"M{0:.1f} {1:.1f}H{2:.1f}M{0:.1f} {3:.1f}v{4}M{2:.1f} {3:.1f}v{4}\"/>",
                    least, y, most, y - kCap, 2 * kCap);
  }
  return fmt::format("<g class=\"{}\">{}{}</g>", look.classes(curve.role), marks, marker(look.shape, x, y));
}

std::string Chart::rows_name(const std::vector<Place>& places) const {
  std::string name = axis_name(plot_.x, plot_.x_unit);
  if (places.size() != 1) return name;
  const std::string place = place_name(places.front(), plot_.x_unit);
  return name.empty() || place.empty() ? name + place : fmt::format("{}: {}", name, place);
}

Drawing Chart::draw_rows(const Panel& panel) const {
  const std::vector<Place> places = places_of(panel);
  const auto height_of_label = [](const std::string& name) {
    return static_cast<double>(wrapped(name, kRowLabelLetters, kMostRowLabelLines).size()) * kRowLabelLine;
  };
  std::string marks;
  double y = kTop + 6;
  for (const Place& place : places) {
    const double begin = y;
    std::vector<const Curve*> there;
    for (const Curve& curve : panel.curves) {
      if (curve.at(place) != nullptr) there.push_back(&curve);
    }
    if (places.size() == 1) {
      for (const Curve* curve : there) {
        const double row = std::max(kSingleRowHeight, height_of_label(curve->name) + 2);
        marks += bar_and_dot(*curve, *curve->at(place), y + row / 2) + row_label(y + row / 2, curve->name);
        y += row;
      }
      continue;
    }
    const std::string name = place_name(place, plot_.x_unit);
    const double rows = static_cast<double>(there.size()) * kRowHeight, all = std::max(rows, height_of_label(name));
    y += (all - rows) / 2;
    for (const Curve* curve : there) {
      marks += bar_and_dot(*curve, *curve->at(place), y + kRowHeight / 2);
      y += kRowHeight;
    }
    marks += row_label(begin + all / 2, name);
    y = begin + all + kRowGap;
    marks += line("grid", 0, y - kRowGap / 2, width() - kRight, y - kRowGap / 2);
  }
  std::string axes;
  const auto tick_column = [this](const Tick& tick) { return row_column(tick.value); };
  for (const Tick& tick : ticks_with_room(y_, "", kMostYTicks - 1, tick_column)) {
    const double x = tick_column(tick);
    axes += line("grid", x, kTop, x, y + 2) + text_at(x, y + 18, "middle", tick.label);
  }
  axes += line("axis", rows_left_, kTop, rows_left_, y + 2);
  const auto most_letters = static_cast<std::size_t>(width() / kNameLetterWidth);
  axes += text_at(4, 14, "start", shortened(rows_name(places), most_letters), "name");
  axes += name_below(rows_left_, y + 42, plot_.unit + (y_.is_log ? " (log)" : ""));
  return {axes + marks, y + 50};
}

Drawing Chart::draw(const Panel& panel) const {
  return has_rows(panel) ? draw_rows(panel) : draw_lines(panel);
}

std::vector<LegendKey> Chart::legend() const {
  std::vector<LegendKey> keys;
  for (const Panel& panel : plot_.panels) {
    for (const Curve& curve : panel.curves) {
      if (std::ranges::find(keys, curve.name, &LegendKey::name) != keys.end()) continue;
      const Looks::Look look = looks_.of(curve.name, curve.role);
      keys.push_back({fmt::format("<g class=\"{}\"><path class=\"line\" d=\"M1 7H33\"/>{}</g>",
                                  look.classes(curve.role), marker(look.shape, 17, 7)),
                      curve.name, std::string(curve.role == Role::ours ? "" : name_of(curve.role))});
    }
  }
  if (!papers_.empty()) {
    const bool has_colours =
        std::ranges::any_of(papers_, [this](const PaperSeries& series) { return !paper_look(series).empty(); });
    keys.push_back({"<g class=\"paper\">" + marker(3, 17, 7) + "</g>", "the paper's, on its hardware",
                    has_colours ? "in the colour of our curve" : ""});
  }
  return keys;
}

}  // namespace penumbra::report
