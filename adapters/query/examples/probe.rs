//! Probes one server and says what it answered: the smallest hand for this crate, and a tool for trying a protocol on a
//! real server. `cargo run -p mainstay-query --example probe -- teeworlds 127.0.0.1:8303`

use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::net::{TcpStream, UdpSocket};

use mainstay_query::{ANSWER_TIMEOUT, Answer, Probe, Prober, Protocol, RECEIVE_BYTES_MAX, Step};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(protocol), Some(server)) = (args.next(), args.next()) else {
        return Err("usage: probe PROTOCOL ADDRESS:PORT".into());
    };
    let protocol: Protocol = protocol.parse()?;
    let nonce = u32::try_from(RandomState::new().hash_one(&server) >> 32)?;
    let answer = match protocol.probe(nonce) {
        Probe::Nothing => Answer::default(),
        Probe::Connect => TcpStream::connect(&server).map(|_| Answer::default())?,
        Probe::Datagrams(prober) => exchange(prober, &server)?,
    };
    writeln!(io::stdout(), "{answer:?}")?;
    Ok(())
}

fn exchange(mut prober: Prober, server: &str) -> Result<Answer, Box<dyn Error>> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    socket.send(&prober.start())?;
    let mut buffer = vec![0; RECEIVE_BYTES_MAX + 1];
    loop {
        let length = socket.recv(&mut buffer)?;
        match prober.receive(&buffer[..length]) {
            Step::Send(packet) => drop(socket.send(&packet)?),
            Step::Done(answer) => return Ok(answer),
            Step::Wait => {}
            Step::Refused(malformed) => return Err(malformed.into()),
        }
    }
}
