// SPDX-License-Identifier: Apache-2.0
//
// The one thread that talks to the GPU (PacketShader, section 5.1). Workers put batches into its inbox; it launches
// what there is, several batches at once (section 5.4), as soon as one of its streams is free: so batches wait for
// nothing but the GPU, and the busier it is the more of them a launch gathers. It touches no column: it names places.
//
// When the GPU fails, the batches that it has not answered go back to their workers, who run them on the CPU; so do all
// later ones, until the launch_thread has set the device up anew. It tries every second, unless the failure is final.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/doorbell.h"
#include "base/file_descriptor.h"
#include "cuda/device.h"
#include "cuda/device_thread.h"
#include "cuda/inbox.h"
#include "cuda/launch_plan.h"
#include "cuda/quiet_memory.h"
#include "cuda/staging.h"
#include "cuda/table_copies.h"

namespace penumbra::cuda {

struct LaunchOptions {
  PlanConstraints constraints = {};
  std::chrono::microseconds max_delay{0};       ///< for which a batch may wait for others to share its launch
  std::chrono::milliseconds patience{2000};     ///< with a launch, until the GPU counts as lost
  std::chrono::milliseconds retry_after{1000};  ///< since it was lost
};

/// The plan for a shader on a table that was measured, now or in an earlier run.
struct Choice {
  const Shader* shader = nullptr;
  const Table* table = nullptr;
  unsigned size_class = table == nullptr ? 0 : table->size_class();  ///< of the table, when that was measured
  LaunchPlan plan;
  double gain = 0;  ///< how many times as fast that is as one copied batch after the other
  bool is_loaded = false;
};

class LaunchThread final : public DeviceThread {
 public:
  LaunchThread(std::function<std::unique_ptr<Device>(unsigned streams)> open, LaunchOptions options);
  /// No staging memory may be left.
  ~LaunchThread() override;
  /// Ends its thread, and lets go of the GPU and of all tables.
  using DeviceThread::stop;

  // Any thread, while nothing is in flight that concerns what is added or removed. They wait for the launch_thread.

  /// Lets the GPU reach host memory, which stays there until nobody needs it any more: as often unshared as shared. If
  /// the GPU has no room for as much, and `is_needed`, it counts as lost.
  std::shared_ptr<SharedMemory> share(std::shared_ptr<const HugeMemory> host, bool is_needed);
  void unshare(const SharedMemory& memory);
  /// A mirror of a table, which rings doorbell().
  void add(TableCopies& table);

  /// Measures which plan is best for the shader on the table, on random columns; nothing if the GPU is not there.
  void calibrate(const Shader& shader, const Table& table);
  /// Goes by this one.
  void use_plan(const Choice& choice);
  std::vector<Choice> choices() const;

  // Workers.

  /// Whether the GPU is there.
  bool accepts() const noexcept { return accepts_.load(std::memory_order_relaxed); }
  /// Takes a job with its inputs in place, or gives false: there is no room. Some time later its state says more.
  bool submit(Job& job) noexcept;
  /// Of a batch that came back, or a piece of it, because the GPU was lost.
  void count_given_up() noexcept { given_up_.fetch_add(1, std::memory_order_relaxed); }

  Doorbell& doorbell() { return doorbell_; }
  /// What it works on and what it has done, a line each. Any thread.
  std::vector<std::string> notes() const;
  /// Of the GPU that was opened last; empty: none was.
  std::string device_name() const;

 private:
  struct Waiting {
    Job* job = nullptr;
    std::uint64_t state = 0;  ///< of the table: what the job has to see
    Clock::time_point since;  ///< it came; only if there is a max_delay
  };
  /// Jobs that one launch can gather.
  struct Group {
    const Shader* shader = nullptr;
    TableCopies* table = nullptr;
    LaunchPlan plan;
    unsigned flying = 0;           ///< launches
    std::size_t item_bytes = 0;    ///< of the columns of the direction that has more
    std::size_t least_copied = 0;  ///< bytes of a run from which on it is copied, where that goes by length
    std::vector<Waiting> ring;
    std::size_t head = 0, tail = 0;  ///< these count on for ever
    std::uint64_t items = 0;         ///< of all jobs in the ring
    std::size_t hurried = 0;         ///< of these jobs
    bool is_waited_for = false;      ///< finish() has found a launch of it that has not ended
    Waiting& at(std::size_t position) { return ring[position % ring.size()]; }
  };
  /// A stream, and what is in flight on it.
  struct Lane {
    std::vector<Job*> jobs;
    Group* group = nullptr;
    unsigned copy = 0;
    Clock::time_point since;
  };

  void open() override;
  bool turn() override;
  bool has_nothing_to_do() const override;
  void lose(const DeviceError& error) override;
  void close() override;

  bool advance_tables();
  bool finish();
  bool take();
  bool launch();
  bool launch(Group& group, unsigned lane);
  bool has_ended(unsigned lane);
  static void land(Lane& lane);
  void put_into_group(Job& job, Clock::time_point now);
  bool is_ripe(Group& group) const;
  struct Sample;
  bool wait_for_table(TableCopies& table);
  void choose_plan(Group& group, Sample& sample);
  double cost(Group& group, Sample& sample, const LaunchPlan& plan);
  void add_choice(const Choice& choice);
  void send(Lane& lane, unsigned stream);
  bool is_copied(Lane& lane) const;
  template <class Copy>
  static void for_each_run(const std::vector<Job*>& jobs, Places Job::* direction,
                           std::vector<std::size_t> Shader::* element_bytes, const Copy& copy);
  static void fill(Segment& segment, const Job& job, bool is_mapped) noexcept;
  static bool is_reached(const Job& job) noexcept;
  Group* group_of(const Shader& shader, const Table& table);
  unsigned copy_stream() const { return static_cast<unsigned>(lanes_.size()); }  ///< behind those of launches
  void reach(SharedMemory& memory);
  void let_go(SharedMemory& memory) noexcept;
  static void give_back(Job& job, Job::State state) noexcept { job.state.store(state, std::memory_order_release); }
  static void give_back(Lane& lane, Job::State state) noexcept;
  void give_back_what_waits() noexcept;
  std::vector<unsigned> busy_lanes() const;
  void wait_for_the_end();
  void wait_for_launches() noexcept;

  const std::function<std::unique_ptr<Device>(unsigned)> open_;
  const LaunchOptions options_;

  Inbox<Job> inbox_;
  std::atomic<bool> accepts_{false};

  // The launch_thread's own.
  std::unique_ptr<Device> device_;
  std::unique_ptr<QuietMemory> memory_;  ///< the device's
  std::vector<std::shared_ptr<SharedMemory>> memories_;
  std::vector<TableCopies*> tables_;
  std::vector<Lane> lanes_;
  std::vector<std::unique_ptr<Group>> groups_;
  Group* last_group_ = nullptr;
  std::size_t waiting_ = 0;       ///< jobs in groups
  std::vector<unsigned> flying_;  ///< lanes in flight, oldest first; all of their work is with their streams
  std::size_t next_group_ = 0;
  std::array<Segment, kMostSegments> segments_;
  bool is_final_ = false, is_calibrating_ = false;
  Clock::time_point retry_at_;

  std::atomic<std::uint64_t> launches_{0}, batches_{0}, given_up_{0};
  mutable std::mutex words_mutex_;
  std::string name_, failure_;
  std::vector<Choice> choices_;
};

}  // namespace penumbra::cuda
