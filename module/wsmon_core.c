// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_core.c - init and exit of the module
 */
#include <linux/module.h>
#include <linux/sizes.h>

#include "wsmon_group.h"
#include "wsmon_hintfault.h"

static int __init wsmon_init(void)
{
	int err;

	if (PAGE_SIZE != SZ_4K) {
		pr_err("wsmon: only kernels with pages of 4 KiB are supported\n");
		return -EOPNOTSUPP;
	}
	wsmon_monitor_init(&wsmon, 0);
	err = wsmon_accessed_init();
	if (err)
		return err;
	err = wsmon_debugfs_buffer_init();
	if (err)
		goto err_accessed_exit;
	err = wsmon_probes_init();
	if (err)
		goto err_buffer_exit;
	err = wsmon_debugfs_init();
	if (err)
		goto err_probes_exit;
	/* last, so that no later failure removes it: an open file would outlive the removal */
	err = wsmon_device_init();
	if (err)
		goto err_remove_files;
	/* pairs with wsmon_may_open() */
	smp_store_release(&wsmon_ready, true);
	return 0;

err_remove_files:
	wsmon_debugfs_exit();
err_probes_exit:
	wsmon_probes_exit();
err_buffer_exit:
	wsmon_debugfs_buffer_exit();
err_accessed_exit:
	wsmon_accessed_exit();
	return err;
}

static void __exit wsmon_exit(void)
{
	/* after these two no file can be used, so nobody can start a session */
	wsmon_debugfs_exit();
	wsmon_device_exit();
	wsmon_set_targets(&wsmon, NULL);
	wsmon_probes_exit();
	wsmon_kept_exit();
	wsmon_tlb_drain();
	wsmon_accessed_exit();
	wsmon_session_free(wsmon.session);
	wsmon_debugfs_buffer_exit();
}

module_init(wsmon_init);
module_exit(wsmon_exit);

MODULE_DESCRIPTION("Working set monitor");
MODULE_AUTHOR("The wsmon authors");
MODULE_LICENSE("GPL");
/* as in debian/changelog; it also makes modpost add a srcversion, which "wsmo check" compares */
MODULE_VERSION("0.1");
