//! The laboratory: a small Debian machine of this host's own release under QEMU, without KVM, for what the host's kernel
//! cannot show: control groups of version 2, systemd, and a power cut.
//!
//! The machine is made of the packages that the host's own apt gives ([`packages`]), unpacked and not installed: no
//! script of theirs runs, nobody needs to be root, and it takes seconds. Its disk ([`disk`]) is an ext4 image with the
//! programs of this workspace ([`products`]); its kernel has ext4 and NVMe built in, so there is no initramfs. It does one
//! scenario a boot, named on the kernel's command line, and speaks on its second serial port in [`words`]; the host
//! ([`machine`]) waits for those, and for nothing else.
//!
//! The guest's clock counts instructions (QEMU's `-icount`): on a host that is busy with other things its time goes by
//! more slowly, so that no limit inside passes because of a neighbour. SIGKILL of QEMU takes the guest's page cache with
//! it, as a power cut takes a machine's memory: what is on the disk then is what the guest had waited for.

pub mod disk;
pub mod failure;
pub mod machine;
pub mod packages;
pub mod products;
pub mod words;
