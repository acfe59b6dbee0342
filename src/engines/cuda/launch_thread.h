// SPDX-License-Identifier: Apache-2.0
//
// The single thread that talks to a GPU (PacketShader, section 5.1). Workers put batches into its inbox. As soon as a
// stream is free, it launches the waiting batches, several at once (section 5.4). Batches therefore wait only for the
// GPU, and a busier GPU gets more batches per launch. The thread never touches columns; it passes addresses.
//
// After a GPU failure the unanswered batches return to their workers, which run them on the CPU, as they do with later
// batches. The launch thread tries to open the device again every second, unless the failure is final.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/doorbell.h"
#include "base/file_descriptor.h"
#include "cuda/device.h"
#include "cuda/inbox.h"
#include "cuda/launch_plan.h"
#include "cuda/staging.h"
#include "cuda/stream_ends.h"
#include "cuda/table_copies.h"
#include "offload/device_owner.h"

namespace penumbra::cuda {

struct LaunchOptions {
  PlanConstraints constraints = {};
  std::chrono::microseconds max_delay{0};       ///< Time for which a batch may wait for others to share its launch.
  std::chrono::milliseconds patience{2000};     ///< Time limit of a launch, after which the GPU counts as failed.
  std::chrono::milliseconds retry_after{1000};  ///< Time from a failure to the next attempt to open the device.
};

/// The plan for a shader on a table, measured in this run or an earlier one.
struct Choice {
  const Shader* shader = nullptr;
  const Table* table = nullptr;
  unsigned size_class = table == nullptr ? 0 : table->size_class();  ///< Table::size_class() at the time of measuring.
  LaunchPlan plan;
  double gain = 0;  ///< Speed relative to launching copied batches one after the other.
  bool is_loaded = false;
};

class LaunchThread final : public offload::DeviceOwner {
 public:
  LaunchThread(std::function<std::unique_ptr<Device>(unsigned streams)> open, LaunchOptions options);
  /// No staging memory may be left.
  ~LaunchThread() override;
  /// Ends the thread and releases the GPU and all tables.
  using DeviceThread::stop;

  // Call the following functions on any thread, while no batch in flight concerns the objects that are added or
  // removed. Each function waits for the launch thread.

  /// Lets `wakeup` signal the end of jobs that are in flight.
  void wake_by(offload::Wakeup& wakeup, std::span<Job* const> jobs);

  /// Measures the best plan for the shader on the table, on random columns. Does nothing without a GPU.
  void calibrate(const Shader& shader, const Table& table);
  /// Uses the given plan.
  void use_plan(const Choice& choice);
  std::vector<Choice> choices() const;

  // The workers call the following functions.

  /// True if the GPU works.
  bool accepts() const noexcept { return accepts_.load(std::memory_order_relaxed); }
  /// Takes a job whose inputs are in place; returns false if there is no room. Job::state changes later.
  bool submit(Job& job) noexcept;
  /// Counts a batch, or a part of a batch, that came back because of a device failure.
  void count_given_up() noexcept { given_up_.fetch_add(1, std::memory_order_relaxed); }

  /// Returns the state and statistics, one line each. May be called on any thread.
  std::vector<std::string> notes() const;

 private:
  struct Waiting {
    Job* job = nullptr;
    std::uint64_t state = 0;  ///< Table state that the job must see.
    Clock::time_point since;  ///< Arrival time; set only if there is a max_delay.
  };
  /// Jobs that a launch can gather.
  struct Group {
    const Shader* shader = nullptr;
    TableCopies* table = nullptr;
    LaunchPlan plan;
    unsigned flying = 0;           ///< Launches in flight.
    std::size_t item_bytes = 0;    ///< Bytes per item of the columns, in the larger direction.
    std::size_t least_copied = 0;  ///< Least bytes of a copied run, for Access::by_length.
    std::vector<Waiting> ring;
    std::size_t head = 0, tail = 0;  ///< Positions that only grow.
    std::uint64_t items = 0;         ///< Sum over the jobs in the ring.
    std::size_t hurried = 0;         ///< Jobs in the ring that are hurried.
    bool is_waited_for = false;      ///< True if finish() has found a launch of the group that has not ended.
    Waiting& at(std::size_t position) { return ring[position % ring.size()]; }
  };
  /// A stream and its jobs in flight.
  struct Stream {
    std::vector<Job*> jobs;
    Group* group = nullptr;
    unsigned copy = 0;
    Clock::time_point since;
  };

  bool turn() override;
  bool has_nothing_to_do() const override;
  std::shared_ptr<Device> open_device() override { return open_(copy_stream() + 1); }
  void begin_work() override { accepts_.store(true, std::memory_order_relaxed); }
  void quieten() override { wait_for_the_end(*memory_, copy_stream(), flying_, options_.patience); }
  void stop_work() noexcept override;
  std::vector<unsigned> busy_streams() const override;
  unsigned copy_stream() const override {
    return static_cast<unsigned>(streams_.size());
  }  ///< After those of launches.
  void wait_for_answers() noexcept override;
  void end_work() noexcept override;

  bool finish();
  bool take();
  bool launch();
  bool launch(Group& group, unsigned index);
  bool has_ended(unsigned index);
  static void land(Stream& stream);
  void put_into_group(Job& job, Clock::time_point now);
  bool is_ripe(Group& group) const;
  struct Sample;
  bool wait_for_table(TableCopies& table);
  void choose_plan(Group& group, Sample& sample);
  double cost(Group& group, Sample& sample, const LaunchPlan& plan);
  void add_choice(const Choice& choice);
  void send(Stream& stream, unsigned index);
  bool is_copied(Stream& stream) const;
  template <class Copy>
  static void for_each_run(const std::vector<Job*>& jobs, Places Job::* direction,
                           std::vector<std::size_t> Shader::* element_bytes, const Copy& copy);
  static void fill(Segment& segment, const Job& job, bool is_mapped) noexcept;
  static bool is_reached(const Job& job) noexcept;
  Group* group_of(const Shader& shader, const Table& table);
  static void give_back(Job& job, Job::State state) noexcept;
  static void give_back(Stream& stream, Job::State state) noexcept;

  const std::function<std::unique_ptr<Device>(unsigned)> open_;
  const LaunchOptions options_;

  Inbox<Job> inbox_;
  std::atomic<bool> accepts_{false};

  // Used on the launch thread only.
  std::vector<Stream> streams_;
  std::vector<std::unique_ptr<Group>> groups_;
  Group* last_group_ = nullptr;
  std::size_t waiting_ = 0;       ///< Jobs in groups.
  std::vector<unsigned> flying_;  ///< Streams with a whole launch in flight, oldest first.
  std::size_t next_group_ = 0;
  std::array<Segment, kMostSegments> segments_;
  bool is_calibrating_ = false;

  std::atomic<std::uint64_t> launches_{0}, batches_{0}, given_up_{0};
  std::vector<Choice> choices_;  ///< Guarded by words_mutex_.
};

}  // namespace penumbra::cuda
