// SPDX-License-Identifier: Apache-2.0
//
// `penumbra-bench report`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_file.h"
#include "cli/command.h"
#include "cli/output.h"
#include "io/output_file.h"
#include "report/agreement.h"
#include "report/page.h"
#include "report/plot_file.h"

namespace penumbra::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> results;
  std::string output, plots, prices;
  bool agreement = false;
};

/// Returns true if the file is not empty and begins with no text of `begins`, ignoring case.
bool is_another_kind(const std::string& file, std::initializer_list<std::string_view> begins) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored) || std::filesystem::file_size(file, ignored) == 0) return false;
  const auto begins_with = [&file](std::string_view wanted) {
    std::string begin(wanted.size(), '\0');
    std::ifstream in(file, std::ios::binary);
    in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    for (char& letter : begin) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return in && begin == wanted;
  };
  return std::ranges::none_of(begins, begins_with);
}

/// Throws Failure if `output` is one of the documents to read, or an existing file of another kind.
void refuse_another_kind(const ReportOptions& options, const std::string& output, const std::string& kind,
                         std::initializer_list<std::string_view> begins) {
  for (const std::string& file : options.results) {
    if (!io::same_file(file, output)) continue;
    throw Failure(ExitCode::usage, fmt::format("{} is read, and cannot be written too", output));
  }
  if (!is_another_kind(output, begins)) return;
  throw Failure(
      ExitCode::usage,
      fmt::format("{} is there already and is no {}; write to another file, or remove that one", output, kind));
}

void refuse_what_is_no_page(const ReportOptions& options) {
  if (options.output.empty() || options.output == kStandardOutput) return;
  refuse_another_kind(options, options.output, "page", {"<!doctype", "<?xml"});
}

/// Writes the plots, and makes the folder if it does not exist.
void write_plots(const ReportOptions& options, const report::Context& context) {
  std::error_code error;
  const std::filesystem::path folder = options.plots;
  std::filesystem::create_directories(folder, error);
  if (error) throw Failure(ExitCode::failure, fmt::format("{}: cannot be made: {}", options.plots, error.message()));
  const std::vector<report::PlotFile> plots = report::plot_files(context);
  for (const report::PlotFile& plot : plots) refuse_another_kind(options, folder / plot.name, "plot", {"<svg"});
  for (const report::PlotFile& plot : plots) {
    write_file(folder / plot.name, [&plot](std::ostream& out) { out << plot.text; });
  }
}

/// Throws Failure if too few series agree.
void tell_agreement(const report::Context& context) {
  const report::Agreement agreement = report::agreement_of(context);
  if (agreement.pairs.empty()) throw Failure(ExitCode::bad_input, "the two runs have no series in common");
  write_output(report::text_of(agreement, context));
  flush_output();
  if (agreement.of_all().value() < report::kWantedAgreement)
    throw Failure(ExitCode::mismatch, "the two runs do not agree");
}

void check_requests(const ReportOptions& options) {
  if (options.output.empty() && options.plots.empty() && !options.agreement) {
    throw Failure(ExitCode::usage, "what is to be made? A page: -o FILE; plots: --plots FOLDER; or --agreement");
  }
  if (options.agreement && options.results.size() != 2) {
    throw Failure(ExitCode::usage, fmt::format("--agreement is of two runs, not of {}", options.results.size()));
  }
  if (options.agreement && options.output == kStandardOutput) {
    throw Failure(ExitCode::usage, "--agreement writes to standard output: name another file for the page");
  }
}

void write_report(const ReportOptions& options) {
  check_requests(options);
  refuse_what_is_no_page(options);
  constexpr std::size_t kLargestDocument = std::size_t{256} << 20;
  std::vector<report::Document> documents;
  documents.reserve(options.results.size());
  for (const std::string& file : options.results) {
    documents.push_back(report::parse_document(read_text_file(file, kLargestDocument), file));
  }
  const report::PriceList prices =
      options.prices.empty() ? report::PriceList::built_in() : report::PriceList::load(options.prices);
  const std::vector<report::PaperMeasurement> papers = report::built_in_papers();
  const report::Context context(documents, papers, prices);
  if (!options.plots.empty()) write_plots(options, context);
  if (!options.output.empty()) {
    const std::string page = report::page(context);
    write_file(options.output, [&page](std::ostream& out) { out << page; });
  }
  if (options.agreement) tell_agreement(context);
}

void set_up_report(CLI::App& command) {
  const auto options = std::make_shared<ReportOptions>();
  command
      .add_option("RESULTS", options->results,
                  "Documents that `penumbra-bench run -o FILE` wrote, each of one machine or one run")
      ->required()
      ->type_name("FILE");
  command.add_option("-o,--output", options->output, "The page; - is standard output")->type_name("FILE");
  command.add_option("--plots", options->plots, "Writes every plot into that folder, as an SVG file of its own")
      ->type_name("FOLDER");
  command.add_flag("--agreement", options->agreement,
                   "Tells how many series of two runs agree; exits with 4 if fewer than 90% do");
  command
      .add_option("--prices", options->prices,
                  "What processors and GPUs cost (YAML, as bench/prices.yaml has it), in place of the list built in")
      ->type_name("FILE");
  command.callback([options] { write_report(*options); });
}

const bool kReportCommand =
    register_command({"report", "Make a page of measurements with the papers' numbers next to them", set_up_report});

}  // namespace
}  // namespace penumbra::cli
