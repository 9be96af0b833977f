// SPDX-License-Identifier: GPL-2.0
/*
 * child.c - the command "record -- CMD" runs
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "cli/cli.h"
#include "cli/units.h"

int identity_get(struct identity *id)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	__u64 u, g;

	*id = (struct identity){ 0 };
	if (geteuid() || !uid || !gid)
		return 0;
	/* -1 means "leave it" to setuid(), so it is no id */
	if (units_parse_count(uid, UINT_MAX - 1, &u) ||
	    units_parse_count(gid, UINT_MAX - 1, &g))
		return -1;
	id->uid = u;
	id->gid = g;
	id->user = getenv("SUDO_USER");
	return 0;
}

/* What a child that could not execute CMD reports to its parent */
struct trouble {
	enum { AT_USER, AT_OUTPUT, AT_EXEC } at;
	int err;
};

static int redirect(const char *output)
{
	int in = open("/dev/null", O_RDONLY);
	int out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (in < 0 || out < 0 || dup2(in, STDIN_FILENO) < 0 ||
	    dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
		return -errno;
	close(in);
	close(out);
	return 0;
}

static int become(const struct identity *id)
{
	const struct passwd *pw;

	if (!id->uid)
		return 0;
	pw = getpwuid(id->uid);
	if (id->user ? initgroups(id->user, id->gid) : setgroups(0, NULL))
		return -errno;
	if (setgid(id->gid) || setuid(id->uid))
		return -errno;
	if (pw) {
		setenv("HOME", pw->pw_dir, 1);
		setenv("USER", pw->pw_name, 1);
		setenv("LOGNAME", pw->pw_name, 1);
	}
	return 0;
}

static void __attribute__((noreturn))
child_main(int release, int trouble, const char *output, char **cmd,
	   const sigset_t *mask)
{
	struct trouble t = { 0 };
	struct identity id;
	char go;

	/* the parent ended: do not run CMD */
	if (read(release, &go, 1) != 1)
		_exit(WSMO_FAILURE);
	t.err = identity_get(&id) ? -EINVAL : become(&id);
	if (!t.err && output) {
		t.at = AT_OUTPUT;
		t.err = redirect(output);
	}
	if (!t.err) {
		signal(SIGPIPE, SIG_DFL);
		sigprocmask(SIG_SETMASK, mask, NULL);
		execvp(cmd[0], cmd);
		t.at = AT_EXEC;
		t.err = -errno;
	}
	if (write(trouble, &t, sizeof(t)) != sizeof(t))
		_exit(126);
	_exit(t.err == -ENOENT ? 127 : 126);
}

int child_start(struct child *c, char **cmd, const sigset_t *mask)
{
	int release[2] = { -1, -1 }, trouble[2] = { -1, -1 };

	if (pipe2(release, O_CLOEXEC) || pipe2(trouble, O_CLOEXEC))
		goto err;
	c->pid = fork();
	if (c->pid < 0)
		goto err;
	if (!c->pid) {
		close(release[1]);
		close(trouble[0]);
		child_main(release[0], trouble[1], c->output, cmd, mask);
	}
	close(release[0]);
	close(trouble[1]);
	c->release = release[1];
	c->trouble = trouble[0];
	c->gone = false;
	return 0;
err:
	msg("%s cannot be started: %s", cmd[0], strerror(errno));
	c->pid = 0;
	close(release[0]);
	close(release[1]);
	close(trouble[0]);
	close(trouble[1]);
	return -1;
}

static void wait_for(struct child *c)
{
	while (!c->gone)
		if (waitpid(c->pid, &c->status, 0) == c->pid || errno != EINTR)
			c->gone = true;
}

int child_release(struct child *c, const char *name)
{
	struct trouble t;
	ssize_t n;

	n = write(c->release, "", 1);
	close(c->release);
	c->release = -1;
	/* execve() closes the pipe: end of file is success */
	while (n == 1 && (n = read(c->trouble, &t, sizeof(t))) < 0 &&
	       errno == EINTR)
		n = 1;
	close(c->trouble);
	c->trouble = -1;
	if (n != sizeof(t))
		return 0;
	wait_for(c);
	if (t.at == AT_OUTPUT)
		msg("%s: %s", c->output, strerror(-t.err));
	else if (t.at == AT_USER)
		msg("%s: cannot become the user who called sudo: %s", name,
		    strerror(-t.err));
	else if (t.err == -ENOENT)
		msg("%s: no such command", name);
	else
		msg("%s: cannot be run: %s", name, strerror(-t.err));
	return t.at == AT_EXEC && t.err == -ENOENT ? 127 : 126;
}

bool child_reap(struct child *c)
{
	if (c->pid && !c->gone &&
	    waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->gone = true;
	return c->pid && c->gone;
}

int child_exit_status(const struct child *c)
{
	if (WIFSIGNALED(c->status))
		return 128 + WTERMSIG(c->status);
	return WEXITSTATUS(c->status);
}

void child_discard(struct child *c)
{
	close(c->release);
	close(c->trouble);
	wait_for(c);
}
