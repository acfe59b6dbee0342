// SPDX-License-Identifier: Apache-2.0
//
// The thread of the function: it lends sequence numbers, watches limits, and follows the keeper.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "functions/ipsec/events.h"
#include "functions/ipsec/keeper_client.h"
#include "functions/ipsec/lender.h"
#include "functions/ipsec/sa_table.h"
#include "functions/ipsec/settings.h"

namespace penumbra::ipsec {

/// The part of `show ipsec` that the agent knows.
struct AgentState {
  bool is_connected = false, knows_policies = false;
  std::uint64_t connections = 0, blocks = 0, blocks_refused = 0, acquires = 0, mappings = 0;
  std::uint64_t acquires_limited = 0, mappings_limited = 0;  ///< Packets whose report had to wait.
  std::string problem;                                       ///< Why no sequence numbers can be lent, or empty.
};

class Agent {
 public:
  Agent(const Settings& settings, SaTable& table, std::size_t workers);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  /// Ends the thread, and reports what was not reported yet.
  ~Agent();

  /// Starts the thread unless it runs. When this returns, SAs of files have sequence numbers. Any thread.
  void start();
  /// Replaces all SAs and policies by those of files, and publishes them. SAs that stay keep their state.
  void load(const Files& files);
  /// Sets what is known of each port.
  void set_ports(std::vector<PortEnd> ports);

  EventRing& ring(std::size_t worker) { return *rings_[worker]; }
  AgentState state() const;

 private:
  void run(const std::stop_token& stop);
  void turn(std::uint64_t now_ms);
  void drain(std::uint64_t now_ms);
  void commit();
  void lend_to_all();
  /// Asks for a block for an SA, which finish_lending() adds or requests.
  void lend(DataSa& sa);
  void finish_lending();
  void tick(std::uint64_t now_ms);
  void acquire(const Event& event);
  /// Reports a peer's new address, or remembers it for tick() if one was reported within the last second.
  void remap(DataSa& sa, const Flow& from, std::uint64_t now_ms);
  void report_mapping(DataSa& sa, const Flow& from, std::uint64_t now_ms);

  const Settings settings_;
  SaTable& table_;
  std::vector<std::unique_ptr<EventRing>> rings_;
  std::unique_ptr<KeeperClient> keeper_;  ///< Or null with files.
  std::unique_ptr<FileLender> lender_;
  std::string problem_;
  bool was_known_ = false;
  std::uint64_t next_tick_ms_ = 0, next_commit_ms_ = 0;
  std::uint32_t acquires_left_ = 0;                               ///< Until the next tick().
  std::unordered_map<std::uint32_t, std::uint32_t> acquires_of_;  ///< Since the last tick(), by policy.
  std::uint64_t acquires_ = 0, acquires_limited_ = 0, mappings_ = 0, mappings_limited_ = 0;
  std::once_flag started_;
  std::jthread thread_;
};

}  // namespace penumbra::ipsec
