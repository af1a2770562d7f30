//! Lines between two sockets of this machine: one that loses datagrams and lets others overtake, and one that is narrow.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Of so many datagrams one is lost, each way.
const LOST: usize = 25;
/// And one is late.
const LATE: usize = 9;
/// By so much.
const LATE_BY: Duration = Duration::from_millis(40);
/// What a narrow line carries a second, in bytes: 2 Mbit/s.
const NARROW: f64 = 250_000.0;
/// How many bytes wait before it, as in a router; of more the newest are lost.
const NARROW_WAITS: usize = 32 * 1024;
/// The longest datagram.
const DATAGRAM_MAX: usize = 65_535;

fn socket() -> Arc<UdpSocket> {
    Arc::new(UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap())
}

/// Where a peer dials that is to reach `far` over a line that loses. It carries what one peer says, as long as the test runs.
pub fn to(far: SocketAddr) -> SocketAddr {
    between(far, carry)
}

/// The same over a narrow one.
pub fn narrow(far: SocketAddr) -> SocketAddr {
    between(far, carry_slowly)
}

fn between(far: SocketAddr, carry: fn(&UdpSocket, &Arc<UdpSocket>)) -> SocketAddr {
    let (here, there) = (socket(), socket());
    there.connect(far).unwrap();
    let door = here.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = vec![0; DATAGRAM_MAX];
        // Whoever dials first is whose line it is.
        let (length, near) = here.recv_from(&mut buffer).unwrap();
        there.send(&buffer[..length]).unwrap();
        here.connect(near).unwrap();
        let back = (Arc::clone(&there), Arc::clone(&here));
        thread::spawn(move || carry(&back.0, &back.1));
        carry(&here, &there);
    });
    door
}

/// Until an end is gone.
fn carry(from: &UdpSocket, to: &Arc<UdpSocket>) {
    let mut buffer = vec![0; DATAGRAM_MAX];
    for number in 1_usize.. {
        let Ok(length) = from.recv(&mut buffer) else { return };
        let datagram = buffer[..length].to_vec();
        if number.is_multiple_of(LOST) {
            continue;
        }
        if number.is_multiple_of(LATE) {
            let to = Arc::clone(to);
            thread::spawn(move || {
                thread::sleep(LATE_BY);
                // The end may be gone by now.
                let _gone = to.send(&datagram);
            });
        } else if to.send(&datagram).is_err() {
            return;
        }
    }
}

/// Until an end is gone.
fn carry_slowly(from: &UdpSocket, to: &Arc<UdpSocket>) {
    let (enters, leaves) = mpsc::channel::<Vec<u8>>();
    let (waits, to) = (Arc::new(AtomicUsize::new(0)), Arc::clone(to));
    let waiting = Arc::clone(&waits);
    thread::spawn(move || {
        let mut free = Instant::now();
        for datagram in leaves {
            free = free.max(Instant::now()) + Duration::from_secs_f64(datagram.len() as f64 / NARROW);
            thread::sleep(free.saturating_duration_since(Instant::now()));
            waiting.fetch_sub(datagram.len(), Ordering::Relaxed);
            if to.send(&datagram).is_err() {
                return;
            }
        }
    });
    let mut buffer = vec![0; DATAGRAM_MAX];
    while let Ok(length) = from.recv(&mut buffer) {
        if waits.load(Ordering::Relaxed) + length > NARROW_WAITS {
            continue;
        }
        waits.fetch_add(length, Ordering::Relaxed);
        if enters.send(buffer[..length].to_vec()).is_err() {
            return;
        }
    }
}
