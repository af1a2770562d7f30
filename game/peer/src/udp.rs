//! The system's socket under QUIC, woken by what arrives alone. Tokio's own is woken by everything that has left, too: with a
//! game's small packets that is every other time that the process wakes up, for nothing.
//!
//! Whoever finds the socket full waits for room on a second handle of it, which is watched only so long.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use quinn::AsyncUdpSocket;

/// Makes it QUIC's. Needs a tokio runtime to live in.
#[cfg(not(unix))]
pub(crate) fn wrap(socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
    use quinn::Runtime as _;
    quinn::TokioRuntime.wrap_udp_socket(socket)
}

/// Makes it QUIC's. Needs a tokio runtime to live in.
#[cfg(unix)]
pub(crate) fn wrap(socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
    unix::Udp::new(socket).map(|udp| Arc::new(udp) as _)
}

#[cfg(unix)]
mod unix {
    use std::io::{self, IoSliceMut};
    use std::net::{SocketAddr, UdpSocket};
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Poll, ready};

    use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
    use quinn::{AsyncUdpSocket, UdpPoller};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    #[derive(Debug)]
    pub(super) struct Udp {
        arrivals: AsyncFd<UdpSocket>,
        state: UdpSocketState,
        /// Whether the system took no more when somebody last sent.
        is_full: AtomicBool,
    }

    impl Udp {
        pub(super) fn new(socket: UdpSocket) -> io::Result<Self> {
            socket.set_nonblocking(true)?;
            let state = UdpSocketState::new((&socket).into())?;
            let arrivals = watch(socket, Interest::READABLE)?;
            Ok(Self { arrivals, state, is_full: AtomicBool::new(false) })
        }
    }

    #[expect(
        deprecated,
        reason = "its successor is unsafe, for the sake of types that may close their descriptor: a socket owns its own"
    )]
    fn watch(socket: UdpSocket, interest: Interest) -> io::Result<AsyncFd<UdpSocket>> {
        AsyncFd::with_interest(socket, interest)
    }

    /// Somebody who waits until the socket takes more.
    #[derive(Debug)]
    struct Room {
        udp: Arc<Udp>,
        watched: Option<AsyncFd<UdpSocket>>,
    }

    impl UdpPoller for Room {
        fn poll_writable(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let room = self.get_mut();
            // QUIC asks before each packet.
            if !room.udp.is_full.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
            let watched = match &room.watched {
                Some(watched) => watched,
                None => {
                    let handle = room.udp.arrivals.get_ref().try_clone()?;
                    room.watched.insert(watch(handle, Interest::WRITABLE)?)
                }
            };
            ready!(watched.poll_write_ready(cx))?.retain_ready();
            room.watched = None;
            room.udp.is_full.store(false, Ordering::Relaxed);
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncUdpSocket for Udp {
        fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
            Box::pin(Room { udp: self, watched: None })
        }

        fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
            let sent = self.state.send(self.arrivals.get_ref().into(), transmit);
            if sent.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
                self.is_full.store(true, Ordering::Relaxed);
            }
            sent
        }

        fn poll_recv(
            &self,
            cx: &mut Context<'_>,
            buffers: &mut [IoSliceMut<'_>],
            metas: &mut [RecvMeta],
        ) -> Poll<io::Result<usize>> {
            loop {
                let mut ready = ready!(self.arrivals.poll_read_ready(cx))?;
                match ready.try_io(|socket| self.state.recv(socket.get_ref().into(), buffers, metas)) {
                    Ok(Ok(count)) => return Poll::Ready(Ok(count)),
                    // What became of a datagram that was sent earlier; QUIC finds out by itself.
                    Ok(Err(error)) => tracing::trace!(%error, "of an earlier datagram"),
                    Err(_nothing_there) => {}
                }
            }
        }

        fn local_addr(&self) -> io::Result<SocketAddr> {
            self.arrivals.get_ref().local_addr()
        }

        fn max_transmit_segments(&self) -> usize {
            self.state.max_gso_segments()
        }

        fn max_receive_segments(&self) -> usize {
            self.state.gro_segments()
        }

        fn may_fragment(&self) -> bool {
            self.state.may_fragment()
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::future::poll_fn;

        fn to(destination: SocketAddr, contents: &[u8]) -> Transmit<'_> {
            Transmit { destination, ecn: None, contents, segment_size: None, src_ip: None }
        }

        fn bound() -> UdpSocket {
            UdpSocket::bind("127.0.0.1:0").unwrap()
        }

        async fn heard(udp: &Udp) -> (Vec<u8>, SocketAddr) {
            let (mut bytes, mut metas) = ([0; 64], [RecvMeta::default()]);
            let count = poll_fn(|cx| udp.poll_recv(cx, &mut [IoSliceMut::new(&mut bytes)], &mut metas));
            assert_eq!(count.await.unwrap(), 1);
            (bytes[..metas[0].len].to_vec(), metas[0].addr)
        }

        #[tokio::test]
        async fn what_is_sent_arrives() {
            let (one, other) = (Udp::new(bound()).unwrap(), Udp::new(bound()).unwrap());
            one.try_send(&to(other.local_addr().unwrap(), b"hello")).unwrap();
            assert_eq!(heard(&other).await, (b"hello".to_vec(), one.local_addr().unwrap()));
        }

        #[tokio::test]
        async fn whoever_found_it_full_waits_until_it_is_not() {
            let udp = Arc::new(Udp::new(bound()).unwrap());
            udp.is_full.store(true, Ordering::Relaxed);
            let mut room = Arc::clone(&udp).create_io_poller();
            let mut polls = 0;
            poll_fn(|cx| {
                polls += 1;
                room.as_mut().poll_writable(cx)
            })
            .await
            .unwrap();
            assert!(polls > 1, "the system is asked");
            udp.try_send(&to(udp.local_addr().unwrap(), b"hello")).unwrap();
            let mut cx = Context::from_waker(std::task::Waker::noop());
            assert!(room.as_mut().poll_writable(&mut cx).is_ready(), "and not again");
        }

        /// The system's word that nobody listens where something was sent is no end of what comes.
        #[tokio::test]
        async fn a_refusal_is_passed_over() {
            let (udp, gone) = (Udp::new(bound()).unwrap(), bound().local_addr().unwrap());
            udp.arrivals.get_ref().connect(gone).unwrap();
            udp.try_send(&to(gone, b"nobody")).unwrap();
            let late = UdpSocket::bind(gone).unwrap();
            late.send_to(b"here", udp.local_addr().unwrap()).unwrap();
            assert_eq!(heard(&udp).await, (b"here".to_vec(), gone));
        }
    }
}
