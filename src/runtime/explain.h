// SPDX-License-Identifier: Apache-2.0
//
// `explain`: what the router would do with a frame, and why, without doing it.
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

/// A port of the router as it is when a frame is explained. Its place in a list is its index.
struct ExplainedPort {
  PortInfo info;
  std::string twin;        ///< empty: it has none
  bool has_device = true;  ///< false: packets sent to it are dropped as port_gone
};

/// Takes single frames through the functions as dry runs (Chunk::is_dry_run): nothing is counted, learned or sent.
class Explainer {
 public:
  /// Runs its argument while tables stay readable for it (a reader of their grace periods).
  using Reading = std::function<void(const std::function<void()>& action)>;

  /// `pipeline` outlives it.
  Explainer(const Pipeline& pipeline, Reading reading);
  Explainer(const Explainer&) = delete;
  Explainer& operator=(const Explainer&) = delete;
  ~Explainer();

  /// Explains a frame received on a port. `arguments` are the words of a header (frame_words.h), or "--hex" and the
  /// frame's bytes in hexadecimal. docs/control-protocol.md describes the answer. Throws std::invalid_argument with
  /// what is wrong, and std::runtime_error if there is no memory. The EAL must run. By one thread at a time, the one
  /// that asks functions to show.
  nlohmann::ordered_json command(std::span<const ExplainedPort> ports, std::string_view port,
                                 std::span<const std::string> arguments);

 private:
  struct Packets;  ///< a chunk of one packet
  nlohmann::ordered_json explain(Packets& packets);
  nlohmann::ordered_json explain_stage(Packets& packets, const Stage& stage);
  void note_outputs(Packets& packets) const;

  struct CpuEngine {
    std::unique_ptr<Engine> engine;
    const Shader* shader = nullptr;
    std::unique_ptr<EngineQueue> queue;
  };
  /// An engine of the explainer's own: the stage's may be an accelerator, whose queues are the workers'.
  CpuEngine& cpu_engine_for(const std::string& shader);

  const Pipeline& pipeline_;
  std::span<const ExplainedPort> ports_;  ///< of the command that runs
  const Reading reading_;
  io::PacketPool pool_;                       ///< null until the first frame
  std::map<std::string, CpuEngine> engines_;  ///< by shader
};

/// Explains a frame by a configuration without a running router: routes that are followed are not known. Throws as
/// Explainer::command() and SparePipeline do.
nlohmann::ordered_json explain_offline(const control::RouterConfig& config, std::string_view port,
                                       std::span<const std::string> arguments);

}  // namespace penumbra::runtime
