// SPDX-License-Identifier: Apache-2.0
//
// Measures TupleMerge's reference implementation: tuplemerge RULES HEADERS [ROUNDS], both in ClassBench's format. The
// program prints million headers per second, and checks every answer by linear search.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "IO/InputReader.h"
#include "TupleMerge/TupleMergeOffline.h"
#include "TupleMerge/TupleMergeOnline.h"
#include "lookup_rival.h"

namespace {

constexpr int kPasses = 8;  // Passes per round, as in `penumbra-bench run classify`.

/// Returns the priority of the first matching rule, or -1.
int search(const std::vector<Rule>& rules, const Packet& header) {
  const auto wins = std::ranges::find_if(rules, [&](const Rule& rule) { return rule.MatchesPacket(header); });
  return wins == rules.end() ? -1 : wins->priority;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) outside::give_up("tuplemerge RULES HEADERS [ROUNDS]");
  const unsigned rounds = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 5;
  const std::vector<Rule> rules = InputReader::ReadFilterFile(argv[1]);
  const std::vector<Packet> headers = InputReader::ReadPackets(argv[2]);
  std::vector<int> right;
  for (const Packet& header : headers) right.push_back(search(rules, header));
  const std::unordered_map<std::string, std::string> arguments;
  for (const bool offline : {true, false}) {
    std::unique_ptr<TupleMergeOnline> table =
        offline ? std::make_unique<TupleMergeOffline>(arguments) : std::make_unique<TupleMergeOnline>(arguments);
    table->ConstructClassifier(rules);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < headers.size(); ++i) wrong += table->ClassifyAPacket(headers[i]) != right[i];
    std::vector<double> rates;
    for (unsigned round = 0; round < rounds; ++round) {
      int last = 0;
      const double begin = outside::thread_seconds();
      for (int pass = 0; pass < kPasses; ++pass) {
        for (const Packet& header : headers) {
          last = table->ClassifyAPacket(header);
          asm volatile("" : : "g"(last) : "memory");
        }
      }
      const double seconds = outside::thread_seconds() - begin;
      rates.push_back(static_cast<double>(headers.size()) * kPasses / seconds * 1e-6);
    }
    std::ranges::sort(rates);
    std::printf("%-8s %6.2f (%.2f .. %.2f) M/s, %zu rules in %zu tables, %zu of %zu answers wrong\n",
                offline ? "offline" : "online", rates[rates.size() / 2], rates.front(), rates.back(), rules.size(),
                table->NumTables(), wrong, headers.size());
  }
}
