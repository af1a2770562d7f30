//! One host: a namespace, its device, and the programs run in it.

use std::net::Ipv4Addr;
use std::process::Command;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tun_rs::{DeviceBuilder, SyncDevice};

use crate::names::Names;
use crate::nat::{self, Place};
use crate::{Failure, ip};

/// The most hosts of a network: each has an address in both halves of a /23, with room for the network's own and broadcast.
/// Four times the players of CRYENGINE's largest session.
pub const HOSTS_MAX: usize = 253;

/// What fits into one packet: that of Ethernet.
pub(crate) const PACKET_BYTES_MAX: u16 = 1500;

/// Of RFC 2544's net for measuring networks, which is never routed: the half with the first addresses, that with the second.
const HALVES: [[u8; 3]; 2] = [[198, 18, 0], [198, 18, 1]];
/// The address that reaches all.
pub(crate) const BROADCAST: [u8; 4] = [198, 18, 1, 255];

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
            Place::Public => device(&namespace, &[address])?,
            Place::Twice => device(&namespace, &[address, second(index)])?,
            Place::Behind(nat) => {
                let router = names.router(index);
                make(&router)?;
                let device = device(&router, &[address])?;
                nat::build(nat, &router, &namespace)?;
                device
            }
        };
        Ok((Self { namespace, address, place }, device))
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The address others of the network see it by: its own, or its router's.
    #[must_use]
    pub const fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Its second address.
    #[must_use]
    pub fn second_address(&self) -> Option<Ipv4Addr> {
        let [.., last] = self.address.octets();
        (self.place == Place::Twice).then(|| second(usize::from(last) - 1))
    }

    /// The address it sees itself by.
    #[must_use]
    pub fn own_address(&self) -> Ipv4Addr {
        match self.place {
            Place::Public | Place::Twice => self.address,
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
    of(HALVES[0], index)
}

fn second(index: usize) -> Ipv4Addr {
    of(HALVES[1], index)
}

fn of([a, b, c]: [u8; 3], index: usize) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, u8::try_from(index + 1).unwrap_or(u8::MAX))
}

/// Which host an address is of.
pub(crate) fn index(address: [u8; 4]) -> Option<usize> {
    let [a, b, c, last] = address;
    HALVES.contains(&[a, b, c]).then(|| usize::from(last).checked_sub(1)).flatten()
}

fn make(namespace: &str) -> Result<(), Failure> {
    ip(&format!("netns add {namespace}"))?;
    ip(&format!("-n {namespace} link set lo up")).map(drop)
}

/// A device of a namespace, which this process reads and writes.
fn device(namespace: &str, addresses: &[Ipv4Addr]) -> Result<SyncDevice, Failure> {
    let built = within(namespace, || {
        DeviceBuilder::new().name("wan0").mtu(PACKET_BYTES_MAX).enable(false).build_sync()
    })?;
    let device = built.map_err(Failure::to("make a TUN device"))?;
    device.set_nonblocking(true).map_err(Failure::to("make a TUN device not block"))?;
    for address in addresses {
        ip(&format!("-n {namespace} address add {address}/23 broadcast + dev wan0"))?;
    }
    for words in
        [format!("-n {namespace} link set wan0 up"), format!("-n {namespace} route add 224.0.0.0/4 dev wan0")]
    {
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
