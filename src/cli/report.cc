// SPDX-License-Identifier: Apache-2.0
//
// `penumbra report`.
#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/text_file.h"
#include "cli/command.h"
#include "cli/output.h"
#include "report/page.h"

namespace penumbra::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> results;
  std::string output, prices;
};

void write_report(const ReportOptions& options) {
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
