// SPDX-License-Identifier: Apache-2.0
//
// Any text is a document or is refused with the file's name. A page and plots are made from each document. The text of
// a document never becomes markup: the output has no scripts and no control characters. Every document agrees with
// itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/errors.h"
#include "report/agreement.h"
#include "report/page.h"
#include "report/plot_file.h"

namespace {

using namespace penumbra;

const std::vector<report::PaperMeasurement>& papers() {
  static const auto kPapers = report::built_in_papers();
  return kPapers;
}

const report::PriceList& prices() {
  static const auto kPrices = report::PriceList::built_in();
  return kPrices;
}

bool is_markup_of_others(const std::string& page) {
  if (page.find("<script") != std::string::npos || page.find("<img") != std::string::npos) return true;
  for (const char letter : page) {
    if (static_cast<unsigned char>(letter) < 0x20 && letter != '\n' && letter != '\t') return true;
  }
  return page.find("\"nan\"") != std::string::npos || page.find("\"inf\"") != std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const std::vector<report::Document> documents(2, report::parse_document(text, "fuzz"));
    const report::Context context(documents, papers(), prices());
    if (is_markup_of_others(report::page(context))) std::abort();
    for (const auto& file : report::plot_files(context)) {
      if (is_markup_of_others(file.text) || file.name.find('/') != std::string::npos) std::abort();
    }
    const report::Agreement agreement = report::agreement_of(context);
    if (agreement.of_all().value() != 1 || report::text_of(agreement, context).empty()) std::abort();
  } catch (const InputError& error) {
    if (error.location().file != "fuzz") std::abort();
  }
  return 0;
}
