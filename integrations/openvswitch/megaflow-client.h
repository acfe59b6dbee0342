/* SPDX-License-Identifier: Apache-2.0
 *
 * A client of the socket of Penumbra's function `megaflows`. All functions may be called from any thread. They return 0
 * or a positive errno, as Open vSwitch does. */
#ifndef PENUMBRA_MEGAFLOW_CLIENT_H
#define PENUMBRA_MEGAFLOW_CLIENT_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "functions/megaflows/wire.h"

/* Returns the path of the socket: $PENUMBRA_MEGAFLOWS, or /run/penumbra/megaflows.sock. */
const char* megaflow_client_path(void);

/* Connects, unless there is a connection. Returns true if the connection is new: the router then has no megaflows of
 * this process. Tries at most once a second. `*error` is 0 if there is a connection. */
bool megaflow_client_connect(int* error);

/* Sends a request of `bytes` bytes, whose header this function completes, and waits for the reply. `items` may be null.
 * Otherwise it gets what follows the reply, at most `n_items` items of `item_bytes` bytes. Returns ENOTCONN if the
 * connection is lost. */
int megaflow_client_ask(void* request, size_t bytes, struct megaflows_reply*, void* items, size_t item_bytes,
                        size_t n_items);

#endif
