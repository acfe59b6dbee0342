// SPDX-License-Identifier: Apache-2.0
//
// Any text is a document, of which a page is made, or refused with the file's name. What stands in a document never
// becomes markup: the page has no scripts and no control characters.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "penumbra/errors.h"
#include "report/page.h"

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
    const auto document = report::parse_document(text, "fuzz");
    if (is_markup_of_others(report::page({document, document}, papers(), prices()))) std::abort();
  } catch (const InputError& error) {
    if (error.location().file != "fuzz") std::abort();
  }
  return 0;
}
