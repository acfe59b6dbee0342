// SPDX-License-Identifier: Apache-2.0
#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/markup.h"

namespace penumbra::report {
namespace {

constexpr double kWidth = Chart::kWidth, kHeight = 265;
constexpr double kLeft = 58, kRight = 16, kTop = 28, kBottom = 48;
constexpr double kRowsLeft = 126, kRowHeight = 12, kRowGap = 8, kSingleRowHeight = 18;
constexpr std::size_t kRowLabelLetters = 19, kMostXTicks = 5, kMostYTicks = 6;
constexpr std::size_t kLongAxisName = 44, kMostOfAxisName = 64;
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
double column(const Scale& scale, double value) {
  return along(scale, value, kLeft, kWidth - kRight);
}
double height_of(const Scale& scale, double value) {
  return along(scale, value, kHeight - kBottom, kTop);
}
double row_column(const Scale& scale, double value) {
  return along(scale, value, kRowsLeft, kWidth - kRight - 8);
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

Looks::Look Looks::of(const std::string& curve) {
  const std::size_t number = numbers_.try_emplace(curve, numbers_.size()).first->second;
  return {number % kColours, (number + number / kColours) % kShapes};
}

Chart::Chart(const Plot& plot, std::vector<PaperSeries> papers, Looks& looks)
    : plot_(plot), papers_(std::move(papers)), looks_(looks), places_(plot.places()), by_words_(plot.is_by_words()) {
  if (has_rows()) papers_.clear();
  std::vector<double> values, numbers;
  for (const Panel& panel : plot.panels) {
    for (const Curve& curve : panel.curves) {
      looks_.of(curve.name);
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

std::string Chart::curve_marks(const Curve& curve) const {
  const Looks::Look look = looks_.of(curve.name);
  std::string bars, dots, path;
  for (const Point& point : curve.points) {
    const double x = column(x_, std::get<double>(point.place)), y = height_of(y_, point.value.median);
    const double low = height_of(y_, point.value.least), high = height_of(y_, point.value.most);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
    if (low - high > 1) {
      bars += line("spread", x, low, x, high) + line("spread", x - kCap, low, x + kCap, low) +
              line("spread", x - kCap, high, x + kCap, high);
    }
    dots += fmt::format("<g>{}{}</g>", tip(curve, point, plot_), marker(look.shape, x, y));
  }
  return fmt::format("<g class=\"c{} {}\">{}<path class=\"line\" d=\"{}\"/>{}</g>", look.colour, name_of(curve.role),
                     bars, path, dots);
}

std::string Chart::paper_marks() const {
  std::string marks;
  for (const PaperSeries& series : papers_) {
    for (const auto& [place, value] : series.points) {
      marks += fmt::format("<g>{}{}</g>",
                           element("title", fmt::format("{} in the paper, {}: {} {}", series.name,
                                                        place_name(place, plot_.x_unit), figure(value), plot_.unit)),
                           marker(3, column(x_, place), height_of(y_, value)));
    }
  }
  return marks.empty() ? "" : fmt::format("<g class=\"paper\">{}</g>", marks);
}

Drawing Chart::draw_lines(const Panel& panel) const {
  const double bottom = kHeight - kBottom, right = kWidth - kRight;
  std::string marks;
  for (const Tick& tick : ticks(y_, "", kMostYTicks)) {
    const double y = height_of(y_, tick.value);
    marks += line("grid", kLeft, y, right, y) + text_at(kLeft - 6, y + 4, "end", tick.label);
  }
  for (const Tick& tick : ticks(x_, plot_.x_unit, kMostXTicks)) {
    const double x = column(x_, tick.value);
    const double rightmost =
        kWidth - static_cast<double>(letters_of(tick.label)) * kLetterWidth / 2;  // all of it is seen
    marks +=
        line("tick", x, bottom, x, bottom + 4) + text_at(std::min(x, rightmost), bottom + 18, "middle", tick.label);
  }
  marks += line("axis", kLeft, bottom, right, bottom);
  marks += text_at(4, 14, "start", plot_.unit + (y_.is_log ? " (log)" : ""), "name");
  const std::string name = axis_name(plot_.x, plot_.x_unit) + (x_.is_log ? " (log)" : "");
  const bool is_long = name.size() > kLongAxisName;  // too long to stand in the middle of the axis
  marks += text_at(is_long ? right : (kLeft + right) / 2, kHeight - 8, is_long ? "end" : "middle",
                   shortened(name, kMostOfAxisName), is_long ? "name long" : "name");
  for (const Curve& curve : panel.curves) marks += curve_marks(curve);
  return {marks + paper_marks(), kHeight};
}

std::string Chart::bar_and_dot(const Curve& curve, const Point& point, double y) const {
  const Looks::Look look = looks_.of(curve.name);
  const double x = row_column(y_, point.value.median);
  const double least = row_column(y_, point.value.least), most = row_column(y_, point.value.most);
  std::string marks = tip(curve, point, plot_);
  marks += y_.is_log ? "" : line("stem", row_column(y_, 0), y, x, y);
  if (most - least > 1) {
    marks += line("spread", least, y, most, y) + line("spread", least, y - kCap, least, y + kCap) +
             line("spread", most, y - kCap, most, y + kCap);
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
        marks += text_at(kRowsLeft - 8, y - row / 2 + 4, "end", shortened(curve.name, kRowLabelLetters));
      }
    }
    if (places_.size() > 1 && y > begin) {
      const std::string name = place_name(place, plot_.x_unit);
      marks += fmt::format("<g>{}{}</g>", element("title", name),
                           text_at(kRowsLeft - 8, (begin + y) / 2 + 4, "end", shortened(name, kRowLabelLetters)));
      y += kRowGap;
      marks += line("grid", 0, y - kRowGap / 2, kWidth - kRight, y - kRowGap / 2);
    }
  }
  std::string axes;
  for (const Tick& tick : ticks(y_, "", kMostYTicks - 1)) {
    const double x = row_column(y_, tick.value);
    axes += line("grid", x, kTop, x, y + 2) + text_at(x, y + 18, "middle", tick.label);
  }
  axes += line("axis", kRowsLeft, kTop, kRowsLeft, y + 2);
  axes += text_at(4, 14, "start", shortened(rows_name(), kMostOfAxisName), "name");
  axes +=
      text_at((kRowsLeft + kWidth - kRight) / 2, y + 42, "middle", plot_.unit + (y_.is_log ? " (log)" : ""), "name");
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
      const Looks::Look look = looks_.of(curve.name);
      keys.push_back({fmt::format("<g class=\"c{} {}\"><path class=\"line\" d=\"M1 7H33\"/>{}</g>", look.colour,
                                  name_of(curve.role), marker(look.shape, 17, 7)),
                      curve.name, std::string(curve.role == Role::ours ? "" : name_of(curve.role))});
    }
  }
  if (!papers_.empty()) {
    keys.push_back({"<g class=\"paper\">" + marker(3, 17, 7) + "</g>", "the paper's, on its hardware", ""});
  }
  return keys;
}

}  // namespace penumbra::report
