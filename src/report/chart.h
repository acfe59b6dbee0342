// SPDX-License-Identifier: Apache-2.0
//
// Plots as SVG: lines along an axis of numbers; rows of dots where places are words or there is just one. Colours come
// from the page's style, so that they suit light, dark and paper.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/covered.h"
#include "report/looks.h"
#include "report/plots.h"
#include "report/scale.h"

namespace penumbra::report {

/// A paper's figures that stand in a plot of ours.
struct PaperSeries {
  std::string name;
  std::string curve;  ///< which of ours they are held against; empty if several are meant
  std::vector<std::pair<double, double>> points;
};

/// SVG elements that begin at (0, 0).
struct Drawing {
  std::string marks;
  double height = 0;
};

/// Which curve is which.
struct LegendKey {
  std::string mark;  ///< SVG elements, 34 wide and 14 high
  std::string name;
  std::string remark;  ///< what stands in brackets behind the name; may be empty
};

/// About what a letter of a plot's text takes.
inline constexpr double kLetterWidth = 6.3;

/// What all panels of a plot share.
class Chart {
 public:
  Chart(const Plot& plot, std::vector<PaperSeries> papers, const Looks& looks);

  /// With more lines than can be told apart in a small drawing.
  bool is_large() const { return is_large_; }
  /// Of each panel.
  double width() const;

  /// One machine's part.
  Drawing draw(const Panel& panel) const;
  /// Of all panels.
  std::vector<LegendKey> legend() const;

 private:
  /// Where places are words, or there is just one: lines would show nothing.
  bool has_rows(const Panel& panel) const { return by_words_ || places_of(panel).size() < 2; }
  std::vector<Place> places_of(const Panel& panel) const;
  Drawing draw_lines(const Panel& panel) const;
  Drawing draw_rows(const Panel& panel) const;
  std::string rows_name(const std::vector<Place>& places) const;  ///< what rows stand for; with one place, that
  double longest_row_label(const Panel& panel) const;
  std::string row_label(double middle, const std::string& name) const;
  std::string name_below(double left, double y, const std::string& name) const;  ///< of the horizontal axis
  double height() const;
  double column(double place) const;
  double height_of(double value) const;
  double row_column(double value) const;
  std::string paper_look(const PaperSeries& series) const;
  std::string curve_marks(const Curve& curve, const std::vector<Dot>& dots, const Covered& under) const;
  std::string paper_marks() const;
  std::string bar_and_dot(const Curve& curve, const Point& point, double y) const;

  const Plot& plot_;
  std::vector<PaperSeries> papers_;
  const Looks& looks_;
  std::vector<Place> places_;
  bool by_words_, is_large_ = false;
  double rows_left_ = 0;  ///< where labels of rows end
  Scale x_, y_;           ///< with rows, y_ is the horizontal axis
};

}  // namespace penumbra::report
