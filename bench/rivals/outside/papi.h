/* SPDX-License-Identifier: Apache-2.0 */
/* Lets the original gopt's microbenchmarks run on a machine without PAPI and without reserved huge pages. The file
 * provides only PAPI's clock, and transparent huge pages. Compile the microbenchmarks with
 * `-I bench/rivals/outside -include papi.h`, and without -lpapi. */
#ifndef PENUMBRA_BENCH_RIVALS_OUTSIDE_PAPI_H
#define PENUMBRA_BENCH_RIVALS_OUTSIDE_PAPI_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <time.h>

#define PAPI_OK 0

/* Returns CPU seconds since the first call, because other programs may use the processor. Counts no instructions. */
static inline int PAPI_ipc(float* real_time, float* process_time, long long* instructions, float* ipc) {
  static double first;
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  if (first == 0) first = seconds;
  *real_time = *process_time = (float)(seconds - first);
  *instructions = 0;
  *ipc = 1;
  return PAPI_OK;
}

static void* papi_h_segment;

/* Allocates zeroed memory of this process in transparent huge pages. A shmat() call in the same file must follow. */
static inline int transparent_shmget(key_t key, size_t bytes, int flags) {
  (void)key, (void)flags;
  const size_t page = (size_t)2 << 20;
  char* at = (char*)mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return -1;
  at += page - (uintptr_t)at % page;
  madvise(at, bytes, MADV_HUGEPAGE);
  papi_h_segment = at;
  return 0;
}
static inline void* transparent_shmat(int segment, const void* at, int flags) {
  (void)segment, (void)at, (void)flags;
  return papi_h_segment;
}
#define shmget transparent_shmget
#define shmat transparent_shmat
#endif
