//! The one UDP socket of a peer. QUIC plays over it, and STUN asks over it how it is seen: from another socket it would hear of
//! another mapping of its router.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mainstay_stun::{MESSAGE_BYTES_MAX, is_stun};
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime as _, TokioRuntime, UdpPoller};
use tokio::sync::mpsc;

/// How many STUN messages wait to be read. There is one question at a time: more are strangers'.
const ANSWERS_MAX: usize = 16;

/// What QUIC is given as its socket.
#[derive(Debug)]
pub(crate) struct Socket {
    udp: Arc<dyn AsyncUdpSocket>,
    answers: mpsc::Sender<Vec<u8>>,
}

impl Socket {
    /// Binds it; what STUN says comes out of the channel. Needs a tokio runtime to live in.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<(Arc<Self>, mpsc::Receiver<Vec<u8>>)> {
        let udp = TokioRuntime.wrap_udp_socket(UdpSocket::bind(address)?)?;
        let (answers, heard) = mpsc::channel(ANSWERS_MAX);
        Ok((Arc::new(Self { udp, answers }), heard))
    }

    /// Sends a datagram that is not QUIC's. It is lost where the system does not take it at once.
    pub(crate) fn send(&self, to: SocketAddr, bytes: &[u8]) {
        let destination = self.as_sent(to);
        let transmit = Transmit { destination, ecn: None, contents: bytes, segment_size: None, src_ip: None };
        if let Err(error) = self.udp.try_send(&transmit) {
            tracing::debug!(%to, %error, "a datagram was not sent");
        }
    }

    /// A socket of IPv6 reaches addresses of IPv4 under other names.
    fn as_sent(&self, to: SocketAddr) -> SocketAddr {
        match (to, self.udp.local_addr()) {
            (SocketAddr::V4(to), Ok(SocketAddr::V6(_))) => (to.ip().to_ipv6_mapped(), to.port()).into(),
            (to, _) => to,
        }
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.udp).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.udp.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(self.udp.poll_recv(cx, buffers, metas))?;
        for (buffer, meta) in buffers.iter().zip(metas).take(count) {
            let received = buffer.get(..meta.len).unwrap_or_default();
            // The system puts several datagrams of one sender into a buffer: nobody sends both kinds from one port.
            if !is_stun(received) {
                continue;
            }
            for datagram in received.chunks(meta.stride.max(1)) {
                if datagram.len() <= MESSAGE_BYTES_MAX {
                    // More than anybody asked for is lost.
                    let _full = self.answers.try_send(datagram.to_vec());
                }
            }
            meta.len = 0;
        }
        Poll::Ready(Ok(count))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.udp.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.udp.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.udp.may_fragment()
    }
}
