// SPDX-License-Identifier: Apache-2.0
#include "loaded_engine.h"

#include <fmt/format.h>

#include <numeric>

#include "gpu/core_team.h"
#include "pin.h"

namespace penumbra::bench {

double LoadedEngine::rate_of(unsigned count) const {
  std::vector<double> rates(count);
  run_team(count, [&](unsigned member) { rates[member] = workers[member]->run(LoadedWorker::kNoLimit).rate; });
  return std::accumulate(rates.begin(), rates.end(), 0.0) * 1e-6;
}

std::unique_ptr<LoadedEngine> load_engine(const std::string& choice, unsigned workers, gpu::LookupWork& work,
                                          Report& report) {
  gpu::OpenedEngine opened = gpu::open_engine(choice, work);
  if (opened.engine == nullptr) {
    report.note(fmt::format("{} is not measured: {}", choice, opened.why_not));
    return nullptr;
  }
  auto loaded = std::make_unique<LoadedEngine>();
  loaded->choice = choice;
  loaded->engine = std::move(opened.engine);
  for (unsigned member = 0; member < workers; ++member) {
    loaded->workers.push_back(std::make_unique<LoadedWorker>(*loaded->engine, work, core(member)));
  }
  loaded->engine->announce(*loaded->engine->find_shader(work.penumbra_table().name()), work.penumbra_table());
  // Calibrates as before traffic.
  for (const auto& [name, member] : loaded->engine->members()) member->load_calibrations({});
  loaded->engine->load_calibrations({});
  for (const double rate : {LoadedWorker::kNoLimit, 1e6}) {
    run_team(workers, [&](unsigned member) { loaded->workers[member]->check(rate); });
  }
  report.checked(fmt::format("{}, {}, {}: every answer, under light and heavy load", work.penumbra_table().name(),
                             choice, workers_in_words(workers)));
  return loaded;
}

}  // namespace penumbra::bench
