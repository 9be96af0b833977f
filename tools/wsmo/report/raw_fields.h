/* SPDX-License-Identifier: GPL-2.0 */
/*
 * raw_fields.h - the fields of records, for "wsmo report raw"
 */
#ifndef WSMO_RAW_FIELDS_H
#define WSMO_RAW_FIELDS_H

#include <linux/types.h>
#include <stddef.h>

enum field_kind {
	U16, U32, S32, U64, ADDR, CLASS16, CLASS, GROUP, REASON, TEXT, BUILD_ID
};

/**
 * struct field - a field of a record
 * @name:	as in include/wsmon.h; NULL after the last one
 * @kind:	how to read and print it
 * @offset:	where it is in the record
 */
struct field {
	const char *name;
	enum field_kind kind;
	size_t offset;
};

/* raw_attrs_fields is of struct wsmon_attrs, in the header and in ATTRS records */
extern const struct field raw_header_fields[];
extern const struct field raw_attrs_fields[];
extern const struct field raw_area_fields[];
extern const struct field raw_snapshot_fields[];
extern const struct field raw_region_fields[];
extern const struct field raw_stack_fields[];

/** raw_fields() - the fields of a type of record; none of an unknown type */
const struct field *raw_fields(__u32 type);

#endif /* WSMO_RAW_FIELDS_H */
