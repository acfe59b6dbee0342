// SPDX-License-Identifier: Apache-2.0
#include <rte_eal.h>
#include <rte_ethdev.h>

#include <cstdio>
int main(int c, char** v) {
  int r = rte_eal_init(c, v);
  printf("%d ports %d\n", r, rte_eth_dev_count_avail());
  rte_eal_cleanup();
}
