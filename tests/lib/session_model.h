/*
 * A model of what the session promises (docs/semantics.md, section 2), on the fake format: calls
 * are made of the session and of the model, and after each one the content of all files and
 * handles, the listings, the status of every call and the fake disk must be what the model says;
 * whatever was acknowledged must be on the disk. The first difference is said on stderr and ends
 * the process.
 */
#ifndef TFS_TESTS_SESSION_MODEL_H
#define TFS_TESTS_SESSION_MODEL_H

#include "base/bytes.h"

/* So many steps drawn from the number of the episode; each third one with commit=N. */
void session_model_run(unsigned episode, unsigned count);

/* Steps as the bytes choose them, until they are used up. */
void session_model_play(struct tfs_span choices);

#endif
