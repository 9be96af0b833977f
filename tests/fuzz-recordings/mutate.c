// SPDX-License-Identifier: GPL-2.0
/*
 * mutate.c - changes a recording and keeps it one
 *
 * libFuzzer's own mutations nearly always break a record's size, and nothing after it
 * is read then. So half of the time it changes the inside of one record, whose size is
 * corrected, or records are inserted, removed or reordered. Packed records are changed
 * unpacked, as the frame would not pass zstd's checksum otherwise.
 */
#include <string.h>
#include <zstd.h>

#include "core/cli.h"
#include "fuzz.h"
#include "libwsmon/wsmon_records.h"

#define MAX_RECORDS	4096

static __u64 state;

static __u32 below(__u32 n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 32) % n;
}

/* Offsets of the complete records, and of their end; Return: number of records */
static size_t find_records(const __u8 *data, size_t size, __u32 *at)
{
	struct wsmon_file_header h;
	struct wsmon_record rec;
	size_t nr = 0, pos;

	if (size < sizeof(h))
		return 0;
	memcpy(&h, data, sizeof(h));
	if (memcmp(h.magic, WSMON_MAGIC, sizeof(h.magic)) ||
	    h.header_size < sizeof(h) || h.header_size > size)
		return 0;
	for (pos = h.header_size; nr < MAX_RECORDS; pos += rec.size) {
		at[nr] = pos;
		if (size - pos < sizeof(rec))
			break;
		memcpy(&rec, data + pos, sizeof(rec));
		if (rec.size < sizeof(rec) || rec.size % 8 ||
		    rec.size > WSMON_RECORD_MAX || rec.size > size - pos)
			break;
		nr++;
	}
	at[nr] = pos;
	return nr;
}

/* Puts @len bytes of @with where @old bytes are; Return: the new size */
static size_t replace(__u8 *data, size_t size, size_t max, size_t pos,
		      size_t old, const __u8 *with, size_t len)
{
	if (size - old + len > max)
		return size;
	memmove(data + pos + len, data + pos + old, size - pos - old);
	memcpy(data + pos, with, len);
	return size - old + len;
}

/* To libFuzzer a record is any bytes, except its type and its size */
static size_t mutate_inside(__u8 *data, size_t size, size_t max,
			    __u32 pos, __u32 len)
{
	static __u8 rec[WSMON_RECORD_MAX];
	const size_t head = offsetof(struct wsmon_record, time_ns);
	__u32 new;

	memcpy(rec, data + pos, len);
	new = head + LLVMFuzzerMutate(rec + head, len - head,
				      below(4) ? len - head : sizeof(rec) - head);
	while (new % 8 || new < sizeof(struct wsmon_record))
		rec[new++] = 0;
	memcpy(rec + offsetof(struct wsmon_record, size), &new, sizeof(new));
	return replace(data, size, max, pos, len, rec, new);
}

/*
 * To libFuzzer the contents are any bytes; they are packed again. Their number stays
 * that in the head.
 * Return: the new size; @size if the record could not be unpacked, or packed
 */
static size_t mutate_packed(__u8 *data, size_t size, size_t max, __u32 pos,
			    __u32 len)
{
	static __u8 raw[WSMON_RECORD_MAX];
	static union {
		struct wsmon_rec_packed rec;
		__u8 bytes[WSMON_RECORD_MAX];
	} new;
	const size_t head = sizeof(new.rec);
	size_t n;

	memcpy(&new, data + pos, len);
	if (len < head || new.rec.bytes > len - head)
		return size;
	n = ZSTD_decompress(raw, sizeof(raw), new.rec.data, new.rec.bytes);
	if (ZSTD_isError(n))
		return size;
	LLVMFuzzerMutate(raw, n, n);
	n = ZSTD_compress(new.rec.data, sizeof(new) - head - 8, raw, n, 1);
	if (ZSTD_isError(n))
		return size;
	new.rec.bytes = n;
	for (n += head; n % 8; n++)
		new.bytes[n] = 0;
	new.rec.rec.size = n;
	return replace(data, size, max, pos, len, new.bytes, n);
}

/* Sets a field to a value at a boundary or near an overflow */
static void mutate_field(__u8 *data, __u32 pos, __u32 len)
{
	static const __u64 values[] = {
		0x7fff, 0x8000, 0xffff, 0x10000, INT32_MAX, UINT32_MAX,
		INT64_MAX, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX,
	};
	__u64 v = below(2) ? values[below(ARRAY_SIZE(values))] : below(20);
	__u32 width = 2 << below(3), units = len / width;

	memcpy(data + pos + below(units) * width, &v, width);
}

/* Removes the end of a record */
static size_t cut(__u8 *data, size_t size, __u32 pos, __u32 len)
{
	const __u32 least = sizeof(struct wsmon_record);
	__u32 new = least + below((len - least) / 8 + 1) * 8;

	memmove(data + pos + new, data + pos + len, size - pos - len);
	memcpy(data + pos + offsetof(struct wsmon_record, size), &new,
	       sizeof(new));
	return size - len + new;
}

static void mutate_type(__u8 *data, __u32 pos)
{
	__u32 type = below(WSMON_REC_PACKED + 2);

	memcpy(data + pos, &type, sizeof(type));
}

size_t LLVMFuzzerCustomMutator(__u8 *data, size_t size, size_t max,
			       unsigned int seed)
{
	static __u32 at[MAX_RECORDS + 1];
	static __u8 copy[WSMON_RECORD_MAX];
	__u32 i, j, len, type;
	size_t nr;

	state = seed;
	nr = below(2) ? find_records(data, size, at) : 0;
	if (!nr)
		return LLVMFuzzerMutate(data, size, max);
	i = below(nr);
	j = below(nr);
	len = at[i + 1] - at[i];
	memcpy(&type, data + at[i], sizeof(type));
	if (type == WSMON_REC_PACKED && below(2))
		return mutate_packed(data, size, max, at[i], len);
	switch (below(10)) {
	case 0:
		return replace(data, size, max, at[i], len, copy, 0);
	case 1:
		memcpy(copy, data + at[i], len);
		return replace(data, size, max, at[j], 0, copy, len);
	case 2:
		return cut(data, size, at[i], len);
	case 3:
		mutate_type(data, at[i]);
		return size;
	case 4:
	case 5:
		mutate_field(data, at[i], len);
		return size;
	default:
		return mutate_inside(data, size, max, at[i], len);
	}
}
