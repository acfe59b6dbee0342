// SPDX-License-Identifier: Apache-2.0
#include "opportunistic/engine.h"

#include <algorithm>
#include <stdexcept>

#include "base/steady_time.h"
#include "opportunistic/length_watch.h"
#include "opportunistic/queue.h"

namespace penumbra::opportunistic {

AutoEngine::AutoEngine(std::vector<Member> members, std::uint64_t max_delay, Now now)
    : members_(std::move(members)), max_delay_(max_delay), now_(now) {}

AutoEngine::~AutoEngine() = default;

const Shader* AutoEngine::find_shader(const std::string& name) const {
  if (const auto known = shaders_.find(name); known != shaders_.end()) return &known->second;
  SharedShader shader;
  for (const Member& member : members_) {
    const Shader* const own = member.engine->find_shader(name);
    if (own != nullptr && shader.name.empty()) static_cast<Shader&>(shader) = *own;
    shader.of_members.push_back(own);
  }
  return shader.name.empty() ? nullptr : &shaders_.emplace(name, std::move(shader)).first->second;
}

void AutoEngine::use_table(Table& table) {
  for (const Member& member : members_) member.engine->use_table(table);
}

void AutoEngine::announce(const Shader& shader, const Table& table) {
  const auto& shared = static_cast<const SharedShader&>(shader);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (shared.of_members[i] != nullptr) members_[i].engine->announce(*shared.of_members[i], table);
  }
  Route route{.shader = &shared, .table = &table, .measured_table = &table, .lengths = {}};
  if (shader.has_payload()) {
    if (auto sample = make_sample_input(shader.name); sample != nullptr) {
      if (Table* const own = sample->table(); own != nullptr) {
        use_table(*own);
        route.measured_table = own;
      }
      route.sample = samples_.emplace_back(std::move(sample)).get();
    }
  }
  std::vector<std::size_t> ways;
  find_ways(shared, table, 0, ways);
  const Taken taken{ways.front(), {ways.begin() + 1, ways.end()}};
  if (shader.has_payload()) {
    for (const std::uint32_t length : kLengths)
      route.lengths.push_back({.length = length, .taken = taken, .costs = {}});
  } else {
    route.lengths.push_back({.taken = taken, .costs = {}});
  }
  routes_.push_back(std::move(route));
}

/// True if the member has the shader; of synchronous members only the best that has it is a candidate.
bool AutoEngine::is_candidate(const SharedShader& shader, std::size_t member) const noexcept {
  if (shader.of_members[member] == nullptr) return false;
  if (!members_[member].is_synchronous) return true;
  for (std::size_t i = 0; i < member; ++i) {
    if (members_[i].is_synchronous && shader.of_members[i] != nullptr) return false;
  }
  return true;
}

void AutoEngine::find_ways(const SharedShader& shader, const Table& table, std::size_t length_class,
                           std::vector<std::size_t>& ways) const noexcept {
  ways.clear();
  for (const Route& route : routes_) {
    if (route.shader != &shader || route.table != &table) continue;
    const Taken& taken = route.lengths[shader.has_payload() ? length_class : 0].taken;
    ways.push_back(taken.light);
    ways.insert(ways.end(), taken.heavy.begin(), taken.heavy.end());
    return;
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (is_candidate(shader, i)) ways.push_back(i);
  }
  const auto is_synchronous =
      std::ranges::find_if(ways, [this](std::size_t each) { return members_[each].is_synchronous; });
  if (is_synchronous != ways.end()) std::rotate(ways.begin(), is_synchronous, is_synchronous + 1);
}

std::size_t AutoEngine::in_its_place(const SharedShader& shader,
                                     std::span<const std::unique_ptr<EngineQueue>> queues) const noexcept {
  std::size_t found = members_.size();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (queues[i] == nullptr || shader.of_members[i] == nullptr) continue;
    if (members_[i].is_synchronous) return i;
    found = std::min(found, i);
  }
  return found;
}

const SharedShader& AutoEngine::shader_of(std::size_t member, const Shader& own) const noexcept {
  return std::ranges::find_if(shaders_, [&](const auto& each) { return each.second.of_members[member] == &own; })
      ->second;
}

std::unique_ptr<EngineQueue> AutoEngine::open(std::optional<unsigned> core) {
  std::vector<std::unique_ptr<EngineQueue>> queues;
  for (const Member& member : members_) {
    auto& queue = queues.emplace_back();
    try {
      queue = core ? member.engine->open_queue_for(*core) : member.engine->open_queue();
    } catch (const std::runtime_error& error) {
      if (member.is_synchronous) throw;
      const std::lock_guard lock(mutex_);
      const std::string word = member.name + ": not for every worker: " + error.what();
      if (std::ranges::find(words_, word) == words_.end()) words_.push_back(word);
    }
  }
  for (const Route& route : routes_) {
    if (in_its_place(*route.shader, queues) < members_.size()) continue;
    throw std::runtime_error("no engine has a queue left for the shader '" + route.shader->name + "'");
  }
  auto queue = std::make_unique<AutoQueue>(*this, std::move(queues), core, max_delay_, now_);
  const std::lock_guard lock(mutex_);
  queues_.push_back(queue.get());
  return queue;
}

std::shared_ptr<void> AutoEngine::register_memory(const std::shared_ptr<const HugeMemory>& memory) {
  auto registrations = std::make_shared<std::vector<std::shared_ptr<void>>>();
  for (const Member& member : members_) registrations->push_back(member.engine->register_memory(memory));
  return registrations;
}

void AutoEngine::remove(const AutoQueue& queue) {
  const std::lock_guard lock(mutex_);
  std::erase(queues_, &queue);
}

std::vector<AutoQueue*> AutoEngine::one_queue_a_core() const {
  std::vector<AutoQueue*> found;
  for (AutoQueue* queue : queues_) {
    const auto is_of_same = [queue](const AutoQueue* other) { return other->core() == queue->core(); };
    if (std::ranges::none_of(found, is_of_same)) found.push_back(queue);
  }
  return found;
}

bool AutoEngine::has_queue_into(std::size_t member) const {
  return std::ranges::any_of(queues_, [member](const auto* each) { return each->queue_into(member) != nullptr; });
}

std::optional<Costs> AutoEngine::measure_member(const Route& route, std::uint32_t length, std::size_t member) const {
  std::vector<std::unique_ptr<EngineQueue>>
      fresh;  // Separate queues, so that the workers' queues do not calibrate on random columns.
  std::vector<WorkersQueue> queues;
  const bool is_synchronous = members_[member].is_synchronous;
  for (const AutoQueue* const each : one_queue_a_core()) {
    EngineQueue* queue = each->queue_into(member);
    if (is_synchronous) queue = fresh.emplace_back(members_[member].engine->open_queue()).get();
    if (queue != nullptr) queues.push_back({queue, each->core()});
  }
  if (queues.empty()) return std::nullopt;
  const Measured measured{.shader = *route.shader->of_members[member],
                          .table = *route.measured_table,
                          .sample = route.sample,
                          .length = length};
  return measure(measured, queues, is_synchronous, now_);
}

void AutoEngine::choose(const Route& route, LengthRoute& at, const std::vector<EngineCalibration>& calibrations) {
  const auto is_its = [&](const EngineCalibration& each) {
    return each.shader == route.shader->name && each.size_class == route.size_class && each.length == at.length &&
           each.figures.size() == kCostFigures * members_.size();
  };
  const auto known = std::ranges::find_if(calibrations, is_its);
  at.is_loaded = known != calibrations.end();
  std::vector<std::size_t> silent;  // Members whose accelerator did not answer; it may recover.
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!is_candidate(*route.shader, i)) continue;
    std::optional<Costs> costs;
    if (at.is_loaded) costs = costs_of(std::span(known->figures).subspan(kCostFigures * i, kCostFigures));
    if (!costs) {
      costs = measure_member(route, at.length, i);
      if (costs) at.is_loaded = false;
    }
    if (costs) {
      at.costs.push_back({i, *costs});
    } else if (has_queue_into(i)) {
      silent.push_back(i);
    }
  }
  if (at.costs.empty()) return;
  at.taken = take_best(at.costs, max_delay_);
  at.taken.heavy.insert(at.taken.heavy.end(), silent.begin(), silent.end());
}

void AutoEngine::load_calibrations(std::vector<EngineCalibration> calibrations) {
  if (queues_.empty() || routes_.empty()) return;
  for (Route& route : routes_) {
    if (route.table->view() == nullptr) continue;
    route.size_class = route.table->size_class();
    for (LengthRoute& at : route.lengths) choose(route, at, calibrations);
  }
  const std::lock_guard lock(mutex_);
  for (const Route& route : routes_) {
    for (const LengthRoute& at : route.lengths) add_words(route, at);
  }
  close_what_is_not_taken();
}

void AutoEngine::close_what_is_not_taken() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto takes = [i](const LengthRoute& at) {
      return at.taken.light == i || std::ranges::find(at.taken.heavy, i) != at.taken.heavy.end();
    };
    const auto any_takes = [&takes](const Route& route) { return std::ranges::any_of(route.lengths, takes); };
    if (members_[i].is_synchronous || std::ranges::any_of(routes_, any_takes)) continue;
    for (AutoQueue* const queue : queues_) queue->close(i);
  }
}

void AutoEngine::add_words(const Route& route, const LengthRoute& at) {
  const std::string of = route.shader->name + (at.length == 0 ? "" : " of " + std::to_string(at.length) + " bytes");
  std::string& words = words_.emplace_back(of + ": " + members_[at.taken.light].name);
  if (!at.taken.heavy.empty()) words += " under light load, tried under heavy load: ";
  for (const std::size_t each : at.taken.heavy) {
    words += members_[each].name + (each == at.taken.heavy.back() ? "" : ", ");
  }
  for (const auto& [member, costs] : at.costs) {
    words_.push_back(of + " on " + members_[member].name + ": " + describe(costs) +
                     (at.is_loaded ? ", in an earlier run" : ""));
  }
}

std::vector<std::string> AutoEngine::notes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines = words_;
  for (const AutoQueue* const queue : queues_) {
    if (std::string line = queue->note(); !line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<EngineCalibration> AutoEngine::calibrations() const {
  std::vector<EngineCalibration> found;
  for (const Route& route : routes_) {
    for (const LengthRoute& at : route.lengths) {
      if (!at.is_loaded && !at.costs.empty()) found.push_back(calibration_of(route, at));
    }
  }
  return found;
}

EngineCalibration AutoEngine::calibration_of(const Route& route, const LengthRoute& at) const {
  const auto costs_of_member = [&at](std::size_t member) {
    return std::ranges::find(at.costs, member, &MemberCosts::member);
  };
  const auto& heavy = at.taken.heavy;
  const bool is_worth_a_trial = !heavy.empty() && costs_of_member(heavy.front()) != at.costs.end();
  const std::size_t likeliest = is_worth_a_trial ? heavy.front() : at.taken.light;
  EngineCalibration calibration{.shader = route.shader->name,
                                .size_class = route.size_class,
                                .value = likeliest,
                                .gain = gain(costs_of_member(at.taken.light)->costs, costs_of_member(likeliest)->costs),
                                .length = at.length};
  calibration.figures.resize(kCostFigures * members_.size());  // Zeros mean that the costs are not known.
  for (const auto& [member, costs] : at.costs) {
    std::ranges::copy(to_figures(costs),
                      calibration.figures.begin() + static_cast<std::ptrdiff_t>(kCostFigures * member));
  }
  return calibration;
}

std::string AutoEngine::calibration_key() const {
  std::string text;
  for (const Member& member : members_) {
    const std::string own = member.engine->calibration_key();
    text += member.name + (own.empty() ? "" : " on " + own) + ", ";
  }
  const std::lock_guard lock(mutex_);
  return text + std::to_string(one_queue_a_core().size()) + " workers";
}

std::vector<std::pair<std::string, Engine*>> AutoEngine::members() const {
  std::vector<std::pair<std::string, Engine*>> pairs;
  pairs.reserve(members_.size());
  for (const Member& member : members_) pairs.emplace_back(member.name, member.engine.get());
  return pairs;
}

namespace {

std::unique_ptr<Engine> create(const EngineSettings& settings) {
  std::vector<Member> members;
  for (const auto& info : engines()) {
    if (info.name == kAuto || !info.probe().available) continue;
    members.push_back({info.name, info.is_synchronous, info.create({})});
  }
  const auto told = settings.find("max_delay");
  const std::uint64_t max_delay = told == settings.end() ? 0 : told->second * 1000;
  return std::make_unique<AutoEngine>(std::move(members), max_delay, &steady_ns);
}

[[maybe_unused]] const bool kRegistered = register_engine(
    {.name = kAuto,
     .summary = "whatever of these suits the load: the CPU as long as it keeps up, then a GPU",
     .priority = 0,
     .settings = {{.name = "max_delay",
                   .least = 1,
                   .most = 1'000'000,
                   .summary = "microseconds: what takes longer for a batch is not used under heavy load",
                   .tested = {1}}},
     .probe =
         [] {
           std::string among;
           for (const auto& info : engines()) {
             if (info.name == kAuto || !info.probe().available) continue;
             among += (among.empty() ? "" : ", ") + info.name;
           }
           return Availability{!among.empty(), "there are here: " + (among.empty() ? "none" : among)};
         },
     .create = create});

}  // namespace

}  // namespace penumbra::opportunistic
