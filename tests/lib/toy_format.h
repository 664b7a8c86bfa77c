/*
 * The smallest format, which shows all that a game must give. docs/adding-a-format.md walks through
 * toy_format.c. A program that opens such saves has the container in its tfs_containers.
 */
#ifndef TFS_TESTS_TOY_FORMAT_H
#define TFS_TESTS_TOY_FORMAT_H

#include "formats/format.h"

extern const struct tfs_container toy_container;

#endif
