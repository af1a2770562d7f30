//! Streams between agents and the plane: ordered in each direction, and what is lost is lost with the stream.

use mainstay_fleet::StreamId;

use super::World;
use crate::agenda::Micros;
use crate::laws::Broken;
use crate::message::{Down, Happening, Host, Life, Up};

/// The longest that one end of a half-open stream believes in it: what keep-alives on the real stream allow.
const HALF_OPEN_MAX: Micros = 30_000_000;

/// One stream, both directions.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) host: Host,
    agent_life: Life,
    plane_life: Life,
    /// When the last frame put in arrives: the next arrives no earlier.
    up_last: Micros,
    down_last: Micros,
    /// Frames that would arrive later than this are lost.
    cut: Option<Cut>,
}

#[derive(Debug, Clone, Copy)]
struct Cut {
    up: Micros,
    down: Micros,
}

impl World {
    /// A new stream from an agent to the plane.
    pub(crate) fn open_stream(&mut self, host: Host, agent_life: Life, plane_life: Life) -> StreamId {
        let stream = StreamId(self.pipes.len() as u64);
        self.pipes.push(Pipe { host, agent_life, plane_life, up_last: 0, down_last: 0, cut: None });
        stream
    }

    pub(crate) fn send_up(&mut self, stream: StreamId, up: Up) {
        let delay = self.message_delay();
        let now = self.now;
        let Some(pipe) = self.pipe_mut(stream) else { return };
        if pipe.cut.is_some() {
            return;
        }
        pipe.up_last = pipe.up_last.max(now + delay);
        let at = pipe.up_last;
        self.agenda.put(at, Happening::FrameUp { stream, up });
    }

    pub(crate) fn send_down(&mut self, stream: StreamId, down: Down) {
        let delay = self.message_delay();
        let now = self.now;
        let Some(pipe) = self.pipe_mut(stream) else { return };
        if pipe.cut.is_some() {
            return;
        }
        pipe.down_last = pipe.down_last.max(now + delay);
        let at = pipe.down_last;
        self.agenda.put(at, Happening::FrameDown { stream, down });
    }

    /// A stream breaks: some of what is under way still arrives, and each end notices in its own time.
    pub(crate) fn break_stream(&mut self, stream: StreamId) {
        let (up, down) = (self.message_delay(), self.message_delay());
        let (mut plane_notices, mut agent_notices) = (up + self.message_delay(), down + self.message_delay());
        if self.struck(self.scenario.network.half_open) {
            let late = self.random.below(HALF_OPEN_MAX);
            if self.random.chance(500_000) {
                plane_notices += late;
            } else {
                agent_notices += late;
            }
        }
        let now = self.now;
        let Some(pipe) = self.pipe_mut(stream) else { return };
        if pipe.cut.is_some() {
            return;
        }
        pipe.cut = Some(Cut { up: now + up, down: now + down });
        let (host, agent_life, plane_life) = (pipe.host, pipe.agent_life, pipe.plane_life);
        self.after(plane_notices, Happening::PlaneNoticesEnd { life: plane_life, stream });
        self.after(agent_notices, Happening::AgentNoticesEnd { host, life: agent_life, stream });
    }

    pub(crate) fn frame_up(&mut self, stream: StreamId, up: Up) -> Result<(), Broken> {
        let now = self.now;
        let Some(pipe) = self.pipe_mut(stream) else { return Ok(()) };
        if pipe.cut.is_some_and(|cut| now > cut.up) || pipe.plane_life != self.plane.life_number {
            return Ok(());
        }
        self.plane_hears(stream, up)
    }

    pub(crate) fn frame_down(&mut self, stream: StreamId, down: Down) -> Result<(), Broken> {
        let now = self.now;
        let Some(pipe) = self.pipe_mut(stream) else { return Ok(()) };
        if pipe.cut.is_some_and(|cut| now > cut.down) {
            return Ok(());
        }
        let (host, agent_life) = (pipe.host, pipe.agent_life);
        if self.machines[host].life_number != agent_life {
            return Ok(());
        }
        self.agent_hears(host, stream, down)
    }

    pub(crate) fn message_delay(&mut self) -> Micros {
        self.delay(self.scenario.network.delay, self.scenario.network.slow_message)
    }

    fn pipe_mut(&mut self, stream: StreamId) -> Option<&mut Pipe> {
        self.pipes.get_mut(usize::try_from(stream.0).ok()?)
    }
}
