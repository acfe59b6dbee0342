// SPDX-License-Identifier: Apache-2.0
//
// What a batch of IPv4 look-ups costs on the engine `cuda-resident`: one at a time, many in flight, large ones. Every
// answer is checked. Needs no DPDK, so that it can be built and carried alone.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "penumbra/engine.h"
#include "penumbra/huge_memory.h"
#include "shaders/dir24_8/dir24_8.h"

namespace {

using namespace penumbra;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kBatch = 32;

struct World {
  World() : owner(no_readers), addresses(std::size_t{1} << 20), answers(addresses.size()) {
    std::mt19937 random(1);
    std::vector<Dir24_8::Entry> entries;
    for (int i = 0; i < 500'000; ++i) {
      const unsigned length = random() % 20 == 0 ? 25 + random() % 8 : 12 + random() % 13;
      const std::uint32_t mask = ~std::uint32_t{0} << (32 - length);
      entries.push_back({{{static_cast<std::uint32_t>(random()) & mask}, static_cast<std::uint8_t>(length)},
                         static_cast<std::uint16_t>(random() % 256)});
    }
    owner.load(entries);
    for (auto& each : addresses) each = static_cast<std::uint32_t>(random());
    const auto scalar = create_engine("scalar");
    scalar->use_table(owner.table());
    Batch batch = make(*scalar, addresses.data(), answers.data(), static_cast<std::uint32_t>(addresses.size()));
    scalar->open_queue()->submit(batch);
  }
  Batch make(const Engine& engine, const std::uint32_t* in, std::uint16_t* out, std::uint32_t items) const {
    Batch batch;
    batch.shader = engine.find_shader("ipv4_dir24_8");
    batch.table = &owner.table();
    batch.items = items;
    batch.inputs = {in};
    batch.outputs = {out};
    return batch;
  }
  void check(const std::uint16_t* out, std::size_t first, std::size_t items) const {
    if (std::equal(out, out + items, answers.begin() + static_cast<std::ptrdiff_t>(first))) return;
    std::fprintf(stderr, "wrong answers\n");
    std::exit(1);
  }

  NoReaders no_readers;
  mutable Dir24_8 owner;
  std::vector<std::uint32_t> addresses;
  std::vector<std::uint16_t> answers;
};

double ns(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

/// Holds this thread on one core, so that a measurement is not of the scheduler's choice; not when an engine is opened,
/// whose threads would inherit it.
class Pinned {
 public:
  explicit Pinned(unsigned core) {
    pthread_getaffinity_np(pthread_self(), sizeof before_, &before_);
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core % std::max(std::thread::hardware_concurrency(), 1U), &cores);
    pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
  }
  ~Pinned() { pthread_setaffinity_np(pthread_self(), sizeof before_, &before_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t before_{};
};

void one_at_a_time(const World& world, const std::string& choice) {
  const auto engine = create_engine(choice);
  engine->use_table(world.owner.table());
  const auto queue = engine->open_queue();
  const Pinned pinned(1);
  constexpr std::size_t kRounds = 60'000, kWarmUp = 5'000;
  std::vector<double> times;
  std::vector<std::uint16_t> out(kBatch);
  std::size_t on_cpu = 0;
  for (std::size_t i = 0; i < kRounds + kWarmUp; ++i) {
    const std::size_t first = i * kBatch % world.addresses.size();
    Batch batch = world.make(*engine, world.addresses.data() + first, out.data(), kBatch);
    const auto begin = Clock::now();
    if (queue->submit(batch) == EngineQueue::Submitted::queued) {
      while (queue->poll() == nullptr) {
      }
    } else {
      ++on_cpu;
    }
    const auto end = Clock::now();
    world.check(out.data(), first, kBatch);
    if (i >= kWarmUp) times.push_back(ns(end - begin));
  }
  std::sort(times.begin(), times.end());
  std::printf("one at a time  %-40s median %.2f us, p99 %.2f, p99.9 %.2f; %zu on the CPU\n", choice.c_str(),
              times[times.size() / 2] / 1e3, times[times.size() * 99 / 100] / 1e3,
              times[times.size() * 999 / 1000] / 1e3, on_cpu);
}

/// Seconds that `batches` batches take.
double run_in_flight(const World& world, Engine& engine, EngineQueue& queue, std::size_t batches, std::size_t depth,
                     std::uint32_t items) {
  struct Flight {
    Batch batch;
    std::size_t first = 0;
    std::vector<std::uint16_t> out;
  };
  std::vector<Flight> flights(depth);
  for (Flight& each : flights) {
    each.out.resize(items);
    each.batch = world.make(engine, nullptr, each.out.data(), items);
  }
  std::size_t submitted = 0, done = 0, at = 0, done_at = 0;
  const auto begin = Clock::now();
  const auto finish = [&] {
    const Flight& flight = flights[done_at];
    done_at = done_at + 1 == depth ? 0 : done_at + 1;
    if (++done % 16 == 0) world.check(flight.out.data(), flight.first, items);
  };
  while (done < batches) {
    while (submitted < batches && submitted - done < depth) {
      Flight& flight = flights[at];
      flight.first = submitted * items % world.addresses.size();
      flight.batch.inputs[0] = world.addresses.data() + flight.first;
      const auto result = queue.submit(flight.batch);
      if (result == EngineQueue::Submitted::full) break;
      ++submitted;
      at = at + 1 == depth ? 0 : at + 1;
      if (result == EngineQueue::Submitted::done) finish();
    }
    while (queue.poll() != nullptr) finish();
  }
  return ns(Clock::now() - begin) / 1e9;
}

void many_in_flight(const World& world, const std::string& choice, std::size_t threads, std::size_t depth) {
  const auto engine = create_engine(choice);
  engine->use_table(world.owner.table());
  std::vector<std::unique_ptr<EngineQueue>> queues;
  queues.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) queues.push_back(engine->open_queue());
  constexpr std::size_t kBatches = 2'000'000;
  std::vector<double> rates;
  for (int round = 0; round < 4; ++round) {
    std::vector<std::thread> workers;
    workers.reserve(threads);
    std::atomic<double> slowest{0};
    for (auto& queue : queues) {
      workers.emplace_back([&, core = static_cast<unsigned>(1 + workers.size())] {
        const Pinned pinned(core);
        const double seconds = run_in_flight(world, *engine, *queue, kBatches, depth, kBatch);
        double before = slowest;
        while (seconds > before && !slowest.compare_exchange_weak(before, seconds)) {
        }
      });
    }
    for (auto& worker : workers) worker.join();
    if (round > 0) rates.push_back(static_cast<double>(threads * kBatches) / slowest);
  }
  std::sort(rates.begin(), rates.end());
  std::printf(
      "in flight      %-40s %zu threads, %zu each: %.3f us a batch of a thread, %.0f M look-ups/s (%.0f-%.0f)\n",
      choice.c_str(), threads, depth, 1e6 * static_cast<double>(threads) / rates[1], rates[1] * kBatch / 1e6,
      rates[0] * kBatch / 1e6, rates[2] * kBatch / 1e6);
  for (const auto& line : engine->notes()) std::printf("               %s\n", line.c_str());
}

void large(const World& world, const std::string& choice, std::uint32_t items, std::size_t depth, bool shares) {
  const auto engine = create_engine(choice);
  engine->use_table(world.owner.table());
  const auto queue = engine->open_queue();
  const Pinned pinned(1);
  const auto memory = std::make_shared<HugeMemory>(depth * items * std::size_t{6});
  if (shares) queue->share(memory);
  auto* const in = reinterpret_cast<std::uint32_t*>(memory->data());
  auto* const out = reinterpret_cast<std::uint16_t*>(in + depth * items);
  for (std::size_t i = 0; i < depth * items; ++i) in[i] = world.addresses[i % items];
  std::vector<Batch> batches(depth);
  std::vector<double> rates;
  for (int round = 0; round < 6; ++round) {
    std::fill_n(out, depth * items, std::uint16_t{0xABCD});
    const std::size_t count = std::max<std::size_t>(1'000'000'000 / items, 8);
    std::size_t submitted = 0, done = 0;
    const auto begin = Clock::now();
    while (done < count) {
      while (submitted < count && submitted - done < depth) {
        const std::size_t at = submitted % depth;
        batches[at] = world.make(*engine, in + at * items, out + at * items, items);
        const auto result = queue->submit(batches[at]);
        if (result == EngineQueue::Submitted::full) break;
        ++submitted;
        done += result == EngineQueue::Submitted::done ? 1 : 0;
      }
      while (queue->poll() != nullptr) ++done;
    }
    const double seconds = ns(Clock::now() - begin) / 1e9;
    for (std::size_t i = 0; i < depth; ++i) world.check(out + i * items, 0, items);
    if (round > 0) rates.push_back(static_cast<double>(count) * items / seconds / 1e9);
  }
  std::sort(rates.begin(), rates.end());
  std::printf("large          %-40s %u items, %zu in flight, %s: %.2f G look-ups/s (%.2f-%.2f)\n", choice.c_str(),
              items, depth, shares ? "shared" : "copied", rates[2], rates.front(), rates.back());
}

}  // namespace

int main() {
  const World world;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const char* choice : {"cuda-resident,slots=1", "cuda-resident", "cuda-resident,slots=72",
                             "cuda-resident,slots=144", "cuda-resident,slots=144,threads=32", "cuda"}) {
    one_at_a_time(world, choice);
  }
  for (const std::size_t depth : {std::size_t{16}, std::size_t{72}, std::size_t{144}}) {
    many_in_flight(world, "cuda-resident,slots=" + std::to_string(depth), 1, depth);
  }
  many_in_flight(world, "cuda-resident,slots=144,threads=32", 1, 144);
  for (const std::size_t threads : {2, 4, 8}) {
    many_in_flight(world, "cuda-resident,slots=60,blocks=512", threads, 60);
  }
  for (const std::uint32_t items : {16'384U, 262'144U, 1'048'576U}) {
    for (const char* choice :
         {"cuda-resident,slots=144", "cuda-resident,slots=144,threads=256", "cuda-resident,slots=144,threads=512"}) {
      large(world, choice, items, 4, true);
    }
  }
  large(world, "cuda-resident,slots=72,threads=512", 1'048'576, 4, true);
  large(world, "cuda-resident,slots=144", 65'536, 4, false);
  large(world, "cuda", 1'048'576, 4, true);
}
