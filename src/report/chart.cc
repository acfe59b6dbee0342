// SPDX-License-Identifier: Apache-2.0
#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/markup.h"

namespace penumbra::report {
namespace {

constexpr double kWidth = 390, kHeight = 265, kLargeWidth = 600, kLargeHeight = 380;
constexpr std::size_t kMostCurvesOfSmall = 7;
constexpr double kLeft = 58, kRight = 16, kTop = 28, kBottom = 48;
constexpr double kRowHeight = 12, kRowGap = 8, kSingleRowHeight = 18, kLeastRowLabel = 60, kBesideRowLabel = 8;
constexpr std::size_t kRowLabelLetters = 24, kMostXTicks = 5, kMostYTicks = 6;
// What a letter takes of labels of rows, of names of axes, and of names that are too long for their axis: rather more
// than less, for fonts differ.
constexpr double kRowLetterWidth = 7, kNameLetterWidth = 7.8, kLongNameLetterWidth = 6.3;
constexpr double kMarker = 3.6, kCap = 3;

/// One of the shapes around a point.
std::string marker(std::size_t shape, double x, double y) {
  const double r = kMarker;
  switch (shape) {
    case 0:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>", x, y, r);
    case 1:
      return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>", x - r, y - r, 2 * r,
                         2 * r);
    case 2:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{:.1f} {:.1f}h{:.1f}z\"/>", x, y - 1.2 * r, 1.2 * r, 2.1 * r,
                         -2.4 * r);
    case 3:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{:.1f} {:.1f}l{:.1f} {:.1f}l{:.1f} {:.1f}z\"/>", x, y - 1.4 * r,
                         1.2 * r, 1.4 * r, -1.2 * r, 1.4 * r, -1.2 * r, -1.4 * r);
    case 4:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{:.1f} {:.1f}h{:.1f}z\"/>", x, y + 1.2 * r, 1.2 * r, -2.1 * r,
                         -2.4 * r);
    default:
      return fmt::format("<path class=\"open\" d=\"M{:.1f} {:.1f}h{:.1f}M{:.1f} {:.1f}v{:.1f}\"/>", x - 1.3 * r, y,
                         2.6 * r, x, y - 1.3 * r, 2.6 * r);
  }
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text, std::string_view kind = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>", x, y, anchor,
                     kind.empty() ? "" : fmt::format(" class=\"{}\"", kind), escape(text));
}

std::string line(std::string_view kind, double x1, double y1, double x2, double y2) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", kind, x1, y1, x2,
                     y2);
}

double along(const Scale& scale, double value, double from, double to) {
  return from + std::clamp(scale.position(value), -0.01, 1.01) * (to - from);
}

std::string tip(const Curve& curve, const Point& point, const Plot& plot) {
  const std::string place = place_name(point.place, plot.x_unit);
  return element("title", fmt::format("{}{}{}: {} {}", point.name.empty() ? curve.name : point.name,
                                      place.empty() ? "" : ", ", place, figure(point.value), plot.unit));
}

std::string axis_name(const std::string& name, const std::string& unit) {
  if (unit.empty() || unit == "B") return name;
  return name.empty() ? unit : fmt::format("{} ({})", name, unit);
}

}  // namespace

Looks::Look Looks::of(const std::string& curve, Role role) {
  auto& numbers = role == Role::limit ? limits_ : numbers_;
  const std::size_t number = numbers.try_emplace(curve, numbers.size()).first->second;
  return {number % kColours, (number + number / kColours) % kShapes};
}

Chart::Chart(const Plot& plot, std::vector<PaperSeries> papers, Looks& looks)
    : plot_(plot), papers_(std::move(papers)), looks_(looks), places_(plot.places()), by_words_(plot.is_by_words()) {
  if (has_rows()) papers_.clear();
  std::vector<double> values, numbers;
  for (const Panel& panel : plot.panels) {
    is_large_ = is_large_ || (!has_rows() && panel.curves.size() > kMostCurvesOfSmall);
    for (const Curve& curve : panel.curves) {
      looks_.of(curve.name, curve.role);
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
  rows_left_ = longest_row_label() + 2 * kBesideRowLabel;
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

double Chart::longest_row_label() const {
  std::size_t letters = 0;
  if (places_.size() == 1) {
    for (const Panel& panel : plot_.panels) {
      for (const Curve& curve : panel.curves) letters = std::max(letters, letters_of(curve.name));
    }
  } else {
    for (const Place& place : places_) letters = std::max(letters, letters_of(place_name(place, plot_.x_unit)));
  }
  return std::max(kLeastRowLabel, static_cast<double>(std::min(letters, kRowLabelLetters)) * kRowLetterWidth);
}

std::string Chart::name_below(double left, double y, const std::string& name) const {
  const double right = width() - kRight, middle = (left + right) / 2;
  const double room = 2 * std::min(middle, width() - middle);
  if (static_cast<double>(letters_of(name)) * kNameLetterWidth <= room)
    return text_at(middle, y, "middle", name, "name");
  const auto most = static_cast<std::size_t>(right / kLongNameLetterWidth);
  return text_at(right, y, "end", shortened(name, most), "name long");
}

std::string Chart::curve_marks(const Curve& curve) const {
  const Looks::Look look = looks_.of(curve.name, curve.role);
  std::string bars, dots, path;
  for (const Point& point : curve.points) {
    const double x = column(std::get<double>(point.place)), y = height_of(point.value.median);
    const double low = height_of(point.value.least), high = height_of(point.value.most);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
    if (low - high > 1) {
      bars +=
          fmt::format("<path class=\"spread\" d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h{4}M{3:.1f} {2:.1f}h{4}\"/>",
                      x, low, high, x - kCap, 2 * kCap);
    }
    dots += fmt::format("<g>{}{}</g>", tip(curve, point, plot_), marker(look.shape, x, y));
  }
  return fmt::format("<g class=\"c{} {}\">{}<path class=\"line\" d=\"{}\"/>{}</g>", look.colour, name_of(curve.role),
                     bars, path, dots);
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
  for (const Tick& tick : ticks(x_, plot_.x_unit, kMostXTicks)) {
    const double x = column(tick.value);
    const double rightmost =
        width() - static_cast<double>(letters_of(tick.label)) * kLetterWidth / 2;  // all of it is seen
    marks +=
        line("tick", x, bottom, x, bottom + 4) + text_at(std::min(x, rightmost), bottom + 18, "middle", tick.label);
  }
  marks += line("axis", kLeft, bottom, right, bottom);
  marks += text_at(4, 14, "start", plot_.unit + (y_.is_log ? " (log)" : ""), "name");
  marks += name_below(kLeft, height() - 8, axis_name(plot_.x, plot_.x_unit) + (x_.is_log ? " (log)" : ""));
  for (const Curve& curve : panel.curves) marks += curve_marks(curve);
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
  return fmt::format("<g class=\"c{} {}\">{}{}</g>", look.colour, name_of(curve.role), marks, marker(look.shape, x, y));
}

std::string Chart::rows_name() const {
  std::string name = axis_name(plot_.x, plot_.x_unit);
  if (places_.size() != 1) return name;
  const std::string place = place_name(places_.front(), plot_.x_unit);
  return name.empty() || place.empty() ? name + place : fmt::format("{}: {}", name, place);
}

Drawing Chart::draw_rows(const Panel& panel) const {
  std::string marks;
  const double row = places_.size() > 1 ? kRowHeight : kSingleRowHeight;
  double y = kTop + 6;
  for (const Place& place : places_) {
    const double begin = y;
    for (const Curve& curve : panel.curves) {
      const Point* point = curve.at(place);
      if (point == nullptr) continue;
      y += row;
      marks += bar_and_dot(curve, *point, y - row / 2);
      if (places_.size() == 1) {
        marks += text_at(rows_left_ - kBesideRowLabel, y - row / 2 + 4, "end", shortened(curve.name, kRowLabelLetters));
      }
    }
    if (places_.size() > 1 && y > begin) {
      const std::string name = place_name(place, plot_.x_unit);
      marks += fmt::format(
          "<g>{}{}</g>", element("title", name),
          text_at(rows_left_ - kBesideRowLabel, (begin + y) / 2 + 4, "end", shortened(name, kRowLabelLetters)));
      y += kRowGap;
      marks += line("grid", 0, y - kRowGap / 2, width() - kRight, y - kRowGap / 2);
    }
  }
  std::string axes;
  for (const Tick& tick : ticks(y_, "", kMostYTicks - 1)) {
    const double x = row_column(tick.value);
    axes += line("grid", x, kTop, x, y + 2) + text_at(x, y + 18, "middle", tick.label);
  }
  axes += line("axis", rows_left_, kTop, rows_left_, y + 2);
  const auto most_letters = static_cast<std::size_t>(width() / kNameLetterWidth);
  axes += text_at(4, 14, "start", shortened(rows_name(), most_letters), "name");
  axes += name_below(rows_left_, y + 42, plot_.unit + (y_.is_log ? " (log)" : ""));
  return {axes + marks, y + 50};
}

Drawing Chart::draw(const Panel& panel) const {
  return has_rows() ? draw_rows(panel) : draw_lines(panel);
}

std::vector<LegendKey> Chart::legend() const {
  std::vector<LegendKey> keys;
  for (const Panel& panel : plot_.panels) {
    for (const Curve& curve : panel.curves) {
      if (std::ranges::find(keys, curve.name, &LegendKey::name) != keys.end()) continue;
      const Looks::Look look = looks_.of(curve.name, curve.role);
      keys.push_back({fmt::format("<g class=\"c{} {}\"><path class=\"line\" d=\"M1 7H33\"/>{}</g>", look.colour,
                                  name_of(curve.role), marker(look.shape, 17, 7)),
                      curve.name, std::string(curve.role == Role::ours ? "" : name_of(curve.role))});
    }
  }
  if (!papers_.empty()) {
    const bool has_colours =
        std::ranges::any_of(papers_, [this](const PaperSeries& series) { return !paper_look(series).empty(); });
    keys.push_back({"<g class=\"paper\">" + marker(3, 17, 7) + "</g>", "the paper's, on its hardware",
                    has_colours ? "in the colour of ours beside it" : ""});
  }
  return keys;
}

}  // namespace penumbra::report
