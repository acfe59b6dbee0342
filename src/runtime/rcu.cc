// SPDX-License-Identifier: Apache-2.0
#include "runtime/rcu.h"

#include <new>
#include <stdexcept>

namespace penumbra::runtime {
namespace {

constexpr std::align_val_t kAlignment{RTE_CACHE_LINE_SIZE};

}  // namespace

void QsbrGracePeriods::Free::operator()(rte_rcu_qsbr* qsbr) const {
  ::operator delete(qsbr, kAlignment);
}

QsbrGracePeriods::QsbrGracePeriods(std::uint32_t readers)
    : qsbr_(static_cast<rte_rcu_qsbr*>(::operator new(rte_rcu_qsbr_get_memsize(readers), kAlignment))) {
  if (rte_rcu_qsbr_init(qsbr_.get(), readers) != 0) throw std::runtime_error("cannot set up RCU");
}

QsbrGracePeriods::Reader::Reader(QsbrGracePeriods& periods, std::uint32_t reader)
    : qsbr_(periods.qsbr_.get()), reader_(reader) {
  if (rte_rcu_qsbr_thread_register(qsbr_, reader_) != 0) throw std::runtime_error("cannot register with RCU");
  rte_rcu_qsbr_thread_online(qsbr_, reader_);
}

QsbrGracePeriods::Reader::~Reader() {
  rte_rcu_qsbr_thread_offline(qsbr_, reader_);
  rte_rcu_qsbr_thread_unregister(qsbr_, reader_);
}

}  // namespace penumbra::runtime
