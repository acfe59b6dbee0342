// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report/document.h"
#include "report/papers.h"
#include "report/prices.h"

namespace penumbra::report {

/// One page with everything in it, HTML and XML at once, that loads nothing from anywhere and needs no scripts. Of at
/// least one document.
std::string page(const std::vector<Document>& documents, const std::vector<PaperMeasurement>& papers,
                 const PriceList& prices);

}  // namespace penumbra::report
