/* Any bytes as an XML place (tests/lib/place_check.h says what must hold). */
#include "../lib/place_check.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    place_check(&tfs_rbx_xml_container, (struct tfs_span){data, size});
    return 0;
}
