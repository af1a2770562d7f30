//! Links over QUIC: one UDP socket a peer, which dials and is dialed; datagrams for what is said again anyway, a stream for
//! each packet that is to come through, so that none waits for another that was lost.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mainstay_migration::PeerId;
use mainstay_wire::peer::{ALPN, Gathering, Malformed, Packet};
use mainstay_wire::relay::Seat;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    AckFrequencyConfig, Chunk, Connection, ConnectionError, Endpoint, EndpointConfig, IdleTimeout, Incoming,
    ReadError, RecvStream, TokioRuntime, TransportConfig, TransportErrorCode, VarInt,
};
use rustls::pki_types::CertificateDer;
use tokio::sync::{mpsc, watch};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::StartError;
use crate::congestion::Little;
use crate::dials::HungUp;
use crate::door::{Door, Entry, LINKS_MAX, Place, Shown};
use crate::key::{Key, Whom, fingerprint};
use crate::lanes::{DATAGRAMS_GIVEN_MAX, Lanes, STREAMS_MAX, WINDOW_BYTES};
use crate::link::{self, Arrival, Arrivals, Ending, Link, Obstacle, Rank, Unreached, Way};
use crate::mirror::Mirror;
use crate::relay::Hailer;
use crate::socket::{Socket, canonical};
use crate::stranger::{self, Room, Share, TooMuch};

/// How often a link that has nothing to say says so: well before a home router forgets a mapping (RFC 4787 asks for two minutes,
/// many give thirty seconds). Half of [`IDLE_MAX`] is left for its repetitions, should it get lost: the first five of them.
/// With 64 peers most links have nothing to say, and this is what they cost.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// After how long without a packet a link is given up. Rules have given up the peer long before; a peer that sleeps longer
/// has to dial anew.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// How long a handshake may take: three tries on a slow mobile link.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);
/// How long one packet may take to come in whole, where a stranger sends it.
const PACKET_MAX: Duration = Duration::from_secs(10);
/// How many datagrams' bytes wait to be read: a second of states at 2 Mbit/s.
const DATAGRAMS_BYTES: usize = 256 * 1024;
/// How long what came may wait to be acknowledged: so long as until the next beat, which that then goes along with. QUIC waits
/// no longer than a round trip, whatever is asked.
const ACKNOWLEDGED_IN: Duration = Duration::from_millis(100);
/// After how many packets it is acknowledged at once: of states that come in a burst the sender has to know soon.
const ACKNOWLEDGED_AFTER: VarInt = VarInt::from_u32(8);
/// The first guess of a round trip: what most players' links stay below.
const FIRST_ROUND_TRIP: Duration = Duration::from_millis(100);
/// How long a peer that goes waits for one more of its last words to arrive: a repetition or two, and of sixty-four on a busy machine a second more. A host that
/// hands over has to be heard once more after it (its word for the new host's view), or the new host has no majority of two; and what it was told and did not take is said
/// to the next one only by whom it has told so.
const LAST_WORD_MAX: Duration = Duration::from_secs(2);
/// How long it waits for all of them, as long as one after the other arrives: nobody's process lives on for longer.
const LAST_WORDS_MAX: Duration = Duration::from_secs(5);
/// How long a peer that goes answers whoever has not heard yet that its link is closed. QUIC wants three times what it waits for an
/// acknowledgement, and on a busy line that was seconds: nobody's process lives on for that. Who misses it finds its link silent.
const BYES_MAX: Duration = Duration::from_secs(1);
/// What a link says when it is closed on purpose.
const BYE: VarInt = VarInt::from_u32(0);
/// A name that TLS wants; nobody reads it.
const NAME: &str = "peer";

/// A socket that dials and is dialed.
#[derive(Debug, Clone)]
pub(crate) struct Quic {
    endpoint: Endpoint,
    mirror: Mirror,
    hailer: Hailer,
    socket: Arc<Socket>,
    key: Key,
    arrivals: Arrivals,
    unheard: Unheard,
}

/// How many packets on streams have not arrived yet, on all links.
#[derive(Debug, Clone)]
struct Unheard(Arc<watch::Sender<usize>>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Said(Arc<watch::Sender<usize>>);

impl Unheard {
    fn say(&self) -> Said {
        self.0.send_modify(|count| *count += 1);
        Said(Arc::clone(&self.0))
    }

    /// Waits until all have arrived, or their links have ended. An error means that none does any more.
    async fn all_heard(&self) -> Result<(), Elapsed> {
        let mut count = self.0.subscribe();
        while *count.borrow_and_update() > 0 {
            // The sender is held here, so it is there.
            let _changed = timeout(LAST_WORD_MAX, count.changed()).await?;
        }
        Ok(())
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Quic {
    /// Binds the socket and lets whoever has a key in. Needs a tokio runtime to live in.
    pub(crate) fn bind(address: SocketAddr, key: &Key, arrivals: Arrivals) -> Result<Self, StartError> {
        let tls = QuicServerConfig::try_from(key.server(ALPN)?).map_err(|_| StartError::NoCipher)?;
        let mut config = quinn::ServerConfig::with_crypto(Arc::new(tls));
        config.transport_config(transport()?);
        let bind = |source| StartError::Bind { address, source };
        let (socket, heard) = Socket::bind(address).map_err(bind)?;
        // The bit that tells QUIC from STUN stays what it is (RFC 9443).
        let mut endpoint = EndpointConfig::default();
        endpoint.grease_quic_bit(false);
        let runtime = Arc::new(TokioRuntime);
        let endpoint =
            Endpoint::new_with_abstract_socket(endpoint, Some(config), Arc::clone(&socket) as _, runtime)
                .map_err(bind)?;
        let unheard = Unheard(Arc::new(watch::Sender::new(0)));
        let quic = Self {
            endpoint: endpoint.clone(),
            mirror: Mirror::start(Arc::clone(&socket), heard.stun),
            hailer: Hailer::start(Arc::clone(&socket), heard.relays),
            socket,
            key: key.clone(),
            arrivals: arrivals.clone(),
            unheard: unheard.clone(),
        };
        tokio::spawn(async move {
            let door = Door::default();
            while let Some(incoming) = endpoint.accept().await {
                let from = incoming.remote_address().ip();
                let shown = if incoming.remote_address_validated() { Shown::Yes } else { Shown::NotYet };
                match door.enter(endpoint.open_connections(), from, shown) {
                    Entry::Granted(place) => {
                        tokio::spawn(answer(incoming, place, arrivals.clone(), unheard.clone()));
                    }
                    Entry::OnceShown => {
                        // It says again that it cannot be, for an address that is not validated always can.
                        let _retried = incoming.retry();
                    }
                    Entry::Full => {
                        tracing::debug!(%from, most = LINKS_MAX, "somebody dialed, and there are too many links");
                        incoming.refuse();
                    }
                }
            }
        });
        Ok(quic)
    }

    pub(crate) fn local_address(&self) -> Result<SocketAddr, StartError> {
        self.endpoint.local_addr().map(canonical).map_err(StartError::Io)
    }

    /// How its socket is seen.
    pub(crate) const fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// Where members of a session make themselves known to its relay.
    pub(crate) const fn hailer(&self) -> &Hailer {
        &self.hailer
    }

    /// A member can be dialed through that relay.
    pub(crate) fn route(&self, seat: Seat, relay: SocketAddr) {
        self.socket.route(seat, relay);
    }

    /// Dials; what comes of it arrives, unless it is hung up before a link stands.
    pub(crate) fn dial(&self, address: SocketAddr, whom: Whom, hung_up: HungUp) -> Result<(), StartError> {
        let tls =
            QuicClientConfig::try_from(self.key.client(ALPN, whom)?).map_err(|_| StartError::NoCipher)?;
        let mut config = quinn::ClientConfig::new(Arc::new(tls));
        config.transport_config(transport()?);
        let connecting = self.endpoint.connect_with(config, address, NAME);
        let (arrivals, unheard) = (self.arrivals.clone(), self.unheard.clone());
        tokio::spawn(async move {
            let connected = async {
                match connecting {
                    Ok(connecting) => match timeout(HANDSHAKE_MAX, connecting).await {
                        Ok(Ok(connection)) => Ok(connection),
                        Ok(Err(error)) => Err((unreached(&error), error.to_string())),
                        Err(_elapsed) => Err((Unreached::NoAnswer, "no answer".to_owned())),
                    },
                    Err(error) => Err((Unreached::NoAnswer, error.to_string())),
                }
            };
            let connected = tokio::select! {
                biased;
                connected = connected => connected,
                _hung_up = hung_up => return,
            };
            match connected {
                Ok(connection) => serve(connection, arrivals, unheard).await,
                Err((why, error)) => {
                    tracing::debug!(%address, ?whom, error, "no link");
                    let peer = match whom {
                        Whom::Peer(peer) => Some(peer),
                        Whom::Anybody => None,
                    };
                    // Where nobody reads any more, the process ends.
                    let _closed = arrivals.send(Arrival::Unreached { peer, address, why }).await;
                }
            }
        });
        Ok(())
    }

    /// Waits a moment for what was said last to arrive, tells every peer that this one goes, and waits a moment until they know.
    pub(crate) async fn close(&self) {
        if !matches!(timeout(LAST_WORDS_MAX, self.unheard.all_heard()).await, Ok(Ok(()))) {
            tracing::debug!("somebody has not heard this peer's last words");
        }
        self.endpoint.close(BYE, b"");
        if timeout(BYES_MAX, self.endpoint.wait_idle()).await.is_err() {
            tracing::debug!("some links are not drained");
        }
    }
}

fn transport() -> Result<Arc<TransportConfig>, StartError> {
    let mut acknowledged = AckFrequencyConfig::default();
    acknowledged.max_ack_delay(Some(ACKNOWLEDGED_IN)).ack_eliciting_threshold(ACKNOWLEDGED_AFTER);
    let mut config = TransportConfig::default();
    config
        .ack_frequency_config(Some(acknowledged))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .max_idle_timeout(Some(IdleTimeout::try_from(IDLE_MAX).map_err(|_| StartError::NoCipher)?))
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        // Until this peer has to do with it.
        .max_concurrent_uni_streams(VarInt::from_u32(stranger::STREAMS_MAX))
        .stream_receive_window(VarInt::from_u32(WINDOW_BYTES))
        .receive_window(VarInt::from_u32(stranger::WINDOW_BYTES))
        .send_window(u64::from(WINDOW_BYTES))
        .datagram_receive_buffer_size(Some(DATAGRAMS_BYTES))
        .datagram_send_buffer_size(DATAGRAMS_GIVEN_MAX)
        .congestion_controller_factory(Arc::new(Little::default()))
        .initial_rtt(FIRST_ROUND_TRIP);
    Ok(Arc::new(config))
}

/// What a handshake that failed tells of whoever is there.
fn unreached(error: &ConnectionError) -> Unreached {
    let is_refused = match error {
        ConnectionError::ConnectionClosed(close) => close.error_code == no_application_protocol(),
        ConnectionError::VersionMismatch => true,
        ConnectionError::TransportError(_)
        | ConnectionError::ApplicationClosed(_)
        | ConnectionError::Reset
        | ConnectionError::TimedOut
        | ConnectionError::LocallyClosed
        | ConnectionError::CidsExhausted => false,
    };
    if is_refused { Unreached::OtherProtocol } else { Unreached::NoAnswer }
}

/// TLS has no protocol that both speak (RFC 7301, section 3.2: alert 120).
fn no_application_protocol() -> TransportErrorCode {
    TransportErrorCode::crypto(120)
}

async fn answer(incoming: Incoming, _place: Place, arrivals: Arrivals, unheard: Unheard) {
    match timeout(HANDSHAKE_MAX, incoming).await {
        Ok(Ok(connection)) => serve(connection, arrivals, unheard).await,
        Ok(Err(error)) => tracing::debug!(%error, "somebody dialed and did not get in"),
        Err(_elapsed) => tracing::debug!("somebody dialed and fell silent"),
    }
}

/// From the handshake on to the end.
async fn serve(connection: Connection, arrivals: Arrivals, unheard: Unheard) {
    let Some(peer) = identity(&connection) else {
        connection.close(BYE, b"");
        return;
    };
    let number = link::number();
    let (lanes, carrier) = Lanes::new();
    let is_relayed = Seat::at(connection.remote_address()).is_some();
    let room = Room::default();
    let link = QuicLink {
        connection: connection.clone(),
        peer,
        number,
        is_relayed,
        lanes,
        unheard,
        room: room.clone(),
    };
    if arrivals.send(Arrival::Up(Arc::new(link))).await.is_err() {
        return;
    }
    let (reading, mut all_read) = mpsc::channel(1);
    let reader =
        Reader { connection: connection.clone(), peer, number, arrivals: arrivals.clone(), room, reading };
    let ended = tokio::select! {
        ended = reader.datagrams() => ended,
        ended = reader.streams() => ended,
        ended = carrier.carry(&connection) => ended,
    };
    // Whoever ends it has waited until its last words had come here, not until they were read.
    reader.streams().await;
    drop(reader);
    all_read.recv().await;
    let why = match ended {
        ConnectionError::ApplicationClosed(_)
        | ConnectionError::ConnectionClosed(_)
        | ConnectionError::Reset => Ending::Closed,
        ConnectionError::LocallyClosed => Ending::Ours,
        ConnectionError::TimedOut
        | ConnectionError::VersionMismatch
        | ConnectionError::TransportError(_)
        | ConnectionError::CidsExhausted => Ending::Silent,
    };
    // Where nobody reads any more, the process ends.
    let _closed = arrivals.send(Arrival::Down { peer, link: number, why }).await;
}

fn identity(connection: &Connection) -> Option<PeerId> {
    let keys = connection.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    keys.first().and_then(fingerprint)
}

struct Reader {
    connection: Connection,
    peer: PeerId,
    number: u64,
    arrivals: Arrivals,
    room: Room,
    /// Held as long as somebody reads.
    reading: mpsc::Sender<Infallible>,
}

impl Reader {
    async fn datagrams(&self) -> ConnectionError {
        loop {
            match self.connection.read_datagram().await {
                Ok(bytes) => self.arrive(&bytes).await,
                Err(ended) => return ended,
            }
        }
    }

    async fn streams(&self) -> ConnectionError {
        loop {
            let mut stream = match self.connection.accept_uni().await {
                Ok(stream) => stream,
                Err(ended) => return ended,
            };
            let reader = Self {
                connection: self.connection.clone(),
                peer: self.peer,
                number: self.number,
                arrivals: self.arrivals.clone(),
                room: self.room.clone(),
                reading: self.reading.clone(),
            };
            tokio::spawn(async move {
                match in_time(&reader.room, whole(&mut stream, reader.room.share())).await {
                    Ok(Ok(bytes)) => reader.arrive(&bytes).await,
                    Ok(Err(error)) => tracing::debug!(peer = %reader.peer, %error, "half a packet"),
                    Err(_elapsed) => tracing::debug!(peer = %reader.peer, "a packet that never ended"),
                }
                drop(reader);
                // What its sender still says of it is let come: to refuse it costs more.
                let _ended =
                    timeout(PACKET_MAX, async { while let Ok(Some(_)) = next(&mut stream).await {} }).await;
            });
        }
    }

    async fn arrive(&self, bytes: &[u8]) {
        match Packet::decode(bytes) {
            Ok(packet) => {
                let arrival = Arrival::Packet { from: self.peer, link: self.number, packet };
                // Where nobody reads any more, the process ends.
                let _closed = self.arrivals.send(arrival).await;
            }
            Err(error) => tracing::debug!(peer = %self.peer, %error, "not a packet"),
        }
    }
}

/// What a member says comes through as long as its link stands, however long a line takes that is behind; what it holds up is its own.
async fn in_time<T>(room: &Room, packet: impl Future<Output = T>) -> Result<T, Elapsed> {
    let mut packet = std::pin::pin!(packet);
    loop {
        match timeout(PACKET_MAX, &mut packet).await {
            Err(_elapsed) if room.is_open() => {}
            done => return done,
        }
    }
}

/// Why a packet did not come.
#[derive(Debug, thiserror::Error)]
enum Half {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
    #[error("it ended before it was whole")]
    Ended,
}

async fn next(stream: &mut RecvStream) -> Result<Option<Chunk>, ReadError> {
    stream.read_chunk(usize::MAX, false).await
}

/// The packet of a stream, once enough of it has come.
async fn whole(stream: &mut RecvStream, mut share: Share) -> Result<Vec<u8>, Half> {
    let mut gathering = Gathering::default();
    while let Some(piece) = next(stream).await? {
        if let Some(packet) = gathering.take(piece.offset, &piece.bytes)? {
            return Ok(packet);
        }
        share.grow(gathering.kept())?;
    }
    Err(Half::Ended)
}

/// One connection.
#[derive(Debug)]
struct QuicLink {
    connection: Connection,
    peer: PeerId,
    number: u64,
    /// As it began: one of the two never becomes the other.
    is_relayed: bool,
    lanes: Lanes,
    unheard: Unheard,
    /// What is kept of packets that are not whole.
    room: Room,
}

impl Link for QuicLink {
    fn peer(&self) -> PeerId {
        self.peer
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn address(&self) -> Option<SocketAddr> {
        Some(canonical(self.connection.remote_address()))
    }

    fn is_relayed(&self) -> bool {
        self.is_relayed
    }

    fn send(&self, bytes: Bytes, way: Way, rank: Rank) -> Result<(), Obstacle> {
        let fits = self.connection.max_datagram_size().is_some_and(|most| bytes.len() <= most);
        match way {
            Way::Datagram if fits => {
                self.lanes.put_datagram(&self.connection, rank, bytes);
                Ok(())
            }
            Way::Datagram if rank == Rank::Game => {
                self.lanes.put_long_datagram(bytes);
                Ok(())
            }
            Way::Datagram | Way::Stream => self.lanes.put(rank, bytes, self.unheard.say()),
        }
    }

    fn received(&self) -> u64 {
        self.connection.stats().udp_rx.datagrams
    }

    fn round_trip(&self) -> Duration {
        self.connection.rtt()
    }

    fn admit(&self) {
        self.room.open();
        self.connection.set_max_concurrent_uni_streams(VarInt::from_u32(STREAMS_MAX));
        self.connection.set_receive_window(VarInt::from_u32(WINDOW_BYTES));
    }

    fn close(&self) {
        self.connection.close(BYE, b"");
    }
}

#[cfg(test)]
mod tests {
    use mainstay_migration::{SessionId, Stamp};
    use mainstay_wire::peer::{Word, lay_out};

    use super::*;
    use crate::link::ARRIVALS_MAX;

    fn word(number: u64, length: usize) -> Packet {
        Packet::Word(Word { session: SessionId(1), stamp: Stamp::NOBODY, number, bytes: vec![0; length] })
    }

    /// "Again until it is there, as long as the link stands": sixty-four on a busy machine took longer than ten seconds for some.
    #[tokio::test(start_paused = true)]
    async fn a_members_packet_may_take_long_and_a_strangers_not() {
        let (room, long) = (Room::default(), 3 * PACKET_MAX);
        assert!(in_time(&room, tokio::time::sleep(long)).await.is_err());
        room.open();
        assert!(in_time(&room, tokio::time::sleep(long)).await.is_ok());
    }

    /// One word after another arrives late: whoever goes waits for them, and not for one that does not arrive at all.
    #[tokio::test(start_paused = true)]
    async fn who_goes_waits_as_long_as_its_words_arrive() {
        let unheard = Unheard(Arc::new(watch::Sender::new(0)));
        let late: Vec<Said> = (0..3).map(|_| unheard.say()).collect();
        tokio::spawn(async move {
            for said in late {
                tokio::time::sleep(LAST_WORD_MAX * 3 / 4).await;
                drop(said);
            }
        });
        assert!(unheard.all_heard().await.is_ok());
        let never = unheard.say();
        assert!(unheard.all_heard().await.is_err());
        drop(never);
    }

    async fn say(connection: &Connection, packet: &Packet) {
        let mut pieces = lay_out(&packet.encode().into());
        let mut stream = connection.open_uni().await.unwrap();
        stream.write_all_chunks(&mut pieces).await.unwrap();
        stream.finish().unwrap();
        stream.stopped().await.unwrap();
    }

    /// Its last words have come when a peer ends a link, and are read before the link is gone, however long their reader was kept from it.
    #[tokio::test]
    async fn what_has_come_is_read_though_the_link_has_ended() {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let (arrivals_in, mut arrivals) = mpsc::channel(1);
        let quic = Quic::bind(loopback, &Key::new().unwrap(), arrivals_in.clone()).unwrap();
        for _ in 0..8 {
            // There is room for one: whoever serves the link waits until the test reads.
            let full = Arrival::Unreached { peer: None, address: loopback, why: Unreached::NoAnswer };
            arrivals_in.send(full).await.unwrap();
            let key = Key::new().unwrap();
            let tls = QuicClientConfig::try_from(key.client(ALPN, Whom::Anybody).unwrap()).unwrap();
            let config = quinn::ClientConfig::new(Arc::new(tls));
            let endpoint = Endpoint::client(loopback).unwrap();
            let connecting = endpoint.connect_with(config, quic.local_address().unwrap(), NAME).unwrap();
            let connection = connecting.await.unwrap();
            for number in 1..=3 {
                say(&connection, &word(number, 1)).await;
            }
            endpoint.close(BYE, b"");
            endpoint.wait_idle().await;
            let mut seen = Vec::new();
            loop {
                match arrivals.recv().await {
                    Some(Arrival::Packet { packet: Packet::Word(word), .. }) => seen.push(word.number),
                    Some(Arrival::Down { .. }) => break,
                    Some(Arrival::Up(_) | Arrival::Unreached { .. } | Arrival::Packet { .. }) => {}
                    None => panic!("it is served"),
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, [1, 2, 3]);
        }
    }

    /// Whoever has a peer's address could have it keep 2 MiB for each link, and a megabyte for each of 224 streams.
    #[tokio::test]
    async fn a_stranger_has_few_streams_and_little_is_kept_of_it_until_it_is_met() {
        let (loopback, key) = (SocketAddr::from(([127, 0, 0, 1], 0)), Key::new().unwrap());
        let (arrivals_in, mut arrivals) = mpsc::channel(ARRIVALS_MAX);
        let quic = Quic::bind(loopback, &Key::new().unwrap(), arrivals_in).unwrap();
        let tls = QuicClientConfig::try_from(key.client(ALPN, Whom::Anybody).unwrap()).unwrap();
        let (config, endpoint) =
            (quinn::ClientConfig::new(Arc::new(tls)), Endpoint::client(loopback).unwrap());
        let connecting = endpoint.connect_with(config, quic.local_address().unwrap(), NAME).unwrap();
        let connection = connecting.await.unwrap();
        let Some(Arrival::Up(link)) = arrivals.recv().await else { panic!("a link stands") };

        // Asked once: a stream is there or it is not.
        let mut streams = Vec::new();
        while let Ok(stream) = timeout(Duration::ZERO, connection.open_uni()).await {
            streams.push(stream.unwrap());
        }
        assert_eq!(streams.len(), 8);
        let taken = streams[0].write(&[0; 200_000]).await.unwrap();
        assert_eq!(taken, 64 * 1024, "what it may have under way, and no offset lies beyond it");
        drop(streams);

        say(&connection, &word(1, 40_000)).await;
        say(&connection, &word(2, 1)).await;
        let mut seen = Vec::new();
        let mut see = async |arrivals: &mut mpsc::Receiver<Arrival>, wanted: u64| {
            while !seen.contains(&wanted) {
                if let Some(Arrival::Packet { packet: Packet::Word(word), .. }) = arrivals.recv().await {
                    seen.push(word.number);
                }
            }
        };
        see(&mut arrivals, 2).await;
        link.admit();
        say(&connection, &word(3, 40_000)).await;
        see(&mut arrivals, 3).await;
        say(&connection, &word(4, 1)).await;
        see(&mut arrivals, 4).await;
        assert_eq!(seen, [2, 3, 4], "a stranger says nothing long");
        let mut streams = Vec::new();
        for _ in 0..STREAMS_MAX / 2 {
            streams.push(connection.open_uni().await.unwrap());
        }
    }
}
