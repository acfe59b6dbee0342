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
    "15% of its median to either side. Filled "
    "marks and solid lines are ours; hollow marks and dashed lines are rivals, somebody else&#39;s programs or ours "
    "written the way that others write "
    "them; dotted ones are limits, what the machine can do at most. Where there are more curves than colours, those of "
    "one kind share a colour and differ in marks and dashes. Where curves lie on each other, the lower ones are wider "
    "and their marks larger. Hollow diamonds are a paper&#39;s own figures, on "
    "its own hardware, in the colour of what of ours they are held against. An axis is logarithmic, and says so, where "
    "its values span more than 16 times. Plots of several "
    "machines share their axes. Under a plot&#39;s heading stand the papers&#39; figures and tables that it repeats. "
    "Ratios, in tables and in sentences, are medians of the ratios round by round, and of two that were not taken by "
    "turns those of their medians. Less than half a per cent apart, or ahead by the one and behind by the other, is "
    "level.</p>"
    "<p>Next to the plots is what the papers measured and concluded. Whether a conclusion holds is computed from "
    "the figures on this page, by a rule that is written down for each (bench/papers in the source). Every point of a "
    "plot is also in the table below it.</p></details>";

/// Explains the words in legends to new readers. docs/ has the full explanation.
constexpr std::string_view kWords =
    "<details><summary>What the names mean: gopt, cuda, mapped=0, tuple, bar, limit ...</summary><dl>"
    "<dt>scalar</dt><dd>the engine that runs a function as it is written, on a core of the CPU, or by hand-written "
    "vector code where there is some (avx512=0: without that)</dd>"
    "<dt>gopt</dt><dd>the same on a core, rewritten by our compiler so that a batch&#39;s reads of memory overlap</dd>"
    "<dt>cuda</dt><dd>a GPU, with a kernel started for each batch; mapped=0: on copies of the batch, mapped=1: on the "
    "host&#39;s memory itself</dd>"
    "<dt>cuda-resident</dt><dd>a GPU, with one kernel that never stops and takes batches from shared memory; "
    "slots: batches in flight of a worker; blocks: of all workers</dd>"
    "<dt>auto</dt><dd>the choice among these: a core under little load, a GPU where it gets more done</dd>"
    "<dt>linear, tuple, bloom, fast</dt><dd>structures for rules: all are tried; a table for each mask; these "
    "with a Bloom filter before each; a few tables for cores</dd>"
    "<dt>worker, batch</dt><dd>a thread of the router on a core of its own; the packets that are looked up at once</dd>"
    "<dt>bar, limit, rival</dt><dd>what we promised to reach; what the machine can do at most; what we are held "
    "against</dd></dl></details>";

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
      "next to them.</p>\n{}</header>\n<main>\n{}{}{}</main>\n</body>\n</html>\n",
      built_in_file("chart.css"), built_in_file("page.css"),
      context.documents.size() == 1 ? "one machine" : counted(context.documents.size(), "machine"),
      std::string(kExplanation).append(kWords), overview(context), sections, other_sections(context));
}

}  // namespace penumbra::report
