/* Any bytes as calls of a session, which must agree with its model (tests/lib/session_model.h). */
#include "../lib/session_model.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    session_model_play((struct tfs_span){data, size});
    return 0;
}
