// SPDX-License-Identifier: Apache-2.0
#include "report/legend.h"

#include <fmt/format.h>

#include "report/markup.h"

namespace penumbra::report {
namespace {

constexpr double kKeyWidth = 40, kBetweenKeys = 16, kLineHeight = 18, kKeyBaseline = 11;

}  // namespace

std::string legend_list(const std::vector<LegendKey>& keys) {
  std::string items;
  for (const LegendKey& key : keys) {
    items += fmt::format("<li><svg class=\"chart key\" viewBox=\"0 0 34 14\" aria-hidden=\"true\">{}</svg>{}{}</li>",
                         key.mark, escape(key.name),
                         key.remark.empty() ? "" : fmt::format(" <small>({})</small>", escape(key.remark)));
  }
  return "<ul class=\"legend\">" + items + "</ul>";
}

Drawing legend_drawing(const std::vector<LegendKey>& keys, double width) {
  const auto most_letters = static_cast<std::size_t>((width - kKeyWidth) / kLetterWidth);
  std::string marks;
  double x = 0, y = 0;
  for (const LegendKey& key : keys) {
    const std::string text =
        shortened(key.remark.empty() ? key.name : fmt::format("{} ({})", key.name, key.remark), most_letters);
    const double length = kKeyWidth + static_cast<double>(letters_of(text)) * kLetterWidth;
    if (x > 0 && x + length > width) {
      x = 0;
      y += kLineHeight;
    }
    marks += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">{}<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>", x,
                         y, key.mark, kKeyWidth, kKeyBaseline, escape(text));
    x += length + kBetweenKeys;
  }
  return {marks, keys.empty() ? 0 : y + kLineHeight};
}

}  // namespace penumbra::report
