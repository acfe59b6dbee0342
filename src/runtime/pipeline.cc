// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "control/netlink/feed.h"
#include "control/stage_graph.h"
#include "penumbra/errors.h"
#include "runtime/router.h"

namespace penumbra::runtime {
namespace {

constexpr std::size_t kMostReasons = 1U << 15;  ///< The over-limit reasons may double this number.

/// Returns the ethertypes that the functions of `stages` claim.
std::vector<std::uint16_t> ethertypes(std::span<const control::StageConfig> configs, const control::StageSet& stages) {
  std::vector<std::uint16_t> all;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const FunctionInfo* const info = stages[i] ? find_function(configs[i].function) : nullptr;
    if (info != nullptr) all.insert(all.end(), info->ethertypes.begin(), info->ethertypes.end());
  }
  return all;
}

}  // namespace

std::string Stage::engine_names() const {
  std::vector<std::string> names;
  for (const auto& each : shaders) {
    if (std::ranges::find(names, each.engine_name) == names.end()) names.push_back(each.engine_name);
  }
  return fmt::format("{}", fmt::join(names, ","));
}

std::string Stage::shader_names() const {
  std::vector<std::string> names;
  names.reserve(shaders.size());
  for (const auto& each : shaders) names.push_back(each.shader->name);
  return fmt::format("{}", fmt::join(names, ","));
}

const Engine* Stage::engine_of(const std::string& wanted) const {
  for (const auto& shader : shaders) {
    if (engine_name(shader.engine_name) == wanted) return shader.engine;
    for (const auto& [each, member] : shader.engine->members()) {
      if (each == wanted) return member;
    }
  }
  return nullptr;
}

std::vector<std::string> twins(std::span<const control::PortConfig> configs) {
  std::vector<std::string> names;
  names.reserve(configs.size());
  for (const auto& config : configs) names.push_back(config.twin);
  return names;
}

std::vector<PortInfo> port_infos(std::span<const control::PortConfig> configs) {
  std::vector<PortInfo> infos;
  infos.reserve(configs.size());
  for (const auto& config : configs) infos.push_back(config.info);
  return infos;
}

Pipeline::Pipeline(std::span<const control::StageConfig> configs, std::span<const PortInfo> ports,
                   GracePeriods& grace_periods, RouteFeed* feed, std::uint16_t workers)
    : workers_(workers) {
  using Kind = Verdict::Kind;
  reasons_ = {
      {"router", {"undecided", Kind::drop, "no function of the pipeline decided"}},
      {"router", {"tx_full", Kind::drop, "the egress port did not take it"}},
      {"router", {"rss_ring_full", Kind::drop, "the ring of the worker that software RSS chose was full"}},
      {"router", {"sink_failed", Kind::drop, "the sink's file cannot be written any more (show ports says why)"}},
      {"router", {"host_full", Kind::drop, "punted, but the host's thread did not keep up"}},
      {"router",
       {"host_lost", Kind::drop, "punted, but the port's twin did not take it (down, out of memory, deleted)"}},
      {"router",
       {"host_too_long", Kind::drop, "from the host, but longer than the port's MTU: its twin has another one"}},
      {"router", {"port_gone", Kind::drop, "the egress port has no device at the moment, or was removed"}},
      {"router", {"emitter_full", Kind::drop, "a function created or released more packets than can wait"}},
      {"router", {"too_many_visits", Kind::drop, "functions sent it to other functions more than 8 times"}},
  };
  const std::vector<std::string> names = control::stage_names(configs);
  const std::vector<control::StageSet> reachable = control::reachable_stages(configs);
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const auto& config = configs[i];
    Stage stage;
    stage.info = find_function(config.function);
    if (stage.info == nullptr) throw config.config.error("there is no function '" + config.function + "'");
    stage.name = names[i];
    const auto later_ethertypes = ethertypes(configs, reachable[i]);
    stage.function = stage.info->create(config.config, {.ports = ports,
                                                        .grace_periods = grace_periods,
                                                        .feed = feed,
                                                        .later_ethertypes = later_ethertypes,
                                                        .stages = names,
                                                        .stage = static_cast<std::uint16_t>(i),
                                                        .workers = workers});
    for (std::string& warning : stage.function->warnings()) warnings_.push_back(std::move(warning));
    const auto& reasons = stage.function->reasons();
    if (reasons_.size() + reasons.size() > kMostReasons) {
      throw config.config.error("the pipeline has too many functions");
    }
    stage.function->set_first_reason(static_cast<std::uint16_t>(reasons_.size()));
    for (const auto& reason : reasons) reasons_.push_back({stage.name, reason});
    redirect(stage, config);
    stage.configured_engine = engine_name(config.engine);
    for (const FunctionShader& shader : stage.function->shaders()) choose_engine(stage, config, shader);
    stages_.push_back(std::move(stage));
  }
  add_over_limits();
}

/// Takes over the `go_to` of a stage, whose reasons are the last ones. Throws InputError at a reason that it does not
/// have.
void Pipeline::redirect(Stage& stage, const control::StageConfig& config) {
  reason_to_.resize(reasons_.size(), kNowhere);
  pass_to_.push_back(kNowhere);
  const auto& reasons = stage.function->reasons();
  for (const control::GoTo& go_to : config.go_to) {
    stage.go_to.emplace_back(go_to.reason, go_to.target);
    if (go_to.reason == control::GoTo::kPass) {
      pass_to_.back() = go_to.target;
      continue;
    }
    const auto found = std::ranges::find(reasons, go_to.reason, &Reason::name);
    if (found == reasons.end()) {
      std::vector<std::string> known{std::string(control::GoTo::kPass)};
      for (const Reason& each : reasons) known.push_back(each.name);
      throw InputError(go_to.location, fmt::format("{} has no outcome {}; {}", stage.name, quote(go_to.reason),
                                                   did_you_mean_or_list(go_to.reason, known)));
    }
    reason_to_[reason_to_.size() - reasons.size() + static_cast<std::size_t>(found - reasons.begin())] = go_to.target;
  }
}

/// Appends the over-limit reasons after all others, so that the functions' own reasons are contiguous.
void Pipeline::add_over_limits() {
  const std::size_t count = reasons_.size();
  for (std::size_t i = 0; i < count; ++i) {
    over_limit_.push_back(static_cast<std::uint16_t>(i));
    const PipelineReason punted = reasons_[i];
    if (punted.reason.kind != Verdict::Kind::punt) continue;
    over_limit_[i] = static_cast<std::uint16_t>(reasons_.size());
    reasons_.push_back({punted.stage,
                        {punted.reason.name + "_over_limit", Verdict::Kind::drop,
                         "more of these than the host is given in a second (punts:)"}});
  }
  for (std::size_t i = count; i < reasons_.size(); ++i) over_limit_.push_back(static_cast<std::uint16_t>(i));
}

/// Chooses a CPU engine if the configured one is unavailable. A machine whose GPU is missing at the start must forward
/// packets like one whose GPU fails later.
void Pipeline::choose_engine(Stage& stage, const control::StageConfig& config, const FunctionShader& shader) {
  StageShader chosen;
  chosen.table = shader.table;
  try {
    // `auto` is available on every machine.
    const std::string lack = stage.configured_engine == kAuto ? "" : why_unavailable(config.engine);
    chosen.engine_name = lack.empty() ? resolve_engine(config.engine, shader.name) : engine_at_once(shader.name);
    if (!lack.empty() && stage.shaders.empty()) {
      warnings_.push_back(
          config.config.error(fmt::format("{}; {} runs on {}", lack, stage.name, chosen.engine_name)).what());
    }
    auto& engine = engines_[chosen.engine_name];
    if (engine == nullptr) engine = create_engine(chosen.engine_name);
    chosen.engine = engine.get();
  } catch (const std::exception& error) {
    throw config.config.error(error.what());
  }
  chosen.shader = chosen.engine->find_shader(shader.name);
  if (chosen.table == nullptr) throw std::logic_error("function " + config.function + " has a shader but no table");
  chosen.engine->use_table(*chosen.table);
  chosen.engine->announce(*chosen.shader, *chosen.table);
  if (chosen.shader->has_payload()) packet_memory_.use(*chosen.engine);
  stage.shaders.push_back(std::move(chosen));
}

Verdict Pipeline::redirected(std::uint16_t stage, Verdict verdict) const {
  const bool has_reason = verdict.kind == Verdict::Kind::drop || verdict.kind == Verdict::Kind::punt;
  std::uint16_t to = kNowhere;
  if (verdict.kind == Verdict::Kind::pass) {
    to = pass_to_[stage];
  } else if (has_reason && verdict.value < reason_to_.size()) {
    to = reason_to_[verdict.value];
  }
  return to == kNowhere ? verdict : Verdict{Verdict::Kind::go_to, to};
}

std::string Pipeline::reason_name(std::uint16_t reason) const {
  if (reason >= reasons_.size()) return fmt::format("reason {}", reason);
  return reasons_[reason].stage + "." + reasons_[reason].reason.name;
}

std::vector<std::string> Pipeline::reload(Pipeline& next, std::span<const control::StageConfig> configs, bool apply) {
  std::vector<std::string> changes;
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const auto lines = stages_[i].function->differences(*next.stages_[i].function, configs[i].config);
    if (!lines.empty()) changed.push_back(i);
    for (const auto& line : lines) changes.push_back(stages_[i].name + ": " + line);
  }
  if (apply) exchange(next, changed);
  return changes;
}

/// Exchanges all of the stages or, if one fails, undoes the exchanges. Only a limit or a lack of memory can make an
/// exchange fail, and the previous state fitted.
void Pipeline::exchange(Pipeline& next, std::span<const std::size_t> stages) {
  std::size_t done = 0;
  const auto exchange_stage = [&](std::size_t i) {
    stages_[stages[i]].function->exchange(*next.stages_[stages[i]].function);
  };
  try {
    for (; done < stages.size(); ++done) exchange_stage(done);
  } catch (...) {
    while (done > 0) exchange_stage(--done);
    throw;
  }
}

std::uint32_t Pipeline::most_held() const {
  std::size_t most = 0;
  for (const auto& stage : stages_) most += stage.function->most_held();
  return static_cast<std::uint32_t>(most);
}

void Pipeline::check_punts(const control::PuntLimits& limits) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < reasons_.size(); ++i) {
    const auto index = static_cast<std::uint16_t>(i);
    if (reasons_[i].reason.kind == Verdict::Kind::punt) names.push_back(reason_name(index));
  }
  for (const auto& own : limits.own) {
    if (std::ranges::find(names, own.reason) != names.end()) continue;
    throw InputError(own.location, fmt::format("nothing is punted for the reason {}; {}", quote(own.reason),
                                               did_you_mean_or_list(own.reason, names)));
  }
}

void Pipeline::bind(std::span<const PortInfo> ports) {
  for (auto& stage : stages_) stage.function->bind(ports);
  ports_.assign(ports.begin(), ports.end());
}

void Pipeline::rebind(std::span<const PortInfo> ports) {
  std::vector<PortInfo> bound(ports.begin(), ports.end());
  std::size_t done = 0;
  try {
    for (; done < stages_.size(); ++done) stages_[done].function->rebind(ports);
  } catch (...) {
    while (done > 0) stages_[--done].function->rebind(ports_);
    throw;
  }
  ports_ = std::move(bound);
}

void Pipeline::link_down(std::uint16_t port) {
  for (auto& stage : stages_) stage.function->link_down(port);
}

Pipeline::Queues Pipeline::open_queues(unsigned core) {
  packet_memory_.register_new();
  Queues queues(stages_.size());
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    for (const auto& shader : stages_[i].shaders) {
      EngineQueue& queue = *queues[i].emplace_back(shader.engine->open_queue_for(core));
      if (!shader.shader->has_payload()) continue;
      for (auto& memory : packet_memory_.all()) queue.share(std::move(memory));
    }
  }
  return queues;
}

template <class Use>
void Pipeline::each_engine(Use use) const {
  for (const auto& [choice, engine] : engines_) {
    for (const auto& [name, member] : engine->members()) use(name, *member);
    use(engine_name(choice), *engine);
  }
}

std::map<std::string, std::vector<EngineCalibration>> Pipeline::calibrations() const {
  std::map<std::string, std::vector<EngineCalibration>> all;
  each_engine([&](const std::string& name, const Engine& engine) {
    const auto conditions = calibration_key_.find(&engine);
    if (conditions == calibration_key_.end()) return;
    for (EngineCalibration& each : engine.calibrations()) {
      each.calibration_key = conditions->second;
      all[name].push_back(std::move(each));
    }
  });
  return all;
}

void Pipeline::load_calibrations(const std::map<std::string, std::vector<EngineCalibration>>& calibrations) {
  each_engine([&](const std::string& name, Engine& engine) {
    const std::string& conditions = calibration_key_[&engine] = engine.calibration_key();
    const auto found = calibrations.find(name);
    std::vector<EngineCalibration> its = found != calibrations.end() ? found->second : std::vector<EngineCalibration>();
    std::erase_if(its, [&conditions](const auto& each) { return each.calibration_key != conditions; });
    engine.load_calibrations(std::move(its));
  });
}

SparePipeline::SparePipeline(const control::RouterConfig& config)
    : feed_(std::make_unique<control::netlink::NetlinkFeed>(twins(config.ports), config.fpm, nullptr)),
      pipeline_(config.pipeline, port_infos(config.ports), no_readers_, feed_.get(),
                static_cast<std::uint16_t>(config.cores.size())) {
  pipeline_.check_punts(config.punts);
}

std::vector<std::string> check_pipeline(const control::RouterConfig& config) {
  return SparePipeline(config).pipeline().warnings();
}

}  // namespace penumbra::runtime
