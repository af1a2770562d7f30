//! Asks a real game server its query, over a real socket.

use std::net::UdpSocket;
use std::time::Duration;

use mainstay_query::{Answer, Probe, Protocol, Step};

/// How long one datagram is waited for. A silent server is asked again by the caller's own loop.
const PATIENCE: Duration = Duration::from_millis(500);

/// One exchange; nothing when the server did not answer it in time.
pub fn ask(protocol: &Protocol, port: u16) -> Option<Answer> {
    let Probe::Datagrams(mut prober) = protocol.probe(7) else {
        panic!("{protocol} is not asked by datagrams")
    };
    let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.send(&prober.start()).ok()?;
    let mut buffer = vec![0; prober.receive_bytes_max() + 1];
    loop {
        let bytes = socket.recv(&mut buffer).ok()?;
        match prober.receive(&buffer[..bytes]) {
            Step::Send(next) => {
                socket.send(&next).ok()?;
            }
            Step::Done(answer) => return Some(answer),
            Step::Wait => {}
            Step::Refused(malformed) => panic!("port {port}: {malformed}"),
        }
    }
}
