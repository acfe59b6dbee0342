// SPDX-License-Identifier: Apache-2.0
//
// Draws plots as SVG: lines along a numeric axis, or rows of dots for places that are words or a single place. Colours
// come from the page's style, so that they suit light mode, dark mode and paper.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/covered.h"
#include "report/looks.h"
#include "report/plots.h"
#include "report/scale.h"

namespace penumbra::report {

/// A paper's figures that are shown in our plot.
struct PaperSeries {
  std::string name;
  std::string curve;  ///< Our curve that they are compared with; empty if there are several.
  std::vector<std::pair<double, double>> points;
};

/// SVG elements that begin at (0, 0).
struct Drawing {
  std::string marks;
  double height = 0;
};

/// An entry of the legend.
struct LegendKey {
  std::string mark;  ///< SVG elements, 34 wide and 14 high.
  std::string name;
  std::string remark;  ///< Text in brackets after the name; may be empty.
};

/// Approximate width of a letter of a plot's text.
inline constexpr double kLetterWidth = 6.3;

/// The properties that all panels of a plot share.
class Chart {
 public:
  Chart(const Plot& plot, std::vector<PaperSeries> papers, const Looks& looks);

  /// Returns true if the plot has more lines than a small drawing can distinguish.
  bool is_large() const { return is_large_; }
  /// Returns the width of each panel.
  double width() const;

  /// Draws one machine's panel.
  Drawing draw(const Panel& panel) const;
  /// Returns the legend of all panels.
  std::vector<LegendKey> legend() const;

 private:
  /// Returns true if places are words, or if there is a single place: lines would show nothing.
  bool has_rows(const Panel& panel) const { return by_words_ || places_of(panel).size() < 2; }
  std::vector<Place> places_of(const Panel& panel) const;
  Drawing draw_lines(const Panel& panel) const;
  Drawing draw_rows(const Panel& panel) const;
  /// Returns the meaning of the rows; for a single place, that place.
  std::string rows_name(const std::vector<Place>& places) const;
  double longest_row_label(const Panel& panel) const;
  std::string row_label(double middle, const std::string& name) const;
  /// Returns the name of the horizontal axis.
  std::string name_below(double left, double y, const std::string& name) const;
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
  double rows_left_ = 0;  ///< The right end of the rows' labels.
  Scale x_, y_;           ///< With rows, y_ is the horizontal axis.
};

}  // namespace penumbra::report
