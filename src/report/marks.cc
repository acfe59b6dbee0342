// SPDX-License-Identifier: Apache-2.0
#include "report/marks.h"

#include <fmt/format.h>

#include <cmath>

#include "report/markup.h"

namespace penumbra::report {
namespace {

/// Returns a rounded number without ".0", because a page has ten thousand of them.
std::string tenths(double place) {
  return fmt::format("{}", std::round(place * 10) / 10);
}

}  // namespace

std::string marker(std::size_t shape, double x, double y, double size) {
  const double r = size;
  switch (shape) {
    case 0:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>", x, y, r);
    case 1:
      return fmt::format("<path d=\"M{:.1f} {:.1f}h{:.1f}v{:.1f}h{:.1f}z\"/>", x - r, y - r, 2 * r, 2 * r, -2 * r);
    case 2:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{:.1f} {:.1f}h{:.1f}z\"/>", x, y - 1.2 * r, 1.2 * r, 2.1 * r,
                         -2.4 * r);
    case 3:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{:.1f} {:.1f}l{:.1f} {:.1f}l{:.1f} {:.1f}z\"/>", x, y - 1.4 * r,
                         1.2 * r, 1.4 * r, -1.2 * r, 1.4 * r, -1.2 * r, -1.4 * r);
    case 4:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{:.1f} {:.1f}h{:.1f}z\"/>", x, y + 1.2 * r, 1.2 * r, -2.1 * r,
                         -2.4 * r);
    default:  // An hourglass, which unlike a cross can be hollow.
      return fmt::format("<path d=\"M{:.1f} {:.1f}h{:.1f}l{:.1f} {:.1f}h{:.1f}z\"/>", x - 1.2 * r, y - 1.2 * r, 2.4 * r,
                         -2.4 * r, 2.4 * r, 2.4 * r);
  }
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text, std::string_view kind) {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>", tenths(x), tenths(y), anchor,
                     kind.empty() ? "" : fmt::format(" class=\"{}\"", kind), escape(text));
}

std::string line(std::string_view kind, double x1, double y1, double x2, double y2) {
  const std::string end = y1 == y2 ? "H" + tenths(x2) : "V" + tenths(y2);
  return fmt::format("<path class=\"{}\" d=\"M{} {}{}\"/>", kind, tenths(x1), tenths(y1), end);
}

}  // namespace penumbra::report
