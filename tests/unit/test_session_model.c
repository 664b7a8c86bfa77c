/* The session against a model of it: random calls, seeded (tests/lib/session_model.h). */
#include "../lib/session_model.h"
#include "unit.h"

START_TEST(session_agrees_with_its_model)
{
    for (unsigned i = 0; i < 12; i++)
        session_model_run((unsigned)_i * 12 + i, 60);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("session_model");
    TCase *c = unit_case(s, "model");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, session_agrees_with_its_model, 0, 10);
    return s;
}

UNIT_MAIN(suite)
