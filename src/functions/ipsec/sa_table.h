// SPDX-License-Identifier: Apache-2.0
//
// Owns the SAs, policies and keys of the function, and publishes them to the workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "control/xfrm/keys.h"
#include "control/xfrm/migration.h"
#include "control/xfrm/spd.h"
#include "crypto/jobs/cipher_keys.h"
#include "functions/ipsec/snapshot.h"
#include "penumbra/table.h"

namespace penumbra::ipsec {

/// One thread at a time makes changes, and holds lock() meanwhile. Workers call current().
class SaTable {
 public:
  /// Has room for `most` SAs.
  SaTable(std::size_t most, GracePeriods& readers);
  SaTable(const SaTable&) = delete;
  SaTable& operator=(const SaTable&) = delete;
  ~SaTable() = default;

  const Snapshot& current() const { return *current_.load(std::memory_order_acquire); }
  std::unique_lock<std::mutex> lock() const { return std::unique_lock(mutex_); }
  Table& keys() { return keys_.table(); }
  control::xfrm::KeyStore& store() { return store_; }

  /// Adds an SA whose keys are in store(), in place of one of its id. Sequence numbers and window of an SA with the
  /// same key continue, and its counters if the time of addition is the same. Throws std::length_error if there is no
  /// room.
  void put(control::xfrm::Sa&& sa);
  void remove(const control::xfrm::SaId& id);
  /// Moves SAs and the templates of a policy to other addresses. Windows and counters of the SAs continue. Everything
  /// moves, or nothing and this throws.
  void migrate(const control::xfrm::Migration& migration);
  /// Adds a policy in place of one of its selector, direction, mark and interface.
  void put(control::xfrm::Policy policy);
  /// Removes the policy of an index, or of a key if the index is 0.
  void remove(std::uint32_t index, const control::xfrm::PolicyKey& key);
  void set_defaults(const Defaults& defaults);
  void remove_sas();
  void remove_policies();
  /// Removes the policies of a type (XFRM_POLICY_TYPE_MAIN or XFRM_POLICY_TYPE_SUB).
  void remove_policies(std::uint8_t type);
  /// Sets what is known of each port.
  void set_ports(std::vector<PortEnd> ports);
  /// Publishes the changes. Without policies, or with `knows_policies` false, traffic is dropped.
  void commit(bool knows_policies);
  bool has_changes() const { return has_changes_; }
  /// Frees what no worker can use any more.
  void free_retired(bool wait);

  DataSa* find(const control::xfrm::SaId& id);
  DataSa* find(std::uint64_t number);
  /// True if a newer SA between the same ends waits for its first sequence numbers.
  bool has_waiting_successor(const DataSa& sa) const;
  const control::xfrm::Spd& policies() const { return spd_; }
  const std::map<control::xfrm::SaId, std::shared_ptr<DataSa>>& sas() const { return sas_; }

 private:
  struct Retired {
    std::uint64_t token = 0;
    std::unique_ptr<const Snapshot> snapshot;
  };

  /// Returns an SA that continues `before`, which has the same key, or a new one if that is null. Throws
  /// std::length_error if there is no room for the key of a new one.
  std::shared_ptr<DataSa> make(control::xfrm::Sa&& sa, const DataSa* before);
  /// Adds what make() returned, in place of an SA of its id. The key of `before` is now the key of the added one.
  void place(std::shared_ptr<DataSa> made, DataSa* before);
  std::vector<PolicyEntry> entries(control::xfrm::Direction direction) const;

  mutable std::mutex mutex_;
  GracePeriods& readers_;
  control::xfrm::KeyStore store_;
  CipherKeys keys_;
  std::map<control::xfrm::SaId, std::shared_ptr<DataSa>> sas_;
  std::map<std::uint64_t, DataSa*> by_number_;
  control::xfrm::Spd spd_;
  std::vector<PortEnd> ports_;  ///< By index.
  Defaults defaults_;
  std::vector<std::shared_ptr<DataSa>> removed_;  ///< Since the last commit().
  std::uint64_t last_number_ = 0, generation_ = 0;
  bool has_changes_ = false;
  std::unique_ptr<const Snapshot> snapshot_;
  std::atomic<const Snapshot*> current_;
  std::vector<Retired> retired_;
};

}  // namespace penumbra::ipsec
