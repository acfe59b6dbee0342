/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PENUMBRA_INTEGRATIONS_XFRM_RELAY_H
#define PENUMBRA_INTEGRATIONS_XFRM_RELAY_H

#include <stdint.h>

/* Returns the path of the keeper's socket, or null if this process must use the kernel. The kernel is used if the file
 * that names the path is missing, or if others than root may write it. It is also used if the process runs with the
 * rights of another user (AT_SECURE). */
const char* relay_socket_path(void);

struct relay;

/* Connects to the keeper and carries datagrams between it and `descriptor` in a thread. Returns null with errno. The
 * relay takes the descriptor, and ends when the program closes its end. */
struct relay* relay_start(int descriptor, const char* path);

/* Set what the program sets on a netlink socket. Return 0, or -1 with errno. */
int relay_bind(struct relay* relay, uint32_t port, uint32_t groups);
int relay_join(struct relay* relay, uint32_t group, int is_member);
int relay_want_text(struct relay* relay, int wanted);
uint32_t relay_port(struct relay* relay);
uint32_t relay_groups(struct relay* relay);

#endif
