// SPDX-License-Identifier: Apache-2.0
//
// Implements grace periods over DPDK's quiescent-state RCU (rte_rcu_qsbr). Workers report when they hold no reference
// into a table; owners of tables learn when no worker holds one.
#pragma once

#include <rte_rcu_qsbr.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "penumbra/table.h"

namespace penumbra::runtime {

/// Tracks registered readers. Works without the EAL. With no reader online a period elapses at once.
class QsbrGracePeriods final : public GracePeriods {
 public:
  /// Creates grace periods for at most `readers` readers. Throws std::runtime_error if DPDK refuses.
  explicit QsbrGracePeriods(std::uint32_t readers);

  std::uint64_t start() override { return rte_rcu_qsbr_start(qsbr_.get()); }
  bool elapsed(std::uint64_t token, bool wait) override { return rte_rcu_qsbr_check(qsbr_.get(), token, wait) == 1; }

  /// Registers a reader for the lifetime of the object. The reader's thread creates and uses it. `reader` is a unique
  /// number below that given to the constructor.
  class Reader {
   public:
    Reader(QsbrGracePeriods& periods, std::uint32_t reader);
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader();

    /// Reports that the reader holds no reference into any table.
    void quiescent() noexcept { rte_rcu_qsbr_quiescent(qsbr_, reader_); }
    /// From offline() to online() the reader holds no reference into any table, and no period waits for it.
    void offline() noexcept { rte_rcu_qsbr_thread_offline(qsbr_, reader_); }
    void online() noexcept { rte_rcu_qsbr_thread_online(qsbr_, reader_); }

   private:
    rte_rcu_qsbr* qsbr_;
    std::uint32_t reader_;
  };

 private:
  struct Free {
    void operator()(rte_rcu_qsbr* qsbr) const;
  };
  std::unique_ptr<rte_rcu_qsbr, Free> qsbr_;
};

}  // namespace penumbra::runtime
