// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver as a GPU's would be: it pins a page of the caller's address space
 * long-term, and reads and writes it for as long as its file is open, whatever
 * becomes of the mapping. Each open file pins one page.
 */
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include "gs_pin.h"

static long pin(struct file *f, const struct gs_pin *p)
{
	unsigned int flags = FOLL_LONGTERM | (p->write ? FOLL_WRITE : 0);
	struct page *page;
	int n;

	if (f->private_data)
		return -EBUSY;
	n = pin_user_pages_fast(p->address & PAGE_MASK, 1, flags, &page);
	if (n != 1)
		return n < 0 ? n : -EFAULT;
	f->private_data = page;
	return 0;
}

static long pin_ioctl(struct file *f, unsigned int cmd, unsigned long arg)
{
	struct page *page = f->private_data;
	struct gs_pin p;
	void *at;

	if (copy_from_user(&p, (void __user *)arg, sizeof(p)))
		return -EFAULT;
	if (cmd == GS_PIN)
		return pin(f, &p);
	if (!page || p.offset > PAGE_SIZE - sizeof(u64) || p.offset % sizeof(u64))
		return -EINVAL;
	at = kmap_local_page(page) + p.offset;
	if (cmd == GS_PIN_WRITE)
		WRITE_ONCE(*(u64 *)at, p.value);
	else
		p.value = READ_ONCE(*(u64 *)at);
	kunmap_local(at);
	return copy_to_user((void __user *)arg, &p, sizeof(p)) ? -EFAULT : 0;
}

static int pin_release(struct inode *inode, struct file *f)
{
	if (f->private_data)
		unpin_user_page(f->private_data);
	return 0;
}

/* misc_open() leaves the device here; it means "a pinned page" to us. */
static int pin_open(struct inode *inode, struct file *f)
{
	f->private_data = NULL;
	return 0;
}

static const struct file_operations pin_fops = {
	.owner = THIS_MODULE,
	.open = pin_open,
	.release = pin_release,
	.unlocked_ioctl = pin_ioctl,
};

static struct miscdevice pin_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "gs_pin",
	.fops = &pin_fops,
};

module_misc_device(pin_device);
MODULE_DESCRIPTION("pins a page long-term, for gpushare's tests");
MODULE_LICENSE("GPL");
