//! A line between two sockets of this machine that loses datagrams and lets others overtake.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Of so many datagrams one is lost, each way.
const LOST: usize = 25;
/// And one is late.
const LATE: usize = 9;
/// By so much.
const LATE_BY: Duration = Duration::from_millis(40);
/// The longest datagram.
const DATAGRAM_MAX: usize = 65_535;

fn socket() -> Arc<UdpSocket> {
    Arc::new(UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap())
}

/// Where a peer dials that is to reach `far` over such a line. It carries what one peer says, as long as the test runs.
pub fn to(far: SocketAddr) -> SocketAddr {
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
