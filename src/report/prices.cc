// SPDX-License-Identifier: Apache-2.0
#include "report/prices.h"

#include <algorithm>

#include "penumbra/config_node.h"
#include "report/built_in.h"
#include "report/pattern.h"

namespace penumbra::report {
namespace {

constexpr std::uint64_t kMostDollars = 100'000'000;

std::vector<Price> prices_of(const ConfigNode& root) {
  root.require_map({"prices"});
  std::vector<Price> prices;
  for (const ConfigNode& item : root.at("prices").list()) {
    item.require_map({"part", "dollars", "source"});
    const ConfigNode source = item.get("source");
    prices.push_back({item.at("part").text(), static_cast<double>(item.at("dollars").integer(1, kMostDollars)),
                      source.present() ? source.text() : ""});
  }
  return prices;
}

}  // namespace

PriceList PriceList::load(const std::filesystem::path& file) {
  return PriceList(prices_of(ConfigNode::load(file)));
}

PriceList PriceList::built_in() {
  constexpr char kFile[] = "prices.yaml";
  return PriceList(prices_of(ConfigNode::parse(std::string(built_in_file(kFile)), kFile, ".")));
}

const Price* PriceList::find(std::string_view part) const {
  const auto found = std::ranges::find_if(prices_, [part](const Price& price) { return matches(price.part, part); });
  return part.empty() || found == prices_.end() ? nullptr : &*found;
}

}  // namespace penumbra::report
