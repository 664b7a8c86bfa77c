/*
 * A model of drafts (DESIGN W1-W3, docs/semantics.md), on the fake format: calls are made of the
 * session and of the model, and after each one the status of the call, what every file shows and
 * what every handle reads must be what the model says; what was acknowledged must be on the disk.
 * The first difference is said on stderr and ends the process.
 */
#ifndef TFS_TESTS_SESSION_MODEL_H
#define TFS_TESTS_SESSION_MODEL_H

#include "base/bytes.h"

/* So many steps drawn from the number of the episode. */
void session_model_run(unsigned episode, unsigned count);

/* Steps as the bytes choose them, until they are used up. */
void session_model_play(struct tfs_span choices);

#endif
