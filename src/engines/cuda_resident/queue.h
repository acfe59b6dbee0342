// SPDX-License-Identifier: Apache-2.0
//
// A worker's queue into the resident kernel. The worker writes a batch into one of its slots, and later finds the
// results there, in the order of submission. A batch that does not fit into a slot is cut into parts, each for its own
// group. The slot then names the addresses of its columns, in shared memory or in the row's staging memory. The worker
// runs on the CPU, in order, the batches that the GPU cannot run. The GPU may be absent, have failed, or lack a state
// of the table.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cuda/staging.h"
#include "cuda_resident/free_slots.h"
#include "cuda_resident/numbered_block_lines.h"
#include "cuda_resident/resident_thread.h"
#include "cuda_resident/slots.h"
#include "offload/payload.h"
#include "offload/shared_list.h"
#include "penumbra/engine.h"

namespace penumbra::cuda_resident {

class ResidentQueue final : public EngineQueue {
 public:
  /// Least items of a part, so that a group has enough work for each of its round trips over the bus.
  static constexpr std::uint32_t kLeastPart = 2048;
  /// Most positions, of 8 bytes each, that fit into a slot.
  static constexpr std::size_t kMostPositions = std::size_t{kSlotPieces} * kBlockBytes / sizeof(std::uint64_t);

  /// `row` comes from `thread`; `cpu` must be a synchronous engine.
  ResidentQueue(ResidentThread& thread, std::shared_ptr<SlotRow> row, const Engine& cpu,
                std::unique_ptr<EngineQueue> cpu_queue);
  /// Waits for the batches in flight.
  ~ResidentQueue() override;

  Submitted submit(Batch& batch) noexcept override;
  Batch* poll() noexcept override;
  int wake_descriptor() override;
  void share(std::shared_ptr<const HugeMemory> memory) override;
  void unshare(const HugeMemory& memory) override;

 private:
  enum class Place : std::uint8_t { slot, elsewhere, cpu };
  /// A range of the staging memory; empty if `bytes` is 0.
  struct Staged {
    std::size_t begin = 0, bytes = 0;
  };
  /// The staging memory of a batch: its columns, if they are staged, followed by its payload, if that is staged.
  struct Places {
    Staged inputs, outputs;
    std::size_t input_columns = 0, output_columns = 0;  ///< Bytes of the columns.
    bool has_source = false, has_destination = false;   ///< True if the payload is staged.
  };
  /// A batch in flight or a part of one.
  struct Part {
    Batch* batch = nullptr;
    std::uint32_t first = 0, items = 0;
    std::uint32_t slot = 0;  ///< Not used for Place::cpu.
    Place place = Place::cpu;
    bool is_last = false;
    Places places;  ///< Of the whole batch.
  };
  /// Device addresses of the columns, from the batch's first item on: inputs, then outputs.
  using Addresses = std::array<std::byte*, 2 * kMaxColumns>;
  /// Properties of the present batches' shader.
  struct Known {
    const Shader* shader = nullptr;
    std::uint8_t index = 0;
    std::uint32_t head_blocks = 0;
    std::size_t bases_bytes = 0, view_bytes = 0;  ///< Of the payload's base addresses, and with those of the view.
    std::uint32_t items = 0, input_blocks = 0, output_blocks = 0;  ///< Sizes of the last batch.
    std::size_t columns = 0;
    std::array<std::size_t, 2 * kMaxColumns> element_bytes{};  ///< In the order of Addresses.
  };

  /// Returns the position after `at` in parts_.
  std::uint32_t behind(std::uint32_t at) const noexcept { return at + 1 == count_ ? 0 : at + 1; }
  /// Prefetch distance for result lines, in parts: in_flight / kAheadOfInFlight, clamped to [kLeastAhead, kMostAhead].
  /// A line that the GPU wrote takes about 400 ns to arrive on a machine with busy caches. A line that is prefetched
  /// too early has not been written yet. A router's worker has at most 16 chunks in flight and uses the least distance.
  /// The values are measured with 1 to 144 batches in flight (E18).
  static constexpr std::uint32_t kAheadOfInFlight = 8, kLeastAhead = 4, kMostAhead = 12;
  /// Prefetch distance for a slot's input lines if no slot is set aside, for any number in flight; at most kLeastAhead.
  /// The value is measured with 144 batches in flight (E18).
  static constexpr std::uint32_t kInputsAhead = 2;
  static_assert(kInputsAhead <= kLeastAhead, "as many parts are known to be there");
  /// Batches in flight from which a group reads only the slot's first block while it waits. The slot's next batch is
  /// then microseconds away, and polling all blocks with that many groups slows the core that writes them. The value is
  /// measured with 72 and 144 batches in flight (E18).
  static constexpr std::uint32_t kMany = 120;
  std::uint32_t parts_ahead() const noexcept {
    return std::clamp(in_flight_ / kAheadOfInFlight, kLeastAhead, kMostAhead);
  }
  /// Returns the part `ahead` places after the oldest one; there must be that many.
  const Part& part_ahead(std::uint32_t ahead) const noexcept {
    const std::uint32_t at = head_ + ahead;
    return parts_[at < count_ ? at : at - count_];
  }
  Part& next_part() noexcept;
  /// True if freed slots are set aside before reuse, which leaves time to prefetch their lines.
  bool slots_lie_aside() const noexcept { return count_ - in_flight_ >= FreeSlots::kAside; }
  /// Returns the blocks of the next batch if it is like the last one and fits into a slot.
  std::uint32_t blocks_of_next() const noexcept { return 1 + std::min(known_.input_blocks, kSlotPieces - 1); }
  void know(const Shader& shader) noexcept;
  void know_size(std::uint32_t items) noexcept;
  bool is_served() noexcept;
  bool take_copy() noexcept;
  bool has_view(std::uint32_t slot) const noexcept { return view_numbers_[slot] == view_number_; }
  std::uint32_t begin(std::uint32_t slot) noexcept;
  NumberedBlock* pack_behind_first_line(std::uint32_t slot, std::span<const std::byte> data,
                                        std::uint32_t number) const noexcept;
  std::span<const std::byte> bring_view(std::uint32_t slot) noexcept;
  void write_head(std::uint32_t slot, Form form, std::uint32_t items, const NumberedBlock* end,
                  std::span<const std::byte> data, std::uint32_t number) noexcept;
  bool fits_in_slot(const Batch& batch) noexcept;
  Submitted submit_in_slot(Batch& batch) noexcept;
  Submitted submit_elsewhere(Batch& batch) noexcept;
  Submitted submit_to_cpu(Batch& batch) noexcept;
  Submitted refuse(Batch& batch) noexcept;
  bool find_places(const Batch& batch, bool is_in_slot, Addresses& addresses, Places& places) noexcept;
  bool take_staging(Places& places, std::size_t input_bytes, std::size_t output_bytes) noexcept;
  void copy_in(const Batch& batch, const Places& places) noexcept;
  void set_bases(const offload::PayloadItems* source, const SharedRange* source_range,
                 const offload::PayloadItems* destination, const SharedRange* destination_range) noexcept;
  template <class Column>
  static void set_addresses(const std::array<Column*, kMaxColumns>& columns,
                            const std::vector<std::size_t>& element_bytes, const SharedRange& range,
                            std::byte** addresses) noexcept;
  bool take_answer(const Part& part) const noexcept;
  template <class Fetch>
  static void fetch(const NumberedBlock* blocks, std::uint32_t count, Fetch line) noexcept;
  void take_staged(const Part& part) const noexcept;
  void take_destination(const Part& part) const noexcept;
  void end(const Part& part) noexcept;
  void run_on_cpu(const Part& part) noexcept;

  ResidentThread& thread_;
  const Engine& cpu_;
  const std::unique_ptr<EngineQueue> cpu_queue_;
  const std::shared_ptr<SlotRow> row_;
  const std::uint32_t count_;  ///< Number of slots.
  const PieceWay way_ = PieceWay::best();
  Slot* const slots_;
  FreeSlots free_;
  std::vector<Part> parts_;  ///< As many as slots.
  offload::SharedList shared_;
  cuda::ByteRing inputs_{SlotRow::kStaging}, outputs_{SlotRow::kStaging};
  std::uint32_t head_ = 0, tail_ = 0;  ///< Position of the oldest part, and of the next one.
  std::uint32_t in_flight_ = 0;
  Known known_;
  ResidentTable* lease_ = nullptr;  ///< Resident table of the present batches.
  ResidentTable::Taken taken_;      ///< Copy of the table that the last batch took.
  /// Base addresses of the payload, if the shader has any, and the view of `taken_`.
  std::array<std::byte, kMostViewBytes> view_{};
  std::uint64_t view_number_ = 0;            ///< Changes with the view.
  std::vector<std::uint64_t> view_numbers_;  ///< View number of each slot's last batch; 0: none.
  bool is_given_up_ = false;  ///< True if a part of the oldest batch came back because of a device failure.
};

}  // namespace penumbra::cuda_resident
