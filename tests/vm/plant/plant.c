// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with bugs, one for each kind that the debug kernel should report:
 * insmod plant.ko bug=NAME. It shows that the net holds, since a checker that
 * was left out of the configuration, or whose words log-check doesn't know,
 * looks just like code without faults.
 */
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *bug = "none";
module_param(bug, charp, 0);

static DEFINE_SPINLOCK(spin);
static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static noinline void touch(void *p)
{
	*(volatile char *)p = 1;
}

static void use_after_free(void)
{
	void *p = kmalloc(64, GFP_KERNEL);

	kfree(p);
	touch(p);
}

static void sleep_under_spinlock(void)
{
	spin_lock(&spin);
	kfree(kmalloc(64, GFP_KERNEL));
	spin_unlock(&spin);
}

static void lock_order(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void leak(void)
{
	touch(kmalloc(64, GFP_KERNEL));
}

static void shift(void)
{
	volatile int by = 40;

	pr_info("%d\n", 1 << by);
}

static void warn(void)
{
	WARN_ON(1);
}

static void null_pointer(void)
{
	touch((void *)8);
}

struct timed {
	struct hrtimer timer;
};

static enum hrtimer_restart expired(struct hrtimer *t)
{
	return HRTIMER_NORESTART;
}

static void free_armed_timer(void)
{
	struct timed *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return;
	hrtimer_init(&t->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	t->timer.function = expired;
	hrtimer_start(&t->timer, ms_to_ktime(10000), HRTIMER_MODE_REL);
	kfree(t);
}

static const struct {
	const char *name;
	void (*plant)(void);
} bugs[] = {
	{ "use_after_free", use_after_free },
	{ "sleep_under_spinlock", sleep_under_spinlock },
	{ "lock_order", lock_order },
	{ "leak", leak },
	{ "shift", shift },
	{ "warn", warn },
	{ "null_pointer", null_pointer },
	{ "free_armed_timer", free_armed_timer },
};

static int __init plant_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(bugs); i++)
		if (!strcmp(bug, bugs[i].name))
			bugs[i].plant();
	return 0;
}

static void __exit plant_exit(void)
{
}

module_init(plant_init);
module_exit(plant_exit);
MODULE_DESCRIPTION("bugs for the checkers to find");
MODULE_LICENSE("GPL");
