# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a header with the commit of SOURCE. Does not touch an unchanged file, so that nothing is rebuilt.
execute_process(COMMAND git describe --always --dirty --tags WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "no commit known")
endif()
set(text "#define PENUMBRA_COMMIT \"${commit}\"\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUTPUT} ${text})
endif()
