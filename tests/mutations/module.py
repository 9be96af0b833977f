# SPDX-License-Identifier: GPL-2.0
"""Mistakes made on purpose, and the tests that must notice each.

(name, kernel, command in the guest or several, each of which must fail,
[(file, what it says, what it is to say)])
"""

STRESS = "env STRESS_SECS=%d STRESS_REGIONS=300 STRESS_CYCLES=6 tests/stress/run "
SELF = "tests/selftests/run "


def stress(names, secs=8):
    return STRESS % secs + names


# with no kernel a command is run here
UNIT = "sh -c 'make -s unit && out/bin/unit'"
CLUSTER = "module/wsmon_regions.c"
GONE = "module/wsmon_wss.c"
DRAW = "module/wsmon_split.c"
WALK, YOUNG, VADDR = ("module/wsmon_%s.c" % n for n in ("walk", "accessed", "mm"))
HOLD, DESCEND = ("module/wsmon_%s.c" % n for n in ("walk", "walk"))
CORE, STATE, SESSION = ("module/wsmon_%s.c" % n for n in ("core", "core", "core"))
THREAD, DEVICE, API = ("module/wsmon_%s.c" % n for n in ("thread", "device", "api"))
INTERVAL, TASK = ("module/wsmon_%s.c" % n for n in ("interval", "task"))
MEMBER, PROBES, KEPT = ("module/wsmon_%s.c" % n for n in ("member", "member", "mm"))
ADAPT, REGIONS, FIT = ("module/wsmon_%s.c" % n for n in ("adapt", "regions", "space"))
X86, ARM64 = ("module/wsmon_%s.h" % n for n in ("x86", "arm64"))
BUFFER, DEBUGFS = ("module/wsmon_%s.c" % n for n in ("buffer", "debugfs"))
PLAIN_STORE = ("({ unsigned long was = READ_ONCE(*val); udelay(50); "
               "WRITE_ONCE(*val, was & ~_PAGE_ACCESSED); true; })")
DELAY_H = (X86, "#include <linux/bitops.h>", "#include <linux/bitops.h>\n#include <linux/delay.h>")

HINT, WHO = ("module/wsmon_%s.c" % n for n in ("hintfault", "hintfault"))

MUTATIONS = [
    ("hint_not_restored", "6.12", SELF + "who/who_test.py", [
        (HINT, "		set_pte_at(mm, addr, ptep, wsmon_hint_to_pte(pte));\n		ss->stats.who_restored++;\n",
         "		ss->stats.who_restored++;\n")]),
    ("hint_with_a_plain_store", "6.12", stress("who_lazyfree", 20), [
        (HINT, "	pte = ptep_get_and_clear(mm, addr, ptep);\n",
         "	pte = READ_ONCE(*ptep);\n	udelay(50);\n"),
        (HINT, "#include <linux/dax.h>", "#include <linux/dax.h>\n#include <linux/delay.h>")]),
    ("hint_without_flush", "6.12", SELF + "who/who_test.py", [
        (HINT, "		wsmon_tlb_flush_wait(ss, mm);\n", ""),
        ("module/wsmon_accessed.c", "		wsmon_tlb_flush(ss, pass->member, pass->mm);", "		;")]),
    ("hint_faults_not_seen", "6.12", SELF + "who/who_test.py", [
        ("module/wsmon_hintfault.c", "	if (!mm || !wsmon_fault_absent(error)",
         "	if (!mm || (address >> PAGE_SHIFT) % 16 == 3 || !wsmon_fault_absent(error)")]),
    ("writes_taken_for_reads", "6.12", SELF + "who/who_test.py", [
        (X86, "error & X86_PF_WRITE ? WSMON_WHO_WRITE : 0", "0")]),
    ("swapped_out_is_new", "6.12", SELF + "who/who_test.py", [
        (HINT, "pte_none(pte) ? WSMON_HINT_ABSENT", "!pte_present(pte) ? WSMON_HINT_ABSENT")]),
    ("everything_is_new", "6.12", SELF + "who/who_test.py", [
        ("module/wsmon_stream.c", "s->hint == WSMON_HINT_ABSENT ? WSMON_WHO_NEW : 0", "WSMON_WHO_NEW")]),
    # it has two nodes
    ("all_memory_is_on_node_0", "debug", SELF + "who/who_test.py", [
        (HINT, "	s->node = page_to_nid(pfn_to_page(pte_pfn(*ptep)));\n", "	s->node = 0;\n")]),
    ("weight_of_a_page_left_out", "6.12", SELF + "who/who_test.py", [
        (WHO, "	return max_t(u32, wsmon_region_share(r), WHO_IDLE);",
         "	return wsmon_region_share(r) < WSMON_ONE ? 1 : WSMON_ONE;"),
        (WHO, "	return step >> 56 ? div64_u64(step, rate) << 8 : div64_u64(step << 8, rate);",
         "	return 256;")]),
    ("secondary_mmu_not_looked_for", "6.12", SELF + "secondary_test.py", [
        (VADDR, "return data_race(mm_has_notifiers(mm));", "return false;")]),
    ("secondary_mmu_not_reported_again", "6.12", SELF + "secondary_test.py", [
        (INTERVAL, "	wsmon_stream_target(t, WSMON_TARGET_AGAIN);\n}", "}")]),
    ("quick_way_among_samplers", "6.12", SELF + "processes_test.py readers_test.py", [
        (HOLD, "!w->notes_until && !(w->vma", "!(w->vma")]),
    ("collapsing_is_an_access", "6.12", SELF + "unused_test.py", [
        (WALK, "	if (walk_note_place(w, r, h, now))\n		seen = false;\n", "")]),
    ("merged_known_by_either", None, UNIT, [(ADAPT, "l->known & r->known", "l->known | r->known")]),
    ("merged_whole_by_either", None, UNIT, [(ADAPT, "l->whole & r->whole", "l->whole | r->whole")]),
    ("merged_doubtful_by_both", None, UNIT, [
        (ADAPT, "c->doubtful[0] | c->doubtful[1]", "c->doubtful[0] & c->doubtful[1]")]),
    ("merged_exact_by_either", None, UNIT, [
        (ADAPT, "c->exact[0] & c->exact[1]", "c->exact[0] | c->exact[1]")]),
    ("merged_lost_by_both", None, UNIT, [(ADAPT, "c->lost[0] | c->lost[1]", "c->lost[0] & c->lost[1]")]),
    ("merged_gap_by_both", None, UNIT, [(ADAPT, "c->gap[0] | c->gap[1]", "c->gap[0] & c->gap[1]")]),
    ("merged_as_young_as_the_younger", None, UNIT, [
        (ADAPT, "min(l->origin_ns, r->origin_ns)", "max(l->origin_ns, r->origin_ns)")]),
    ("merged_samples_know_the_origin", None, UNIT, [
        (ADAPT, "l->armed_ns || r->armed_ns ? 0 :", "false ? 0 :")]),
    ("twice_as_many_pages_are_sampled", None, UNIT, [(FIT, "#define GROWTH	8", "#define GROWTH	1")]),
    ("grown_knows_its_origin", None, UNIT, [
        (FIT, "		r->origin_ns = 0;\n		r->known = 0;", "		r->known = 0;")]),
    ("one_for_all_knows_its_origin", None, UNIT, [
        (FIT, "			f->rs->spare[f->first].origin_ns = 0;", "			;")]),
    ("who_lost_its_sample_knows_its_origin", None, UNIT, [
        (FIT, "			wsmon_region_reset_samples(r);\n			r->origin_ns = 0;",
         "			wsmon_region_reset_samples(r);")]),
    ("dropped_knows_its_origin", None, UNIT, [
        (REGIONS, "			r->origin_ns = 0;\n			r->absent = 0;", "			r->absent = 0;")]),
    ("nothing_is_a_surprise", None, UNIT, [
        ("module/wsmon_wss.c", "#define SURPRISE	9U", "#define SURPRISE	900U")]),
    ("lost_halves_are_certain", None, UNIT, [
        ("module/wsmon_wss.c", "		if (r->lost[h] & BIT(k)) {", "		if (false) {")]),
    ("gaps_are_certain", None, UNIT, [
        ("module/wsmon_wss.c", "		if ((r->lost[h] | r->gap[h]) & BIT(k))", "		if (false)")]),
    ("quick_way_for_what_was_used", "6.12", SELF + "accuracy_test.py", [
        (WALK, "	return !(WSMON_ENTRIES_SHARE &&", "	return true || !(WSMON_ENTRIES_SHARE &&")]),
    ("quick_way_without_flush", "6.12", SELF + "accuracy_test.py", [
        (WALK, "	else if (wsmon_entry_clear_young((unsigned long *)&w->quick[i], 1))\n"
         "		w->pass.dirty_tlb = true;\n",
         "	else\n		wsmon_entry_clear_young((unsigned long *)&w->quick[i], 1);\n")]),
    ("mmap_lock_not_taken", "debug", stress("map"), [
        (VADDR, "		if (mmap_read_trylock(mm)) {", "		{"),
        (VADDR, "			mmap_read_unlock(mm);\n			return false;", "			return false;"),
        (VADDR, "	mmap_read_unlock(mm);\n	held", "	held")]),
    ("mmap_lock_waited_for", "debug", stress("busy_mmap_lock"), [
        (VADDR, "		if (mmap_read_trylock(mm)) {", "		mmap_read_lock(mm);\n		{")]),
    ("page_table_lock_not_taken", "debug", stress("migrate ksm mprotect"), [
        (HOLD, "			spin_lock(*ptl);\n", ""),
        (HOLD, "			spin_unlock(*ptl);\n", ""),
        (HOLD, "	spin_unlock(w->ptl);\n	rcu", "	rcu"),
        (X86, "test_and_clear_bit(_PAGE_BIT_ACCESSED, val)",
         PLAIN_STORE), DELAY_H]),
    # enters page tables of tables_area() once they were freed, and their memory used again;
    # one in eight, because that waits
    ("freed_table_entered", "newest", stress("tables"), [
        (HOLD, "		rcu_read_lock();\n		/*", "		static int nr;\n"
               "		int n = find_vma(mm, addr)->vm_flags & VM_NORESERVE && !(nr++ % 8) ? 25 : 0;\n\n"
               "		while (n-- > 0 && pmd_same(*pmd, READ_ONCE(*pmdp)))\n			msleep(1);\n"
               "		if (n > 0)\n			msleep(60);\n		rcu_read_lock();\n		/*"),
        (HOLD, "		if (likely(pmd_same(*pmd, READ_ONCE(*pmdp)))) {\n			*ptl",
               "		{\n			*ptl"),
        (HOLD, "			if (likely(pmd_same(*pmd, READ_ONCE(*pmdp)))) {", "			{"),
        (HOLD, "#include <linux/fs.h>", "#include <linux/delay.h>\n#include <linux/fs.h>")]),
    ("another_bit_cleared", "6.12", [stress(mode, 3) for mode in (
        "map mprotect fork thp swap_on_zram ksm uffd hugetlb shmem".split())], [
        (X86, "test_and_clear_bit(_PAGE_BIT_ACCESSED, val)",
         "test_and_clear_bit(_PAGE_BIT_PRESENT, val)")]),
    ("another_bit_cleared_on_two_nodes", "debug", stress("migrate", 3), [
        (X86, "test_and_clear_bit(_PAGE_BIT_ACCESSED, val)",
         "test_and_clear_bit(_PAGE_BIT_PRESENT, val)")]),
    ("bit_cleared_by_a_store", "6.12", stress("swap_on_loop", 20), [
        (X86, "test_and_clear_bit(_PAGE_BIT_ACCESSED, val)",
         PLAIN_STORE), DELAY_H]),
    ("dirty_bit_cleared_too", "6.12", stress("memcg_limit file_written_back"), [
        (X86, "test_and_clear_bit(_PAGE_BIT_ACCESSED, val)",
         "(clear_bit(_PAGE_BIT_DIRTY, val), "
         "test_and_clear_bit(_PAGE_BIT_ACCESSED, val))")]),
    ("mm_put_twice", "debug", stress("fork"), [
        (KEPT, "	if (mm)\n		mmput(mm);\n", "	if (mm) {\n		mmput(mm);\n		mmput(mm);\n	}\n")]),
    ("mm_without_users_walked", "debug", stress("exits_at_any_point"), [
        (VADDR, "			if (atomic_read(&mm->mm_users))\n				return true;",
         "			return true;")]),
    ("new_program_not_noticed", "6.12", stress("exec_in_a_loop"), [
        (TASK, "	*changed = mm && (mm != t->mm || exec_id != t->exec_id);",
         "	*changed = mm && !t->mm;")]),
    ("exit_not_reported", "6.12", stress("exit_storm out_of_memory"), [
        (INTERVAL, "	wsmon_stream_exited(t);\n", "")]),
    ("not_freezable", "debug", stress("frozen_machine"), [
        (THREAD, "	set_freezable();\n", ""),
        (THREAD, "TASK_IDLE | TASK_FREEZABLE", "TASK_UNINTERRUPTIBLE"),
        (THREAD, "	try_to_freeze();\n", "")]),
    ("frozen_target_waited_for", "6.12", stress("frozen_target"), [
        (INTERVAL, "	ran = wsmon_target_ran(t, mm) || t->check_again;\n",
         "	int n = 0;\n	while (!(ran = wsmon_target_ran(t, mm)) && n++ < 100)\n"
         "		schedule_timeout_idle(HZ / 10);\n")]),
    ("thread_not_stopped", "debug", stress("load_and_unload"), [
        (CORE, "	wsmon_set_targets(&wsmon, NULL);\n", "")]),
    ("session_not_freed", "debug", stress("nothing_is_leaked"), [
        (SESSION, "	wsmon_session_free(old);\n", "")]),
    ("pid_not_put", "6.12", SELF + "lifecycle_test.py", [
        (STATE, "		put_pid(ss->targets[i].pid);\n", "")]),
    ("spare_not_checked", "debug", stress("memory_is_short"), [
        (STATE, "	if (!rs->r || !rs->spare) {", "	if (!rs->r) {")]),
    ("half_resized", "debug", stress("memory_is_short"), [
        (STATE, "		err = wsmon_regions_alloc(&larger[i], budget);\n"
                  "		if (err) {\n			session_free_room(ss, larger);\n"
                  "			return ERR_PTR(err);\n		}\n",
         "		err = wsmon_regions_alloc(&larger[i], budget);\n"
         "		if (err) {\n			err = 0;\n			larger[i].r = NULL;\n		}\n")]),
    ("missing_file_not_noticed", "debug", stress("load_fails"), [
        (DEBUGFS, "			wsmon_debugfs_exit();\n			return PTR_ERR(file);\n",
         "			return 0;\n")]),
    ("record_over_the_end", "6.12", stress("full_buffer"), [
        (BUFFER, "	if (buffer_room(b) < rec->size + spare ||\n"
                 "	    !buffer_put_lost(b, rec->time_ns)) {",
         "	if (!buffer_put_lost(b, rec->time_ns)) {")]),
    ("reported_again_for_ever", "6.12", SELF + "buffer_test.py", [
        (BUFFER, "!(owed && b->owed && room)", "!b->owed")]),
    ("anybody_may_open", "6.12", SELF + "input_test.py", [
        (STATE, "capable(CAP_SYS_ADMIN) && (!trace || wsmon_may_trace()) ? 0 : -EPERM", "0")]),
    ("pids_of_the_host", "6.12", SELF + "input_test.py", [
        ("module/wsmon_stream.c", "pid_nr_ns(t->pid, t->session->ns)", "pid_nr(t->pid)")]),
    ("bit_not_given_back", "6.12", stress("reclaim_undisturbed"), [
        (YOUNG, "	if (!folio_test_young(folio))\n		folio_set_young(folio);\n", "")]),
    ("texts_of_any_size", "6.12", stress("fuzzed_files"), [
        (DEBUGFS, "!count || count > WSMON_INPUT_MAX || pos", "!count || pos")]),
    ("target_is_a_number", "6.12", stress("used_again_between_two_rounds"), [
        (TASK, "pid_task(t->pid, PIDTYPE_TGID);\n	if (leader)\n",
         "pid_task(find_pid_ns(pid_nr(t->pid), &init_pid_ns), PIDTYPE_TGID);\n"
         "	if (leader)\n")]),
    ("new_memory_not_counted", "6.12", SELF + "regions_test.py", [
        (INTERVAL, "&t->space, f, k,", "&t->space, NULL, k,")]),
    ("region_shown_twice", "6.12", SELF + "regions_test.py", [
        (DEBUGFS, "max(r->start, c->at) << PAGE_SHIFT", "r->start << PAGE_SHIFT")]),
    ("reading_not_bounded", "6.12", SELF + "regions_test.py", [
        (VADDR, "READ_TABLES_ALL	(1024U", "READ_TABLES_ALL	(1024U * 16")]),
    ("holes_are_sampled", "6.12", SELF + "regions_test.py", [
        (VADDR, "return u.pudp && !u.none;", "return u.pudp;")]),
    ("table_taken_as_one", "6.12", SELF + "regions_test.py", [
        (VADDR, "i < nr && pmd_none(READ_ONCE(pmdp[i])) == none;", "i < nr;")]),
    ("own_cpu_not_flushed", "6.12", SELF + "accuracy_test.py", [
        ("module/wsmon_x86.c", "	atomic64_inc(&mm->context.tlb_gen);\n", "")]),
    ("bits_of_a_block_taken_for_single", "arm64", SELF + "shared_bits_test.py", [
        (ARM64, "return pte_valid(pte) && pte_cont(pte) ? CONT_PTES : 1;", "return 1;")]),
    ("pages_of_a_folio_taken_for_accessed", "arm64", SELF + "shared_bits_test.py", [
        (DESCEND, "	return span == 1 && !pte_special(pte) && walk_has_pages(w) &&\n"
               "	       folio_test_large(page_folio(pfn_to_page(pte_pfn(pte))));",
         "	return false;")]),
    ("who_runs_is_not_flushed", "6.12", SELF + "accuracy_test.py", [
        (TASK, "			cpumask_set_cpu(task_cpu(thread), cpus);\n", "			;\n")]),
    ("stale_figures_trusted", "debug", stress("busy_mmap_lock"), [
        (REGIONS, "		r->stale = !r->armed_ns || !(r->last || slept);\n",
         "		r->stale = !r->armed_ns;\n")]),
    ("child_not_followed", "6.12", SELF + "children_test.py", [
        (MEMBER, "		if (m->session->follow && !m->session->cgroup)\n", "		if (0)\n")]),
    ("always_followed", "6.12", SELF + "children_test.py", [
        (MEMBER, "		if (m->session->follow && !m->session->cgroup)\n", "		if (1)\n")]),
    ("threads_are_members", "6.12", SELF + "children_test.py", [
        (PROBES, "!same_thread_group(parent, child) && ", ""),
        (MEMBER, "	if (member_exists(ss, task_tgid(child)))\n		return;\n", "")]),
    ("ends_with_the_last_target", "6.12", SELF + "children_test.py", [
        (THREAD, "	return READ_ONCE(ss->nr_members) ||", "	return ss->nr_alive ||")]),
    ("no_more_spare_members", "6.12", SELF + "children_test.py", [
        (MEMBER, "	if (ss->follow)\n		members_refill(ss);\n	return", "	return")]),
    ("member_pid_not_put", "6.12", SELF + "children_test.py", [
        (KEPT, "	put_pid(m->pid);\n	kfree_rcu", "	kfree_rcu")]),
    ("member_mm_not_put", "6.12", SELF + "children_test.py", [
        (KEPT, "	if (mm)\n		mmput(mm);\n", "")]),
    ("member_mm_put_later", "6.12", SELF + "children_test.py", [
        (KEPT, "	if (mm)\n		mmput(mm);\n", "	if (mm)\n		mmput_async(mm);\n")]),
    ("end_without_a_look", "6.12", SELF + "children_test.py", [
        (KEPT, "	m->waits = wait;\n", "")]),
    ("member_found_when_freed", "debug", SELF + "children_test.py", [
        (MEMBER, "	hlist_del_rcu(&m->hash);\n", "")]),
    ("member_freed_at_once", "debug", SELF + "children_test.py", [
        (KEPT, "	kfree_rcu(m, rcu);\n", "	kfree(m);\n")]),
    ("old_program_not_put", "6.12", SELF + "children_test.py", [
        (PROBES, "		members_leaving(task);\n", "		;\n"),
        (KEPT, "	if (m->kept)\n		mmput_async(m->mm);\n	m->mm", "	m->mm")]),
    ("main_thread_needed", "6.12", SELF + "lifecycle_test.py", [
        (TASK, "	for_each_thread(task, thread) {\n		struct mm_struct *mm = thread_grab_mm(thread);",
         "	for (thread = task; thread; thread = NULL) {\n"
         "		struct mm_struct *mm = thread_grab_mm(thread);")]),
    ("debt_not_paid", "6.12", stress("reclaim_undisturbed"), [
        (YOUNG, "	accessed_report(pass, e);\n	*debt = DEBT_REPORTED;", "	*debt = DEBT_OWED;"),
        (YOUNG, "	if (*debt == DEBT_OWED)\n		accessed_report(pass, e);\n", "")]),
    ("intervals_too_narrow", "6.12", SELF + "accuracy_test.py", [
        ("module/wsmon_wss.c", "#define Z_NUM	196", "#define Z_NUM	98")]),
    ("window_not_served", "6.12", SELF + "accuracy_test.py", [
        (REGIONS, "longest + iv->aggr_ns - 1, iv->aggr_ns", "longest, iv->aggr_ns")]),
    ("one_window_for_all", "6.12", SELF + "accuracy_test.py", [
        (REGIONS, "				  wsmon_seen_share(iv, at, k);", "				  wsmon_seen_share(iv, at, 0);")]),
    ("own_clearing_is_an_access", "6.12", SELF + "cgroup_test.py", [
        (WALK, "v->looked_ns = w.notes_until ? ktime_get_ns() : begin;", "v->looked_ns = begin;")]),
    ("who_ran_is_taken_for_asleep", "6.12", SELF + "group_test.py", [
        (TASK, " && l.sum == *ran &&", " &&")]),
    ("shared_page_in_each_member", "6.12", SELF + "group_test.py", [
        ("module/wsmon_look.c", "last->sample == a->sample && last->frame == a->frame",
         "last == a")]),
    ("rank_does_not_weigh", None, UNIT, [
        ("module/wsmon_space.c", "return rank <= s->chance ? WSMON_ONE :",
         "return true ? WSMON_ONE :")]),
    ("families_in_each_member", "6.12", SELF + "group_test.py", [
        ("module/wsmon_look.c", "return v->found.anon && family == (v->kind == WSMON_PART_FAMILY);",
         "return v->anon && (v->kind != WSMON_PART_FAMILY || family);")]),
    ("shared_with_a_child_that_is_gone", "newest", SELF + "children_test.py", [
        ("module/wsmon_look.c", "return v->found.anon && family == (v->kind == WSMON_PART_FAMILY);",
         "return v->anon && (v->kind == WSMON_PART_FAMILY ? !v->exclusive : !family);")]),
    ("mappings_side_by_side_shared", "6.12", SELF + "group_test.py", [
        ("module/wsmon_group.h", "	if (o->kind == WSMON_PART_FILE || o->mappers < 2)",
         "	if (o->mappers > 1)\n		return true;\n	if (o->kind == WSMON_PART_FILE || o->mappers < 2)")]),
    ("reclaimed_with_a_precision", "6.12", SELF + "pace_test.py", [
        (TASK, "	return nr > WSMON_MAJORS_FEW;", "	return nr > U32_MAX;")]),
    ("reclaimed_in_a_cgroup", "6.12", SELF + "pace_test.py", [
        ("module/wsmon_look.c", "	g->reclaimed |= s->reclaimed;\n", "")]),
    ("late_memory_left_out", None, UNIT, [
        ("module/wsmon_wss.c", "		if (!fresh->drawn[c])", "		if (fresh->late || !fresh->drawn[c])")]),
    ("session_outlives_its_file", "6.12", SELF + "device_test.py", [
        (DEVICE, "	if (last)\n		wsmon_set_targets(mon, NULL);\n", ""),
        (DEVICE, "	if (last)\n		wsmon_monitor_free(mon);\n}\n\n/*\n * End", "}\n\n/*\n * End")]),
    ("who_joins_owns", "6.12", SELF + "device_test.py", [
        (DEVICE, "		mon->owners += owner;\n		f->owner = owner;\n",
         "		mon->owners++;\n		f->owner = true;\n")]),
    ("same_processes_sampled_twice", "6.12", SELF + "device_test.py", [
        (DEVICE, "if (scope ? monitor_has(mon, scope) : ", "if (scope ? false : ")]),
    ("part_of_the_processes_is_enough", "6.12", SELF + "device_test.py", [
        (DEVICE, "	if (ss->nr_targets != scope->nr)\n		return false;\n", ""),
        (DEVICE, "		if (j == scope->nr)\n			return false;",
         "		if (j < scope->nr)\n			return true;")]),
    ("others_attributes_taken", "6.12", SELF + "device_test.py", [
        (DEVICE, "	else if (!monitor_fits(mon, f))", "	else if (0)")]),
    ("a_leaver_ends_all", "6.12", SELF + "device_test.py", [
        (DEVICE, "	last = f->owner && !--mon->owners;", "	last = true;\n	mon->owners--;"),
        (DEVICE, "	if (last)\n		list_del(&mon->node);", "	if (last)\n		list_del_init(&mon->node);")]),
    ("refused_attributes_stay", "6.12", SELF + "device_test.py", [
        (DEVICE, "		f->attrs = attrs;\n		f->asked_len = asked_len;\n", "")]),
    ("notes_not_read", "6.12", SELF + "device_test.py", [
        (YOUNG, "	if (!pass->since)\n		return false;", "	if (1)\n		return false;")]),
    ("notes_not_read_by_checks", "6.12", SELF + "device_test.py", [
        (DESCEND, "!w->pass.settle && !w->pass.since &&", "!w->pass.settle &&")]),
    ("notes_not_written", "6.12", SELF + "device_test.py", [
        (YOUNG, "	if (!pass->shared)\n", "	if (1)\n")]),
    ("cgroup_not_scanned", "6.12", SELF + "cgroup_test.py", [
        (THREAD, "			wsmon_members_scan(ss);\n", "			;\n")]),
    ("who_left_the_cgroup_stays", "6.12", SELF + "cgroup_test.py", [
        (TASK, "	if (!m->session->cgroup)\n		return true;", "	return true;")]),
    ("children_in_the_cgroup_missed", "6.12", SELF + "cgroup_test.py", [
        (MEMBER, "		if (wsmon_cgroup_has(ss, task))\n", "		if (0)\n")]),
    ("removed_cgroup_watched", "6.12", SELF + "cgroup_test.py", [
        ("module/wsmon_member.c", "ss->cgroup && READ_ONCE(ss->cgroup->self.flags) & CSS_ONLINE",
         "ss->cgroup")]),
    ("cgroup_of_others_taken_for_it", "6.12", SELF + "cgroup_test.py", [
        (DEVICE, "return scope->cgroup == ss->cgroup;", "return ss->cgroup;")]),
    ("budget_not_shared", "6.12", SELF + "device_test.py", [
        (STATE, "ss->pace.sharers = max(atomic_read(&running), 1);", "ss->pace.sharers = 1;")]),
    ("bits_set_for_other_samplers", "6.1", SELF + "device_test.py", [
        ("module/wsmon_accessed.c", "	} else if (pass->shared) {", "	} else if (0) {")]),
    ("loss_of_one_is_loss_of_all", "6.12", SELF + "device_test.py", [
        (BUFFER, "			stats->lost_bytes = b->sum_bytes;\n		}",
         "			stats->lost_bytes = b->sum_bytes;\n		}\n		if (rec->type == WSMON_REC_SNAPSHOT && buffer_room(b) < rec->size + BUFFER_SPARE)\n			break;")]),
    ("peaks_outlive_their_attributes", "6.12", SELF + "peaks_test.py", [
        (SESSION, "&mon->attrs))\n		wsmon_events_restart_all(mon->session);",
         "&mon->attrs))\n		;")]),
    ("peaks_outlive_a_program", "6.12", SELF + "peaks_test.py", [
        (INTERVAL, "	wsmon_events_restart(ss, t);\n	t->regions.nr = 0;",
         "	t->regions.nr = 0;")]),
    ("longer_windows_are_no_less", None, UNIT, [
        (REGIONS, "		else if (r->whole & BIT(k))\n			continue;\n",
         "		else if (r->whole & BIT(k)) {\n			for (h = 0; k && h < 2; h++)\n"
         "				r->out[k][h] = max(r->out[k][h], r->out[k - 1][h]);\n"
         "			continue;\n		}\n")]),
    ("limit_not_kept", "6.12", SELF + "regions_test.py", [
        (ADAPT, "	adapt_shrink(rs, sp, ws, rs->limit, true);\n", "")]),
    ("samples_of_targets_alike", "6.12", SELF + "processes_test.py", [
        (STATE, "	t->salt = wsmon_hash64(pid_nr(pid));\n", "")]),
    ("twins_steal_bits", "6.12", SELF + "processes_test.py", [
        (INTERVAL, "!other->gone && !other->twin && target_has_mm(other, mm)", "false")]),
    ("widow_keeps_its_twin", "6.12", SELF + "processes_test.py", [
        (INTERVAL, "	changed |= !!t->twin;\n", "")]),
    ("mm_held_all_round", "6.12", SELF + "processes_test.py", [
        (INTERVAL, "	ran = target_sample(ss, t, mm, changed, boundary, now);\n",
         "	bool user = mmget_not_zero(mm);\n\n"
         "	ran = target_sample(ss, t, mm, changed, boundary, now);\n"
         "	if (user)\n		mmput_async(mm);\n")]),
    ("kept_mm_not_let_go", "6.12", SELF + "processes_test.py", [
        (KEPT, "	complete_all(&m->looked);\n", ""),
        (KEPT, "wait_for_completion_timeout(&m->looked, m->until - now)",
         "wait_for_completion(&m->looked)")]),
    ("look_waited_for_without_end", "6.12", SELF + "device_test.py", [
        (KEPT, "wait_for_completion_timeout(&m->looked, msecs_to_jiffies(WAIT_LOOK_MS))",
         "wait_for_completion(&m->looked)")]),
    ("all_wait_while_held_up", "6.12", SELF + "device_test.py", [
        (KEPT, "if (!m->target && ss->hurry && ", "if (false && ")]),
    ("no_last_look", "6.12", SELF + "processes_test.py", [
        (INTERVAL, "		target_last_look(ss, t, kept, now);\n", "")]),
    ("first_memory_not_counted", None, UNIT, [
        (FIT, "		r->origin_ns = f->origin;\n", "")]),
    ("shared_hugetlb_left_out", "6.12", SELF + "regions_test.py", [
        (HOLD, "	if (wsmon_vma_may_share_tables(vma)) {\n", "	if (wsmon_vma_may_share_tables(vma))\n"
         "		return NULL;\n	if (false) {\n")]),
    ("any_number_of_peaks", "debug", SELF + "peaks_test.py", [
        ("module/wsmon_trace.c", "i % WSMON_PEAKS_KEPT", "i")]),
    ("mapped_around_is_accessed", None, UNIT, [
        ("module/wsmon_wss.c", "		if (r->doubtful[h] & BIT(k))\n", "		if (false)\n")]),
    ("module_gets_no_records", "6.12", SELF + "device_test.py", [
        (BUFFER, "		mon->record(mon->private, rec);\n", "		;\n")]),
    ("records_where_a_module_starts", "6.12", SELF + "device_test.py", [
        (BUFFER, "	if (mon->record && mon->session->thread == current)", "	if (mon->record)")]),
    ("module_starts_twice", "6.12", SELF + "device_test.py", [
        (API, "	if (client_running(c))\n		return -EBUSY;\n	if (!c->nr)", "	if (!c->nr)")]),
    ("stream_without_an_end", "6.12", stress("fuzzed_device"), [
        (BUFFER, "	buffer_put(b, &rec.rec);\n	buffer_end(b);", "	buffer_end(b);")]),
    ("two_sessions_of_a_file", "6.12", stress("fuzzed_device"), [
        (DEVICE, "(f->mon || f->stopped))", "f->mon)")]),
    ("debts_hold_shares_down", None, UNIT, [
        ("module/wsmon_pace.c", "p->debt_ns ? p->limit < fit / 2 :", "p->debt_ns ? false :")]),
    ("share_paid_for_mistaken", None, UNIT, [
        ("module/wsmon_pace.c", "clamp_t(u32, p->first_used, 1, WSMON_ONE)",
         "clamp_t(u32, p->share, 1, WSMON_ONE)")]),
    ("hint_faults_without_rounds", None, UNIT, [
        ("module/wsmon_pace.c", "return a->precision && !a->who_rate && !p->reclaims;", "return a->precision && !p->reclaims;")]),
    ("precision_reacts_late", None, UNIT, [
        ("module/wsmon_pace.c",
         "return !q->wait || !q->raised || ratio > q->ratio + q->ratio / 4;", "return !q->wait && ratio;")]),
    ("buddies_take_turns_apart", None, UNIT, [
        ("module/wsmon_regions.c", "	if (wsmon_regions_buddies(rs, i))\n		end", "	if (0)\n		end")]),
    ("who_ended_uses_regions", "newest", SELF + "pace_test.py", [
        ("module/wsmon_thread.c", "max_t(u64, most, 1)), WSMON_ONE);",
         "max_t(u64, most, ss->mon->attrs.max_regions)), WSMON_ONE);")]),
    ("too_few_tried_again", None, UNIT, [
        ("module/wsmon_pace.c",
         "		q->least = max(q->least, min(q->few, used + used / 4));", "		q->least += 0;")]),
    ("too_few_by_one_estimate", None, UNIT, [
        ("module/wsmon_pace.c", "	if (again && q->share", "	if (wide && q->share"),
        ("module/wsmon_pace.c", "min_t(u32, used + used / 4, WSMON_ONE));\n",
         "min_t(u32, used + used / 4, WSMON_ONE));\n	q->least = max(q->least, min(q->few, used + used / 4));\n")]),
    ("a_burst_asks_for_regions", None, UNIT, [
        ("module/wsmon_pace.c", "if (wide && ratio < q->wide - q->wide / FADES &&", "if (wide && ratio < q->wide / 16 &&")]),
    ("bursts_fade_for_ever", None, UNIT, [
        ("module/wsmon_pace.c", "q->faded < FADES_MAX &&", "q->faded < 1000 &&")]),
    ("changes_are_bursts", None, UNIT, [
        ("module/wsmon_pace.c", "max(pages, q->level) - min(pages, q->level) <= half", "pages")]),
    ("bursts_are_remembered_for_long", None, UNIT, [
        ("module/wsmon_pace.c", "		q->wide = ratio;\n", "")]),
    ("one_estimate_changes_much", None, UNIT, [
        ("module/wsmon_pace.c", "max(again ? need + need / 4 : 0,", "max(need,")]),
    ("first_intervals_count_as_too_few", None, UNIT, [
        ("module/wsmon_pace.c", "	if (again && q->share < WSMON_ONE && q->age == YOUTH)\n", "	if (wide)\n")]),
    ("clusters_everywhere", None, UNIT, [(CLUSTER, "return 2 * r->within >", "return true || 2 * r->within >")]),
    ("sample_page_counts_twice", None, UNIT, [(CLUSTER, "(hit + hweight64(c->seen)) * WSMON_ONE",
                                                "(2 * hit + hweight64(c->seen)) * WSMON_ONE")]),
    ("clusters_remember_for_ever", None, UNIT, [(CLUSTER, "age * iv->aggr_ns + iv->slack_ns <", "age * iv->aggr_ns < BIT(30) * 100 +")]),
    ("clusters_between_mappings", None, UNIT, [(CLUSTER, "== end - start);", "<= end - start);")]),
    ("parts_are_drawn_again", None, UNIT, [(DRAW, "	p->part[i] = p->part[--p->nr];\n", "")]),
    ("all_regions_draw_alike", None, UNIT, [(DRAW, "wsmon_hash64(key ^ (mid << 6 | fls64(r->start ^ (r->end - 1))));", "mid * 0 + key;")]),
    ("chance_is_order", None, UNIT, [(DRAW, "together[0] + together[0] / 8 + together[0] / (2 * s->nr)", "together[0] * 3 / 4")]),
    ("order_lasts", None, UNIT, [(DRAW, "	rest = max(rest, runs_rest(together[1], alone[1]));\n", "")]),
    ("order_ends_later", None, UNIT, [(DRAW, "runs_rest(s->together, s->alone) * root /", "0 * runs_rest(s->together, s->alone) * root /")]),
    ("order_at_once", None, UNIT, [(DRAW, "#define TIMES_MIN	8U", "#define TIMES_MIN	4U")]),
    ("old_draws_add_to_runs", None, UNIT, [(DRAW, " && !r->stale;", ";")]),
    ("new_regions_add_to_runs", None, UNIT, [(DRAW, "return r->times >= WSMON_TIMES_MIN &&", "return")]),
    ("exact_halves_add_to_runs", None, UNIT, [(DRAW, "			if (r->exact[h] & BIT(0))\n				continue;\n", "")]),
    ("order_takes_nothing", None, UNIT, [("module/wsmon_wss.c", "return c->past - c->less;", "return c->past;")]),
    ("halves_tell_the_variance", None, UNIT, [
        ("module/wsmon_wss.c", "if (r->times < WSMON_TIMES_MIN)", "if (r->times < 100)")]),
    ("deviations_of_few_are_small", None, UNIT, [
        ("module/wsmon_regions.c", "div64_u64(d, n), n - 1);", "div64_u64(d, n), n);")]),
    ("merging_forgets_draws", None, UNIT, [
        ("module/wsmon_split.c", "2 * min(l->draws, r->draws)", "min(l->draws, r->draws)")]),
    ("merged_halves_agree", None, UNIT, [
        ("module/wsmon_regions.c", "(r->n[1] ? d * d / 4 : 0);", "(!r->n[1] ? d * d / 4 : 0);")]),
    ("change_is_no_surprise", None, UNIT, [
        ("module/wsmon_wss.c", "if (c->now / surprise > c->past)", "if (surprise > 100)")]),
    ("what_is_over_stays", None, UNIT, [
        ("module/wsmon_wss.c", "c->past / CALM > c->now)", "c->past / CALM > c->now + BIT(60))")]),
    ("faults_alone_are_pages_that_went", None, UNIT, [
        (GONE, "b->frees = b->churn >= matters;", "b->frees = true;")]),
    ("what_was_there_is_new", None, UNIT, [
        (GONE, "b->peak - max(b->begin.anon, now->anon);", "b->peak - now->anon;")]),
    ("signs_of_giving_back_stay", None, UNIT, [
        (GONE, "b->churn += fell - (b->churn + FADE - 1) / FADE;", "b->churn += fell;")]),
    ("copies_are_pages_that_went", None, UNIT, [
        (GONE, "	faults -= copies;\n", "")]),
    ("all_faults_after_a_fork_copy", None, UNIT, [
        (GONE, "min(b->copies, clamp_t(u64, nr, 1, FORKS_MAX) * now->used);", "b->copies;")]),
    ("hint_faults_are_pages_that_went", None, UNIT, [
        (GONE, "	faults -= min(faults, above(now->hints, begin->hints));\n", "")]),
    ("a_huge_page_is_a_page", None, UNIT, [
        (GONE, "above(now->huge_pages, 1) * min(faults,", "0 * min(faults,")]),
    ("unknown_faults_are_many", None, UNIT, [
        (GONE, "	if (now->faults == U64_MAX || begin->faults == U64_MAX)\n		return 0;\n", "")]),
    ("an_old_peak_is_of_now", None, UNIT, [
        (GONE, "	if (now->peak > b->begin.peak)\n", "")]),
    ("what_went_unseen_was_not_used", None, UNIT, [
        (GONE, "above(went.most, there) + unseen)", "above(went.most, there))")]),
    ("files_that_went_are_given_back", None, UNIT, [
        (GONE, "if (!wsmon_class_is_anon(sp->area[r->area].class))\n			continue;\n		for (h = 0",
         "if (!sp->nr_area)\n			continue;\n		for (h = 0")]),
    ("freed_memory_ends_where_samples_say", None, UNIT, [
        (GONE, "unseen + 2 * wsmon_sqrt_up(var)", "unseen")]),
    ("nothing_is_freed_during_looks", None, UNIT, [
        (GONE, "+ unseen)) + went.late;", "+ unseen));")]),
    ("what_went_counts_for_ever", None, UNIT, [
        (GONE, "if (!wsmon_seen_within(iv, g->past[i].end_ns, k))", "if (!g->past[i].end_ns)")]),
    ("long_windows_forget_what_went", None, UNIT, [
        (GONE, "div64_u64(phases + WSMON_GONE - 2, WSMON_GONE - 1)", "1")]),
    ("old_looks_are_of_the_first_interval", None, UNIT, [
        (GONE, "!wsmon_seen_within(iv, r->s[h].seen_ns, k) ||", "!r->s[h].seen_ns ||")]),
    ("what_is_mapped_is_dropped", None, UNIT, [
        (GONE, " ||\n			    space_has(now, &j, r->s[h].vpn))", ")")]),
    ("a_group_forgets_what_went", "6.12", "env WSMON_TESTS=in_a_cgroup " + SELF + "gone_test.py", [
        ("module/wsmon_look.c",
         "		wsmon_wss_add_went(g->wss[k], wsmon_gone_within(&g->gone_past, iv, k));\n", "")]),
    ("samples_forget_what_went", "6.12",
     "env WSMON_TESTS=old_memory_is_given_back " + SELF + "gone_test.py", [
         (WALK, "	r->went |= BIT(h);\n", "")]),
    ("copies_are_new_memory", "6.12", "env WSMON_TESTS=faults_that_copy " + SELF + "gone_test.py", [
        (MEMBER, "		if (child->mm != parent->mm && parent->mm) {\n", "		if (!parent->mm) {\n")]),
    ("what_went_is_left_out", "6.12", "env WSMON_TESTS=it_was_unmapped " + SELF + "gone_test.py", [
        (INTERVAL, "		wsmon_wss_add_went(t->wss[k], wsmon_gone_within(&t->gone_past, iv, k));\n", "")]),
    ("a_long_window_has_a_past", None, UNIT, [
        ("module/wsmon_regions.c", "return iv->nr_windows == 1 && wsmon_interval_phases(iv) == 1;",
         "return iv->nr_windows;")]),
    ("sleepers_have_a_past", None, UNIT, [
        ("module/wsmon_regions.c", "if (!kept || !r->dropped || r->draws <= 1)", "if (!kept || r->draws <= 1)")]),
    ("exact_halves_vary", None, UNIT, [
        ("module/wsmon_wss.c", "	if (wss_given(r, 0) & wss_given(r, 1) & BIT(k))\n		return;", "")]),
    ("parts_are_certain", None, UNIT, [
        ("module/wsmon_wss.c", "wss_scale(doubt * (WSMON_ONE - share), WSMON_SHIFT)", "share ? 0 : doubt")]),
    ("small_doubts_are_none", None, UNIT, [
        ("module/wsmon_wss.c", "c->hot = max(c->hot, wss_scale(doubt * share, WSMON_SHIFT));",
         "c->hot = max(c->hot, doubt * share / WSMON_ONE);")]),
    ("known_to_be_too_few_asks_for_all", None, UNIT, [
        ("module/wsmon_pace.c", "if ((again || (wide && !known)) &&", "if (wide &&"),
        ("module/wsmon_pace.c", "max(again ? need + need / 4 : 0,", "max(again || known ? need : 0,")]),
    ("known_to_be_too_few_waits", None, UNIT, [
        ("module/wsmon_pace.c", "again = wide && q->wide;", "again = wide && q->wide && used >= q->few;")]),
    ("edges_are_sharp", None, UNIT, [
        ("module/wsmon_wss.c", "mul_u64_u64_shr(c->exact, edge,", "mul_u64_u64_shr(c->exact, 0 * edge,")]),
    ("sample_pages_alone", "newest", SELF + "pace_test.py", [
        (CLUSTER, "r->c[h].nr = end - start;", "r->c[h].nr = 0;")]),
]
