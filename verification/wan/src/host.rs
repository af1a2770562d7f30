//! One host: a namespace, its device, and the programs run in it.

use std::net::Ipv4Addr;
use std::process::Command;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tun_rs::{DeviceBuilder, SyncDevice};

use crate::names::Names;
use crate::nat::{self, Place};
use crate::{Failure, ip};

/// The most hosts of a network: its addresses are one /24, with room for the network's own and broadcast. Four times
/// the players of CRYENGINE's largest session.
pub const HOSTS_MAX: usize = 253;

/// What fits into one packet: that of Ethernet.
pub(crate) const PACKET_BYTES_MAX: u16 = 1500;

/// The first address is one above: of RFC 2544's net for measuring networks, which is never routed.
const NET: [u8; 3] = [198, 18, 0];
/// The last byte of the address that reaches all.
pub(crate) const BROADCAST: u8 = 255;

/// A host of a network.
#[derive(Debug)]
pub struct Host {
    namespace: String,
    address: Ipv4Addr,
    place: Place,
}

impl Host {
    pub(crate) fn new(names: &Names, index: usize, place: Place) -> Result<(Self, SyncDevice), Failure> {
        let namespace = names.host(index);
        let address = address(index);
        make(&namespace)?;
        let device = match place {
            Place::Public => device(&namespace, address)?,
            Place::Behind(nat) => {
                let router = names.router(index);
                make(&router)?;
                let device = device(&router, address)?;
                nat::build(nat, &router, &namespace)?;
                device
            }
        };
        Ok((Self { namespace, address, place }, device))
    }

    /// The address others of the network see it by: its own, or its router's.
    #[must_use]
    pub const fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The address it sees itself by.
    #[must_use]
    pub fn own_address(&self) -> Ipv4Addr {
        match self.place {
            Place::Public => self.address,
            Place::Behind(_) => nat::INSIDE.parse().unwrap_or(Ipv4Addr::UNSPECIFIED),
        }
    }

    /// A program to run on it. It is the caller's to end.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace]).arg(program);
        command
    }

    /// Runs something in a thread of its own that is on this host: its sockets are.
    ///
    /// # Errors
    /// [`Failure::System`] where the thread may not go there.
    ///
    /// # Panics
    /// As what it runs does.
    pub fn inside<T: Send>(&self, run: impl FnOnce() -> T + Send) -> Result<T, Failure> {
        within(&self.namespace, run)
    }
}

fn address(index: usize) -> Ipv4Addr {
    let last = u8::try_from(index + 1).unwrap_or(BROADCAST);
    Ipv4Addr::new(NET[0], NET[1], NET[2], last)
}

/// Which host an address is of.
pub(crate) fn index(address: [u8; 4]) -> Option<usize> {
    let [a, b, c, last] = address;
    ([a, b, c] == NET && last != BROADCAST).then(|| usize::from(last).checked_sub(1)).flatten()
}

fn make(namespace: &str) -> Result<(), Failure> {
    ip(&format!("netns add {namespace}"))?;
    ip(&format!("-n {namespace} link set lo up")).map(drop)
}

/// A device of a namespace, which this process reads and writes.
fn device(namespace: &str, address: Ipv4Addr) -> Result<SyncDevice, Failure> {
    let built = within(namespace, || {
        DeviceBuilder::new().name("wan0").mtu(PACKET_BYTES_MAX).enable(false).build_sync()
    })?;
    let device = built.map_err(Failure::to("make a TUN device"))?;
    device.set_nonblocking(true).map_err(Failure::to("make a TUN device not block"))?;
    for words in [
        format!("-n {namespace} address add {address}/24 broadcast + dev wan0"),
        format!("-n {namespace} link set wan0 up"),
        format!("-n {namespace} route add 224.0.0.0/4 dev wan0"),
    ] {
        ip(&words)?;
    }
    Ok(device)
}

fn within<T: Send>(namespace: &str, run: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    let place = std::fs::File::open(std::path::Path::new("/var/run/netns").join(namespace))
        .map_err(Failure::to("open a network namespace"))?;
    let entered = thread::scope(|scope| {
        let inside = scope.spawn(|| {
            move_into_link_name_space(std::os::fd::AsFd::as_fd(&place), Some(LinkNameSpaceType::Network))?;
            Ok(run())
        });
        inside.join()
    });
    match entered {
        Ok(entered) => {
            entered.map_err(|error: rustix::io::Errno| Failure::to("enter a network namespace")(error.into()))
        }
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
