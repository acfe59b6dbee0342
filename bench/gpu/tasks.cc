// SPDX-License-Identifier: Apache-2.0
#include "gpu/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "gpu/exact_work.h"
#include "gpu/ipv4_work.h"
#include "gpu/lines.h"
#include "inputs.h"
#include "tables/ipv6_lengths/ipv6_lengths.h"
#include "tables/ipv6_trie/ipv6_trie.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::size_t kKeys = std::size_t{1} << 22;
constexpr std::size_t kFlows = 4'000'000;

class Ipv6Work final : public LookupWorkOf<ipv6_address, std::uint16_t> {
 public:
  Ipv6Work(std::unique_ptr<NoReaders> no_readers, std::unique_ptr<Ipv6Lookup> table, const Ipv6InputTable& input,
           const InputAddressesOf<Ipv6>& addresses, const std::vector<std::uint16_t>& answers)
      : LookupWorkOf(addresses.addresses.size()), no_readers_(std::move(no_readers)), table_(std::move(table)) {
    std::ranges::copy(addresses.addresses, own_keys().begin());
    std::ranges::copy(answers, right.begin());
    table_->load(input.entries);
  }
  Table& penumbra_table() override { return table_->table(); }

 private:
  std::unique_ptr<NoReaders> no_readers_;
  std::unique_ptr<Ipv6Lookup> table_;
};

template <class Lookup>
std::unique_ptr<LookupWork> ipv6_work(const Ipv6InputTable& input, const InputAddressesOf<Ipv6>& addresses,
                                      const std::vector<std::uint16_t>& answers) {
  auto no_readers = std::make_unique<NoReaders>();
  auto table = std::make_unique<Lookup>(*no_readers);
  return std::make_unique<Ipv6Work>(std::move(no_readers), std::move(table), input, addresses, answers);
}

}  // namespace

Task ipv4_task(const Options& options) {
  auto work = std::make_unique<Ipv4Work>(options);
  const double lines = lines_a_lookup(*work);
  std::string description = work->input.description;
  return {"IPv4", std::move(description), std::move(work), lines, &kCudaRate, &kResidentRate, &kShaderRate};
}

std::vector<Task> more_tasks(const Options& options) {
  const Ipv6InputTable input = ipv6_input_table({.names = {}, .routes = {}, .rules = {}, .seed = options.seed});
  const auto addresses = prefix_addresses(input, kKeys, options.seed);
  const std::vector<std::uint16_t> answers = next_hops<Ipv6>(OracleOf<Ipv6>(input.entries), addresses.addresses);
  const std::string ipv6 = fmt::format("{}; {}", input.description, addresses.description);
  const std::string flows = fmt::format("{} flows, one of four of IPv6, searched at random", kFlows);
  std::vector<Task> tasks;
  tasks.push_back(
      {"IPv6, trie", ipv6, ipv6_work<Ipv6Trie>(input, addresses, answers), 0, &kTrieRate, nullptr, &kTrieShader});
  tasks.push_back({"IPv6, lengths", ipv6, ipv6_work<Ipv6Lengths>(input, addresses, answers), 0, &kLengthsRate, nullptr,
                   &kLengthsShader, true});
  tasks.push_back(
      {"flows", flows, std::make_unique<FlowsWork>(kFlows, options.seed), 0, &kFlowsRate, nullptr, &kFlowsShader});
  for (Task& each : tasks) each.lines = lines_a_lookup(*each.work);
  return tasks;
}

}  // namespace penumbra::bench::gpu
