// SPDX-License-Identifier: Apache-2.0
//
// A worker's way to the resident kernel: it writes a batch into a slot of its own, and later finds the results there,
// in the order of submission. A batch that no slot holds is cut into parts, each by its own group: a slot then names
// the places of its columns, which are in shared memory, or are copied to the row's. What the GPU does not do, because
// it is not there, was lost meanwhile, or lacks a state of the table, runs here on the CPU, in its turn.
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
#include "penumbra/engine.h"

namespace penumbra::cuda_resident {

class ResidentQueue final : public EngineQueue {
 public:
  /// Items of a part at least, so that a group has something to do for each of its ways over the bus.
  static constexpr std::uint32_t kLeastPart = 2048;

  /// `row` is the thread's, `cpu` answers every batch at once.
  ResidentQueue(ResidentThread& thread, std::shared_ptr<SlotRow> row, const Engine& cpu,
                std::unique_ptr<EngineQueue> cpu_queue);
  /// Waits for what is in flight.
  ~ResidentQueue() override;

  Submitted submit(Batch& batch) noexcept override;
  Batch* poll() noexcept override;
  void share(std::shared_ptr<const HugeMemory> memory) override;

 private:
  enum class Place : std::uint8_t { slot, elsewhere, cpu };
  /// A place in the staging memory; none if `bytes` is 0.
  struct Staged {
    std::size_t begin = 0, bytes = 0;
  };
  /// What is in flight: a batch or a part of one.
  struct Part {
    Batch* batch = nullptr;
    std::uint32_t first = 0, items = 0;
    std::uint32_t slot = 0;  ///< but for Place::cpu
    Place place = Place::cpu;
    bool is_last = false;
    Staged inputs, outputs;  ///< of the whole batch
  };
  /// Where columns stand for the GPU, from the batch's first item on: inputs, then outputs.
  using Addresses = std::array<std::byte*, 2 * kMaxColumns>;
  /// Of the shader whose batches come.
  struct Known {
    const Shader* shader = nullptr;
    std::uint8_t index = 0;
    std::uint32_t head_blocks = 0;
    std::uint32_t items = 0, input_blocks = 0, output_blocks = 0;  ///< of the last batch
    std::size_t columns = 0;
    std::array<std::size_t, 2 * kMaxColumns> element_bytes{};  ///< as Addresses
  };

  /// Where among the parts the one behind this one stands.
  std::uint32_t behind(std::uint32_t at) const noexcept { return at + 1 == count_ ? 0 : at + 1; }
  /// How many parts before their turn results are asked for: one for each kAheadOfInFlight in flight, within limits. A
  /// line that the GPU wrote takes some 400 ns to come where others use the caches too; asked for too early, it is not
  /// written yet. More than the least is not for a router's worker, which has 16 in flight at most. Found by trying
  /// with 1 to 144 in flight (E18).
  static constexpr std::uint32_t kAheadOfInFlight = 8, kLeastAhead = 4, kMostAhead = 12;
  /// The same of a slot's input lines where no slot lies aside, however many are in flight; no more than kLeastAhead.
  /// Found by trying 2, 4 and 12 with 144 in flight (E18).
  static constexpr std::uint32_t kInputsAhead = 2;
  static_assert(kInputsAhead <= kLeastAhead, "as many parts are known to be there");
  /// With so many in flight a slot's next batch comes microseconds later, and its group reads the slot's first block
  /// alone meanwhile: readings of all of them by that many groups hold up the core that writes them. Found by trying 0
  /// and more than there are slots (E18): the first is better with 144 in flight, the second with 72.
  static constexpr std::uint32_t kMany = 120;
  std::uint32_t parts_ahead() const noexcept {
    return std::clamp(in_flight_ / kAheadOfInFlight, kLeastAhead, kMostAhead);
  }
  /// The part that is so far behind the oldest one; there are as many.
  const Part& part_ahead(std::uint32_t ahead) const noexcept {
    const std::uint32_t at = head_ + ahead;
    return parts_[at < count_ ? at : at - count_];
  }
  Part& next_part() noexcept;
  /// Whether a slot that is given back is not taken at once; then there is time to ask for its lines.
  bool slots_lie_aside() const noexcept { return count_ - in_flight_ >= FreeSlots::kAside; }
  /// Of the next batch, if it is like the last one and stands in a slot.
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
  bool submit_in_slot(Batch& batch) noexcept;
  Submitted submit_elsewhere(Batch& batch) noexcept;
  Submitted submit_to_cpu(Batch& batch) noexcept;
  bool find_places(const Batch& batch, Addresses& addresses, Staged& inputs, Staged& outputs) noexcept;
  template <class Column>
  bool find_place(const std::array<Column*, kMaxColumns>& columns, const std::vector<std::size_t>& element_bytes,
                  std::uint32_t items, cuda::ByteRing& ring, const std::byte* staging, std::byte** addresses,
                  Staged& staged) noexcept;
  template <class Column>
  const SharedRange* range_of(const std::array<Column*, kMaxColumns>& columns,
                              const std::vector<std::size_t>& element_bytes, std::uint32_t items) const noexcept;
  bool take_answer(const Part& part) const noexcept;
  template <class Fetch>
  static void fetch(const NumberedBlock* blocks, std::uint32_t count, Fetch line) noexcept;
  void take_staged(const Part& part) const noexcept;
  void end(const Part& part) noexcept;
  void run_on_cpu(const Part& part) noexcept;

  ResidentThread& thread_;
  const Engine& cpu_;
  const std::unique_ptr<EngineQueue> cpu_queue_;
  const std::shared_ptr<SlotRow> row_;
  const std::uint32_t count_;  ///< of its slots
  const PieceWay way_ = PieceWay::best();
  Slot* const slots_;
  FreeSlots free_;
  std::vector<Part> parts_;  ///< as many as slots
  std::vector<std::shared_ptr<SharedRange>> shared_;
  cuda::ByteRing inputs_{SlotRow::kStaging}, outputs_{SlotRow::kStaging};
  std::uint32_t head_ = 0, tail_ = 0;  ///< the oldest part, and where the next one will stand
  std::uint32_t in_flight_ = 0;
  Known known_;
  ResidentTable* lease_ = nullptr;                ///< of the table whose batches come
  ResidentTable::Taken taken_;                    ///< of it, by the last batch
  std::array<std::byte, kMostViewBytes> view_{};  ///< that of `taken_`
  std::uint64_t view_number_ = 0;                 ///< another one whenever that is another view
  std::vector<std::uint64_t> view_numbers_;       ///< of each slot: of its last batch; 0: of none
  bool is_given_up_ = false;  ///< of the oldest batch a part that is back already: the GPU was lost with it
};

}  // namespace penumbra::cuda_resident
