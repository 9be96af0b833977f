// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's side of tests/vm/run: runs one command, hands its output to the
 * host while it runs, then its exit status.
 * Started by init as process 1 with the name of a file of NUL-terminated
 * strings: a directory to start in, then the command and its arguments.
 *
 * The command writes to pipes, not to the virtio ports, because a port can be
 * opened only once ("echo >/dev/stderr" would fail) and, being a device, is
 * not what a command started from a script expects.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define VPORTS		"/sys/class/virtio-ports"
#define CHUNK		32768	/* what a port takes in one write */
#define LINGER_MS	500	/* for what the command left running, then it is killed */

struct relay {
	int from;	/* read end of a pipe the command writes to; -1 at its end */
	int to;		/* virtio port */
	long long bytes;	/* written to it so far */
};

/* Process 1 must not exit: stop the machine, the message is on the console. */
static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	va_list ap;

	va_start(ap, fmt);
	if (fd >= 0)
		vdprintf(fd, fmt, ap);
	va_end(ap);
	reboot(RB_AUTOBOOT);
	_exit(1);
}

/* Ports are numbered in the order of the host's devices; go by their names. */
static int open_port(const char *name)
{
	DIR *dir = opendir(VPORTS);
	struct dirent *entry;
	char path[300], found[64];
	FILE *file;
	int fd;

	if (!dir)
		die("agent: " VPORTS ": %s", strerror(errno));
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), VPORTS "/%s/name", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (!fgets(found, sizeof(found), file))
			found[0] = '\0';
		fclose(file);
		found[strcspn(found, "\n")] = '\0';
		if (strcmp(found, name))
			continue;
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			die("agent: %s: %s", path, strerror(errno));
		closedir(dir);
		return fd;
	}
	die("agent: no port %s", name);
}

/* Reads the strings of @path into a NULL-terminated array. */
static char **read_strings(const char *path)
{
	char **strings = NULL, *string = NULL;
	size_t count = 0, size = 0;
	FILE *file = fopen(path, "re");

	if (!file)
		die("agent: %s: %s", path, strerror(errno));
	do {
		strings = realloc(strings, (count + 1) * sizeof(*strings));
		if (!strings)
			die("agent: no memory");
		string = NULL;
		if (getdelim(&string, &size, '\0', file) < 0)
			string = NULL;
		strings[count++] = string;
		size = 0;
	} while (string);
	fclose(file);
	if (count < 3)
		die("agent: %s: no command", path);
	return strings;
}

static pid_t start(char **strings, int out, int err)
{
	pid_t pid = fork();
	int null;

	if (pid < 0)
		die("agent: fork: %s", strerror(errno));
	if (pid)
		return pid;

	setsid();
	null = open("/dev/null", O_RDONLY);
	dup2(null, STDIN_FILENO);
	if (null != STDIN_FILENO)
		close(null);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	if (chdir(strings[0])) {
		dprintf(STDERR_FILENO, "tests/vm/run: %s: %s in the guest\n",
			strings[0], strerror(errno));
		_exit(126);
	}
	execvp(strings[1], strings + 1);
	dprintf(STDERR_FILENO, "tests/vm/run: %s: %s in the guest\n", strings[1], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void copy(struct relay *relay)
{
	static char buf[CHUNK];
	ssize_t len, done, n;

	len = read(relay->from, buf, sizeof(buf));
	if (len < 0 && errno == EINTR)
		return;
	if (len <= 0) {
		close(relay->from);
		relay->from = -1;
		return;
	}
	for (done = 0; done < len; done += n) {
		n = write(relay->to, buf + done, len - done);
		if (n < 0) {
			if (errno != EINTR)
				die("agent: output: %s", strerror(errno));
			n = 0;
		}
		relay->bytes += n;
	}
}

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* Returns the command's status as a shell would give it. */
static int relay_until_exit(pid_t child, int exited, struct relay *relays)
{
	struct pollfd pfds[3];
	long long deadline = 0;
	int status = -1, timeout, i, got;
	bool killed = false;
	pid_t pid;
	char byte;

	while (relays[0].from >= 0 || relays[1].from >= 0 || status < 0) {
		for (i = 0; i < 2; i++)
			pfds[i] = (struct pollfd){ .fd = relays[i].from, .events = POLLIN };
		pfds[2] = (struct pollfd){ .fd = exited, .events = POLLIN };

		timeout = -1;
		if (status >= 0 && !killed) {
			timeout = deadline - now_ms();
			if (timeout <= 0) {
				/* the pipes' ends follow, after all that is in them */
				kill(-1, SIGKILL);
				killed = true;
				continue;
			}
		}
		if (poll(pfds, 3, timeout) < 0)
			continue;
		for (i = 0; i < 2; i++)
			if (pfds[i].revents)
				copy(&relays[i]);
		if (!pfds[2].revents || read(exited, &byte, 1) != 1)
			continue;
		/* orphans of the command are ours to reap as well */
		while ((pid = waitpid(-1, &got, WNOHANG)) > 0) {
			if (pid != child)
				continue;
			status = WIFSIGNALED(got) ? 128 + WTERMSIG(got) : WEXITSTATUS(got);
			deadline = now_ms() + LINGER_MS;
		}
	}
	return status;
}

static int wakeup;

static void on_child(int sig)
{
	int saved = errno;

	(void)sig;
	if (write(wakeup, "", 1) < 0)
		errno = saved;	/* full: a wake-up is pending anyway */
	errno = saved;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_child, .sa_flags = SA_RESTART };
	struct relay relays[2];
	int out[2], err[2], exited[2];
	char **strings;
	int status, port;
	pid_t child;

	if (argc != 2)
		die("agent: one argument expected");
	umask(022);
	strings = read_strings(argv[1]);
	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) ||
	    pipe2(exited, O_CLOEXEC | O_NONBLOCK))
		die("agent: pipe: %s", strerror(errno));
	relays[0] = (struct relay){ .from = out[0], .to = open_port("stdout") };
	relays[1] = (struct relay){ .from = err[0], .to = open_port("stderr") };
	port = open_port("status");

	/* from here on the host must not simply try once more */
	dprintf(port, "started\n");
	wakeup = exited[1];
	sigaction(SIGCHLD, &action, NULL);
	child = start(strings, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	status = relay_until_exit(child, exited[0], relays);

	/*
	 * A port takes a write long before the host has it all, and nothing
	 * tells when it does.  So the host is told how much is coming, and
	 * switches off when it has that.
	 */
	kill(-1, SIGKILL);
	sync();
	dprintf(port, "exit %d %lld %lld\n", status, relays[0].bytes, relays[1].bytes);
	for (;;)
		pause();
}
