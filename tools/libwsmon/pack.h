/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pack.h - makes SNAPSHOT records small: struct wsmon_rec_packed
 */
#ifndef WSMO_PACK_H
#define WSMO_PACK_H

#include "past.h"

/**
 * struct packer - its state; zeroed is ready
 * @pasts:	what the targets' next snapshots can build on
 * @work:	memory that the first snapshot makes it allocate
 */
struct packer {
	struct pasts pasts;
	struct pack_work *work;
};

/**
 * packer_take() - what to write of a record: itself, or a smaller one
 *
 * Every record that is written goes through here, in the order of the file: a
 * plain snapshot, too, ends what the next one can build on.
 *
 * Return: a record that is valid until the next call
 */
const struct wsmon_record *packer_take(struct packer *pk,
				       const struct wsmon_record *rec);

/** packer_free() - free everything */
void packer_free(struct packer *pk);

#endif /* WSMO_PACK_H */
