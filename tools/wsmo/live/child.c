// SPDX-License-Identifier: GPL-2.0
/* child.c - the command that "wsmo record -- CMD" runs */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "core/cli.h"
#include "core/identity.h"
#include "core/outfile.h"

/* Report of a child to its parent: CMD could not be executed */
struct trouble {
	enum { AT_USER, AT_OUTPUT, AT_EXEC } at;
	int err;
};

/* Return: 0 or -errno; 1 after a message */
static int redirect(const struct child *c)
{
	struct outfile file;
	int in, err = 0;

	if (c->to_stderr)
		return dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ? -errno : 0;
	if (!c->output)
		return 0;
	if (outfile_open(&file, c->output, 0666))
		return 1;
	in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	err = outfile_place(&file);
	if (!err && (in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(file.fd, STDOUT_FILENO) < 0 ||
		     dup2(file.fd, STDERR_FILENO) < 0))
		err = -errno;
	outfile_close(&file);
	return err;
}

static void __attribute__((noreturn))
child_main(const struct child *c, int release, int trouble, char **cmd, const sigset_t *mask)
{
	struct trouble t = { 0 };
	struct identity id;
	char go;

	/* if the parent has ended, do not run CMD */
	if (read(release, &go, 1) != 1)
		_exit(WSMO_FAILURE);
	t.err = identity_get(&id, c->user) ? -EINVAL : identity_become(&id);
	if (!t.err) {
		t.at = AT_OUTPUT;
		t.err = redirect(c);
	}
	if (!t.err) {
		signal(SIGPIPE, SIG_DFL);
		signal(SIGXFSZ, SIG_DFL);
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
		child_main(c, release[0], trouble[1], cmd, mask);
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
	if (t.at == AT_OUTPUT && t.err < 0)
		msg("%s: %s", c->output ?: "standard error", strerror(-t.err));
	else if (t.at == AT_USER)
		msg("%s: cannot become %s: %s", name,
		    c->user ?: "the user who called sudo, pkexec or doas", strerror(-t.err));
	else if (t.at == AT_OUTPUT)
		; /* a message was printed */
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
