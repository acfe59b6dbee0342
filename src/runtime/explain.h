// SPDX-License-Identifier: Apache-2.0
//
// Implements `explain`: reports the router's treatment of a frame, and the reasons, without forwarding it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/packet_pool.h"
#include "runtime/pipeline.h"

namespace penumbra::runtime {

/// Describes a port of the router at the time of the explanation. Its position in a list is its index.
struct ExplainedPort {
  PortInfo info;
  std::string twin;        ///< Empty: the port has no twin.
  bool has_device = true;  ///< False: packets sent to the port are dropped as port_gone.
};

/// Passes single frames through the functions as dry runs (Chunk::is_dry_run), which count, learn and send nothing.
class Explainer {
 public:
  /// Calls its argument as a reader of the tables' grace periods, so that tables stay readable during the call.
  using Reading = std::function<void(const std::function<void()>& action)>;

  /// `pipeline` must outlive the explainer.
  Explainer(const Pipeline& pipeline, Reading reading);
  Explainer(const Explainer&) = delete;
  Explainer& operator=(const Explainer&) = delete;
  ~Explainer();

  /// Explains a frame received on a port. `arguments` are the words of a header (frame_words.h), or "--hex" and the
  /// frame's bytes in hexadecimal. docs/control-protocol.md describes the answer. The EAL must run. Callers must hold
  /// the lock that guards the functions' show(). Throws std::invalid_argument with the fault, and std::runtime_error if
  /// there is no memory.
  nlohmann::ordered_json command(std::span<const ExplainedPort> ports, std::string_view port,
                                 std::span<const std::string> arguments);

 private:
  struct Packets;  ///< A chunk of one packet.
  nlohmann::ordered_json explain(Packets& packets);
  nlohmann::ordered_json explain_stage(Packets& packets, const Stage& stage);
  void note_outputs(Packets& packets) const;
  void run_job(Chunk& chunk, const StageShader& shader);
  /// Returns the stage's data half of dry runs.
  FunctionWorker& data_half(std::size_t stage);

  struct CpuEngine {
    std::unique_ptr<Engine> engine;
    const Shader* shader = nullptr;
    std::unique_ptr<EngineQueue> queue;
  };
  /// Returns an engine of the explainer's own. The stage's engine may be an accelerator, whose queues belong to the
  /// workers.
  CpuEngine& cpu_engine_for(const std::string& shader);

  const Pipeline& pipeline_;
  std::span<const ExplainedPort> ports_;  ///< Ports of the current command.
  const Reading reading_;
  io::PacketPool pool_;                                     ///< Null until the first frame.
  std::map<std::string, CpuEngine> engines_;                ///< By shader.
  std::vector<std::unique_ptr<FunctionWorker>> functions_;  ///< Data halves by stage; null until used.
};

/// Explains a frame for a configuration without a running router. Followed routes are unknown. Throws like
/// Explainer::command() and SparePipeline.
nlohmann::ordered_json explain_offline(const control::RouterConfig& config, std::string_view port,
                                       std::span<const std::string> arguments);

}  // namespace penumbra::runtime
