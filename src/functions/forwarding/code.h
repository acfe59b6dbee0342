// SPDX-License-Identifier: Apache-2.0
//
// Includes all template definitions. Only the source file of a function that instantiates the templates includes this
// header.
#pragma once

#include "functions/forwarding/commands_code.h"
#include "functions/forwarding/configuration_code.h"
#include "functions/forwarding/feed_listener_code.h"
#include "functions/forwarding/fib_code.h"
#include "functions/forwarding/fib_load_code.h"
#include "functions/forwarding/fib_neighbours_code.h"
#include "functions/forwarding/fib_show_code.h"
#include "functions/forwarding/function_code.h"
#include "functions/forwarding/next_hops_code.h"
#include "functions/forwarding/show_code.h"
