// SPDX-License-Identifier: GPL-2.0
/*
 * run.c - the order in which a monitoring verb does things
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/identity.h"
#include "record.h"
#include "session/cgroup.h"
#include "session/procfs.h"

/* Why a process that is there cannot be monitored. Return: 0, or -1 after a message */
static int check_pid(__u32 pid, FILE *status)
{
	char line[256], name[64] = "", state = 0;
	struct wsmon_rec_proc rec;
	bool memory = false, ended;
	__u32 tgid = pid;

	while (fgets(line, sizeof(line), status)) {
		sscanf(line, "Name: %63[^\n]", name);
		sscanf(line, "State: %c", &state);
		sscanf(line, "Tgid: %u", &tgid);
		memory |= !strncmp(line, "VmSize:", 7);
	}
	/* other threads may live on after the main thread */
	ended = state == 'Z' || state == 'X';
	if (ended && !proc_memory(pid, &rec)) {
		ended = false;
		memory = true;
	}
	if (tgid != pid)
		msg("%u is a thread of process %u (%s): name the process", pid, tgid, name);
	else if (ended)
		msg("process %u (%s) has ended", pid, name);
	else if (!memory)
		msg("process %u (%s) is a kernel thread: it has no memory of its own", pid, name);
	return tgid != pid || ended || !memory ? -1 : 0;
}

static int check_pids(const struct record *r)
{
	char path[32];
	FILE *status;
	size_t i;
	int err;

	if (r->hooks.gone)
		return 0;
	for (i = 0; i < r->pids.nr; i++) {
		snprintf(path, sizeof(path), "/proc/%u/status", r->pids.pid[i]);
		status = fopen(path, "re");
		if (!status) {
			msg("there is no process %u", r->pids.pid[i]);
			return -1;
		}
		err = check_pid(r->pids.pid[i], status);
		fclose(status);
		if (err)
			return err;
	}
	return 0;
}

int record_catch_signals(struct record *r, sigset_t *mask)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct sigaction old;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		/* what is ignored stays ignored, for nohup */
		if (!sigaction(signals[i], NULL, &old) &&
		    old.sa_handler != SIG_IGN)
			sigaddset(&set, signals[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &set, mask);
	r->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (r->signal_fd >= 0)
		return 0;
	msg("signals cannot be caught: %s", strerror(errno));
	return -1;
}

/* The pids as "target" wants them, or the cgroup; Return: malloc()ed */
static char *target_text(const struct record *r)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (r->session.cgroup)
		fputs(r->session.cgroup, f);
	if (r->cmd)
		fprintf(f, "%d", r->child.pid);
	for (i = 0; i < r->pids.nr; i++)
		fprintf(f, "%s%u", i ? " " : "", r->pids.pid[i]);
	fputc('\n', f);
	fclose(f);
	return text;
}

int record_prepare(struct record *r)
{
	return check_pids(r) || session_open(&r->session) ? -1 : 0;
}

static int start_session(struct record *r)
{
	char *target;
	int res;

	do {
		target = need(target_text(r));
		res = session_start(&r->session, target);
		if (res > 0 && (!r->hooks.gone || r->hooks.gone(r))) {
			msg("no such process, or it has no memory of its own: %.*s",
			    (int)strcspn(target, "\n"), target);
			res = -1;
		}
		free(target);
	} while (res > 0);
	return res;
}

int record_restart(struct record *r)
{
	struct session *s = &r->session, before = *s;

	session_close(s);
	*s = (struct session) { .fd = -1, .nr_settings = before.nr_settings };
	memcpy(s->settings, before.settings, sizeof(s->settings));
	return session_open(s) || start_session(r) ? -1 : 0;
}

static int open_feed(struct record *r)
{
	struct identity id;

	/* an identity that makes no sense is reported when the command starts */
	return identity_get(&id, r->child.user) ? 0 : feed_open(&r->feed, r->cmd[0], id.uid ? id.uid : geteuid());
}

int record_start(struct record *r)
{
	sigset_t mask;

	if (record_catch_signals(r, &mask))
		return WSMO_FAILURE;
	if (r->feed.rate && open_feed(r))
		return WSMO_FAILURE;
	if (r->cmd && child_start(&r->child, r->cmd, &mask))
		return WSMO_FAILURE;
	feed_started(&r->feed);
	if (r->hooks.begin && r->hooks.begin(r))
		return WSMO_FAILURE;
	r->marks.start_ns = r->start_ns = clock_now();
	if (start_session(r))
		return WSMO_FAILURE;
	if (!r->cmd)
		return 0;
	if (session_wait(&r->session))
		return WSMO_FAILURE;
	return child_release(&r->child, r->cmd[0]);
}

/*
 * Does everything up to the moment when data comes, first what can fail, then what
 * changes something. Return: 0, or the exit status after a message
 */
static int begin(struct record *r)
{
	char text[256];
	int err;

	if (record_prepare(r) ||
	    (r->file && output_open(&r->output, r->file, r->rotation.keep)))
		return WSMO_FAILURE;
	if (rotates(&r->rotation) && r->output.file.dir < 0) {
		msg("%s: not a plain file: --rotate cannot rename it", r->file);
		return WSMO_FAILURE;
	}
	err = record_start(r);
	if (err)
		return err;
	if (r->session.cgroup) {
		guests_read();
		if (guests_text(text, sizeof(text), r->session.cgroup))
			msg("%s", text);
	}
	return 0;
}

/* Waits for CMD, or ends it if it was not to begin; Return: its exit status */
static int end_child(struct record *r)
{
	if (r->child.release >= 0)
		child_discard(&r->child);
	else
		record_wait_child(r);
	return child_exit_status(&r->child);
}

int record_finish(struct record *r, int status)
{
	int child;

	if (r->child.pid) {
		child = end_child(r);
		if (!status)
			status = child;
	}
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	feed_close(&r->feed);
	free(r->stacks.last.base);
	rotate_free(&r->rotation);
	maps_close(&r->maps);
	mapper_free(&r->mapper);
	packer_free(&r->packer);
	targets_free(&r->targets);
	members_free(&r->members);
	free(r->pids.pid);
	free(r->session.cgroup);
	return status;
}

int record_run(struct record *r)
{
	int status = begin(r);

	if (!status) {
		stacks_begin(&r->stacks);
		record_loop(r);
	}
	session_close(&r->session);
	if (!status && r->hooks.end)
		r->hooks.end(r);
	stacks_end(&r->stacks, &r->output);
	if (output_close(&r->output))
		r->failed = true;
	if (!status) {
		r->hooks.report(r);
		if (r->failed)
			status = WSMO_FAILURE;
	}
	return record_finish(r, status);
}
