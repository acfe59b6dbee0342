// SPDX-License-Identifier: Apache-2.0
//
// `penumbra report`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/text_file.h"
#include "cli/command.h"
#include "cli/output.h"
#include "io/output_file.h"
#include "report/page.h"

namespace penumbra::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> results;
  std::string output, prices;
};

/// Whether that is a file with something in it and no page: a document of results, say.
bool is_no_page(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored) || std::filesystem::file_size(file, ignored) == 0) return false;
  const auto begins_with = [&file](const std::string& wanted) {
    std::string begin(wanted.size(), '\0');
    std::ifstream in(file, std::ios::binary);
    in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    for (char& letter : begin) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return in && begin == wanted;
  };
  return !begins_with("<!doctype") && !begins_with("<?xml");
}

/// Throws Failure if the page would take the place of a document that it is made from, or of another file that is none.
void refuse_what_is_no_page(const ReportOptions& options) {
  const std::string& output = options.output;
  if (output == kStandardOutput) return;
  for (const std::string& file : options.results) {
    if (!io::same_file(file, output)) continue;
    throw Failure(ExitCode::usage, fmt::format("{} is read, and cannot be written too", output));
  }
  if (!is_no_page(output)) return;
  throw Failure(ExitCode::usage,
                fmt::format("{} is there already and is no page; write to another file, or remove that one", output));
}

void write_report(const ReportOptions& options) {
  refuse_what_is_no_page(options);
  constexpr std::size_t kLargestDocument = std::size_t{256} << 20;
  std::vector<report::Document> documents;
  documents.reserve(options.results.size());
  for (const std::string& file : options.results) {
    documents.push_back(report::parse_document(read_text_file(file, kLargestDocument), file));
  }
  const report::PriceList prices =
      options.prices.empty() ? report::PriceList::built_in() : report::PriceList::load(options.prices);
  const std::string page = report::page(documents, report::built_in_papers(), prices);
  write_file(options.output, [&page](std::ostream& out) { out << page; });
}

void set_up_report(CLI::App& command) {
  const auto options = std::make_shared<ReportOptions>();
  command
      .add_option("RESULTS", options->results,
                  "Documents that `penumbra bench -o FILE` wrote, each of one machine or one run")
      ->required()
      ->type_name("FILE");
  command.add_option("-o,--output", options->output, "The page; - is standard output")->required()->type_name("FILE");
  command
      .add_option("--prices", options->prices,
                  "What processors and GPUs cost (YAML, as bench/prices.yaml has it), in place of the list built in")
      ->type_name("FILE");
  command.callback([options] { write_report(*options); });
}

const bool kReportCommand =
    register_command({"report", "Make a page of measurements, with the papers' numbers beside them", set_up_report});

}  // namespace
}  // namespace penumbra::cli
