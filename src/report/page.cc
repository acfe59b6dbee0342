// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include <fmt/format.h>

#include "report/built_in.h"
#include "report/parts.h"

namespace penumbra::report {
namespace {

constexpr std::string_view kExplanation =
    "<details><summary>How to read the plots</summary>"
    "<p>A point is the median over the rounds, the bar through it goes from the least to the greatest sample. "
    "With one or two samples that says little: where spreads are compared, such a point&#39;s is taken as at least "
    "15% of its median to either side. Solid "
    "lines are ours; dashed ones are rivals, somebody else&#39;s programs or ours written the way that others write "
    "them; dotted ones are limits, what the machine can do at most. Hollow diamonds are a paper&#39;s own figures, on "
    "its own hardware, in the colour of what of ours they are held against. An axis is logarithmic, and says so, where "
    "its values span more than 16 times. Plots of several "
    "machines share their axes. Ratios are medians of the ratios round by round.</p>"
    "<p>Beside the plots stands what the papers measured and concluded. Whether a conclusion holds is computed from "
    "the figures on this page, by a rule that is written down for each (bench/papers in the source). Every point of a "
    "plot is also in the table below it.</p></details>";

}  // namespace

std::string page(const Context& context) {
  std::string sections;
  for (int number = 1; number <= kMeasurements; ++number) {
    sections += measurement_section(context, measurement_name(number));
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<link rel=\"icon\" href=\"data:,\"/>\n"
      "<title>Penumbra: measurements</title>\n<style>\n{}{}</style>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#measurements\">To the list of measurements</a>\n"
      "<header>\n<h1>Penumbra: measurements</h1>\n<p>The measurements of five papers on packet processing with GPUs, "
      "repeated on {}, with the papers&#39; numbers "
      "beside.</p>\n{}</header>\n<main>\n{}{}{}</main>\n</body>\n</html>\n",
      built_in_file("chart.css"), built_in_file("page.css"),
      context.documents.size() == 1 ? "one machine" : counted(context.documents.size(), "machine"), kExplanation,
      overview(context), sections, other_sections(context));
}

}  // namespace penumbra::report
