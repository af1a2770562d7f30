//! When each waiting ticket has to be looked at next: when it has just come, and whenever a limit of its changes.
//!
//! A match can only become possible through a ticket that arrived or whose limits changed, so these moments are all there is
//! to do. Tickets of one step pass their next boundary in the order in which they came, so each step is one queue, and neither
//! adding nor taking out costs more than its ends.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use mainstay_core::Timestamp;

use super::pages::Pages;
use super::slab::{Handle, Kind, Ref, Shape, Slab};
use crate::spec::Gather;

/// Of how many who enter a step the memory is asked for the rows: so many lines are under way at once.
const AHEAD: usize = 12;

/// A place in the order of all that is to be looked at: by time, backfill tickets first, the elder first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// When.
    pub at: Timestamp,
    /// Of which kind.
    pub kind: Kind,
    /// Which one.
    pub arrival: u64,
}

/// Where a ticket stands in the order of all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub since: u64,
    pub kind: Kind,
    pub arrival: u64,
    pub back: Option<Timestamp>,
}

/// How far everything was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookedAt {
    /// Everything up to here was.
    pub until: Cursor,
    /// When all that waited then was to be looked at anew: the last change of the queue's limits.
    pub anew: Timestamp,
    /// What fell behind last, where it did since then.
    pub merged: Option<Merged>,
}

/// Moments that were due and could not be looked at in time: whoever had some is looked at once for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// The first of them.
    pub first: Cursor,
    /// When they are looked at, and their last.
    pub at: Timestamp,
}

impl LookedAt {
    /// All that waited at a moment is to be looked at anew.
    pub(crate) const fn anew(at: Timestamp) -> Self {
        Self { until: Cursor::start_of(at), anew: at, merged: None }
    }

    /// What fell behind, while it is not looked at to its end.
    pub(crate) fn round(&self) -> Option<Merged> {
        self.merged.filter(|merged| self.until < Cursor::end_of(merged.at))
    }
}

/// What is to be looked at, in order.
#[derive(Debug, Clone)]
pub(super) struct Agenda {
    starts: Vec<u64>,
    gather: Gather,
    /// When those are to be looked at who are looked at anew.
    anew: Timestamp,
    /// Of each kind one for each step, and then one for those who are looked at anew.
    lanes: Vec<Pages<(Handle, u32)>>,
    /// The first of each lane, which waits, the next to come last: whoever leaves from the front of its lane is taken out at once, so
    /// that the next moment is the same whether or not the engine was rebuilt since. Whoever leaves from the midst is passed over when
    /// its turn comes. Lanes are few, and the next of a lane comes soon after: so a sorted list is all it takes.
    fronts: Vec<(Cursor, usize)>,
    /// Those who were away for a while, and would stand in a lane behind others that came after them: the next moment of each, and the
    /// step it then is in.
    late: BTreeMap<Cursor, (Handle, u16)>,
    /// Of each of those its moment. What a lane holds of them is from before they went.
    back: BTreeMap<Handle, Cursor>,
}

/// A ticket whose moment has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub cursor: Cursor,
    pub handle: Handle,
    /// The step it enters.
    pub step: u16,
}

impl Cursor {
    /// After everything of one moment.
    #[must_use]
    pub const fn end_of(at: Timestamp) -> Self {
        Self { at, kind: Kind::Ordinary, arrival: u64::MAX }
    }

    /// Before everything of one moment.
    #[must_use]
    pub const fn start_of(at: Timestamp) -> Self {
        Self { at, kind: Kind::Backfill, arrival: 0 }
    }

    /// After the games of one moment, and before its tickets of players.
    #[must_use]
    pub(super) const fn batch_of(at: Timestamp) -> Self {
        Self { at, kind: Kind::Ordinary, arrival: 0 }
    }
}

impl Agenda {
    /// For steps that begin after so many milliseconds, and limits that hold since a moment.
    pub(super) fn new(starts: &[u64], gather: Gather, anew: Timestamp) -> Self {
        Self {
            starts: starts.to_vec(),
            gather,
            anew: gather.next_after(anew),
            lanes: alloc::vec![Pages::new(); (starts.len() + 1) * 2],
            fronts: Vec::new(),
            late: BTreeMap::new(),
            back: BTreeMap::new(),
        }
    }

    /// How many bytes it holds.
    pub(super) fn bytes(&self) -> usize {
        let late = self.late.len() * size_of::<(Cursor, (Handle, u16), Handle, Cursor)>();
        self.lanes.iter().map(Pages::bytes).sum::<usize>() + late
    }

    /// When a ticket enters a step; `None` past the last.
    pub(super) fn moment(&self, since: u64, kind: Kind, arrival: u64, step: usize) -> Option<Cursor> {
        Some(Cursor { at: self.enters(since, *self.starts.get(step)?), kind, arrival })
    }

    /// When somebody is looked at who comes at a moment, comes back, or is to be looked at anew.
    pub(super) const fn after(&self, at: Timestamp) -> Timestamp {
        self.gather.next_after(at)
    }

    /// When a ticket is looked at in a step that begins so long after it has come.
    const fn enters(&self, since: u64, start: u64) -> Timestamp {
        let at = Timestamp::from_unix_ms(since.saturating_add(start));
        if start == 0 { self.gather.next_after(at) } else { self.gather.next_from(at) }
    }

    /// The last step that is entered together with one: where those who come are gathered, several may be at once.
    fn last_with(&self, since: u64, at: Timestamp, step: usize) -> u16 {
        let last = if self.gather == Gather::NONE { step } else { self.entered_by(since, at) - 1 };
        u16::try_from(last).unwrap_or(u16::MAX)
    }

    /// How many steps are entered by a moment.
    #[inline(never)]
    fn entered_by(&self, since: u64, at: Timestamp) -> usize {
        self.starts.partition_point(|start| self.enters(since, *start) <= at)
    }

    /// The first step that is entered together with one.
    fn first_with(&self, row: Ref<'_>, step: usize) -> usize {
        if self.gather == Gather::NONE { step } else { self.first_of_several(row.since(), step) }
    }

    #[inline(never)]
    fn first_of_several(&self, since: u64, step: usize) -> usize {
        let at = self.enters(since, self.starts[step]);
        self.starts.partition_point(|start| self.enters(since, *start) < at)
    }

    /// Has a ticket looked at when it comes, which is when it enters its first step.
    #[inline]
    pub(super) fn add_new(&mut self, place: Place, handle: Handle, comes: Timestamp) {
        let Place { kind, arrival, .. } = place;
        self.put(handle, Cursor { at: comes, kind, arrival }, self.lane(kind, 0));
    }

    /// Has a ticket looked at when it enters a step.
    pub(super) fn add(&mut self, place: Place, handle: Handle, step: usize) {
        let Place { since, kind, arrival, .. } = place;
        let Some(cursor) = self.moment(since, kind, arrival, step) else { return };
        self.put(handle, cursor, self.lane(kind, step));
    }

    /// Has a ticket looked at anew, in the step it is in.
    pub(super) fn add_anew(&mut self, place: Place, handle: Handle) {
        let cursor = Cursor { at: self.anew, kind: place.kind, arrival: place.arrival };
        self.put(handle, cursor, self.lane(cursor.kind, self.starts.len()));
    }

    /// Has one that was away looked at when it enters a step.
    pub(super) fn add_late(&mut self, place: Place, handle: Handle, step: usize) {
        let Place { since, kind, arrival, .. } = place;
        if let Some(cursor) = self.moment(since, kind, arrival, step) {
            self.put_late(handle, cursor, self.last_with(since, cursor.at, step));
        }
    }

    /// Has one that was away looked at as it comes back, in the step it is in.
    pub(super) fn add_back(&mut self, place: Place, handle: Handle, (at, step): (Timestamp, u16)) {
        let cursor = Cursor { at: self.after(at), kind: place.kind, arrival: place.arrival };
        self.put_late(handle, cursor, step);
    }

    /// Has a ticket looked at that fell behind with others, in the step it has come to.
    pub(super) fn add_merged(&mut self, place: Place, handle: Handle, (at, step): (Timestamp, u16)) {
        self.put_late(handle, Cursor { at, kind: place.kind, arrival: place.arrival }, step);
    }

    /// Has everybody who is due by a moment looked at then, and once, in the step it has come to by then.
    pub(super) fn merge(&mut self, slab: &Slab, at: Timestamp) {
        let mut behind = Vec::new();
        while let Some((_, lane)) = self.fronts.pop_if(|(cursor, _)| cursor.at <= at) {
            behind.extend(self.lanes[lane].pop_front().map(|(handle, _)| handle));
            self.show_front(slab, lane);
        }
        let late = self.late.range(..=Cursor::end_of(at));
        behind.extend(late.map(|(_, (handle, _))| *handle).collect::<Vec<_>>());
        for handle in behind {
            self.take_late(handle);
            let row = slab.get(handle);
            let entered = self.entered_by(row.since(), at);
            let step = u16::try_from(entered.saturating_sub(1)).unwrap_or(u16::MAX);
            let cursor = Cursor { at, kind: row.shape().kind, arrival: row.arrival() };
            self.put_late(handle, cursor, step);
        }
    }

    fn put_late(&mut self, handle: Handle, cursor: Cursor, step: u16) {
        self.late.insert(cursor, (handle, step));
        self.back.insert(handle, cursor);
    }

    #[cold]
    #[inline(never)]
    fn take_late(&mut self, handle: Handle) -> bool {
        let cursor = self.back.remove(&handle);
        cursor.is_some_and(|cursor| self.late.remove(&cursor).is_some())
    }

    #[inline]
    fn put(&mut self, handle: Handle, cursor: Cursor, lane: usize) {
        let those = &mut self.lanes[lane];
        let is_first = those.is_empty();
        those.push_back((handle, low(cursor.arrival)));
        if is_first {
            self.put_front((cursor, lane));
        }
    }

    #[inline(never)]
    fn put_front(&mut self, front: (Cursor, usize)) {
        // Those of a lane that come at one moment come one after the other.
        if self.fronts.last().is_none_or(|last| *last > front) {
            self.fronts.push(front);
            return;
        }
        let at = self.fronts.partition_point(|it| *it > front);
        self.fronts.insert(at, front);
    }

    fn lane(&self, kind: Kind, step: usize) -> usize {
        match kind {
            Kind::Backfill => step,
            Kind::Ordinary => self.starts.len() + 1 + step,
        }
    }

    /// Which step those of a lane enter; `None` where they stay in theirs.
    fn step(&self, lane: usize) -> Option<usize> {
        let step = lane % (self.starts.len() + 1);
        (step < self.starts.len()).then_some(step)
    }

    /// Whose moment comes next, if it has come by now. It stays until it is [settled](Self::settle) or its ticket leaves.
    pub(super) fn due(&self, slab: &Slab, until: Timestamp) -> Option<Due> {
        let next = self.next().filter(|cursor| cursor.at <= until)?;
        if !self.late.is_empty()
            && let Some(late) = self.due_late(next)
        {
            return Some(late);
        }
        let (cursor, lane) = *self.fronts.last()?;
        let (handle, _) = *self.lanes[lane].front()?;
        let row = slab.get(handle);
        let step = self.step(lane).map(|step| self.last_with(row.since(), cursor.at, step));
        Some(Due { cursor, handle, step: step.unwrap_or_else(|| row.shape().step) })
    }

    #[cold]
    #[inline(never)]
    fn due_late(&self, cursor: Cursor) -> Option<Due> {
        let (handle, step) = *self.late.get(&cursor)?;
        Some(Due { cursor, handle, step })
    }

    /// Some of those who come after the next, as they stand in its lane.
    pub(super) fn following(&self) -> impl Iterator<Item = Handle> {
        let lane = self.fronts.last().map(|(_, lane)| &self.lanes[*lane]);
        lane.map_or(&[][..], Pages::following).iter().map(|(handle, _)| *handle)
    }

    /// A ticket leaves; its row is still there.
    #[inline]
    pub(super) fn remove(&mut self, slab: &Slab, (handle, row): (Handle, Ref<'_>)) {
        if !self.back.is_empty() && self.take_late(handle) {
            return;
        }
        let Shape { kind, step, .. } = row.shape();
        let (step, it) = (usize::from(step), (handle, low(row.arrival())));
        let entered = self.first_with(row, step);
        // It has entered its step and is to be looked at, or waits for the next, or is to be looked at anew.
        let lanes = [entered, step + 1, self.starts.len()].map(|step| self.lane(kind, step));
        if let Some(lane) = lanes.into_iter().find(|lane| self.lanes[*lane].front() == Some(&it)) {
            self.remove_front(slab, lane);
        }
    }

    /// The first of a lane leaves.
    #[inline(never)]
    fn remove_front(&mut self, slab: &Slab, lane: usize) {
        if let Some(at) = self.fronts.iter().rposition(|(_, of)| *of == lane) {
            self.fronts.remove(at);
        }
        self.lanes[lane].pop_front();
        self.show_front(slab, lane);
    }

    /// When a ticket of a lane is to be looked at.
    #[inline(always)]
    fn cursor(&self, row: Ref<'_>, lane: usize) -> Option<Cursor> {
        let (kind, arrival) = (row.shape().kind, row.arrival());
        match self.step(lane) {
            Some(step) => self.moment(row.since(), kind, arrival, step),
            None => Some(Cursor { at: self.anew, kind, arrival }),
        }
    }

    /// Who enters which step, of this one and those after it, at a moment that is the next to come.
    pub(super) fn entering(&self, slab: &Slab, at: Timestamp, first: usize) -> Vec<(Handle, u16)> {
        let mut entering = Vec::new();
        'lanes: for (_, lane) in self.fronts.iter().rev().take_while(|(cursor, _)| cursor.at == at) {
            let Some(step) = self.step(*lane).filter(|step| *step >= first) else { continue };
            for page in self.lanes[*lane].pages() {
                let mut asked_for = 0;
                for (place, (handle, arrival)) in page.iter().enumerate() {
                    // Two for each, so that few are asked for where few enter.
                    let ahead = page.len().min(place + AHEAD).min(asked_for + 2);
                    let next = page.get(asked_for..ahead).unwrap_or_default().iter();
                    next.for_each(|it| slab.fetch_with_since(it.0));
                    asked_for = ahead;
                    if !is_there(slab, *handle, *arrival) || self.back.contains_key(handle) {
                        continue;
                    }
                    let row = slab.get(*handle);
                    let enters = self.moment(row.since(), row.shape().kind, row.arrival(), step);
                    if enters.is_none_or(|enters| enters.at != at) {
                        continue 'lanes;
                    }
                    entering.push((*handle, self.last_with(row.since(), at, step)));
                }
            }
        }
        entering.extend(self.late.range(Cursor::start_of(at)..=Cursor::end_of(at)).map(|(_, late)| *late));
        entering
    }

    /// Who is due at a moment that is the next to come, in no order.
    pub(super) fn due_at(&self, slab: &Slab, at: Timestamp) -> Vec<Handle> {
        let mut due = Vec::new();
        for (_, lane) in self.fronts.iter().rev().take_while(|(cursor, _)| cursor.at == at) {
            for (handle, arrival) in self.lanes[*lane].iter() {
                if !is_there(slab, *handle, *arrival) || self.back.contains_key(handle) {
                    continue;
                }
                let row = slab.get(*handle);
                if self.cursor(row, *lane).is_none_or(|cursor| cursor.at != at) {
                    break;
                }
                due.push(*handle);
            }
        }
        due.extend(
            self.late.range(Cursor::start_of(at)..=Cursor::end_of(at)).map(|(_, (handle, _))| *handle),
        );
        due
    }

    /// The next moment is over: its ticket is looked at again when it enters the next step.
    pub(super) fn settle(&mut self, slab: &Slab, due: Due) {
        let (row, next) = (slab.get(due.handle), usize::from(due.step) + 1);
        let Cursor { kind, arrival, .. } = due.cursor;
        let place = Place { since: row.since(), kind, arrival, back: None };
        if !self.back.is_empty() && self.take_late(due.handle) {
            self.add_late(place, due.handle, next);
            return;
        }
        let Some((_, lane)) = self.fronts.pop() else { return };
        self.lanes[lane].pop_front();
        self.show_front(slab, lane);
        self.add(place, due.handle, next);
    }

    #[inline(always)]
    fn show_front(&mut self, slab: &Slab, lane: usize) {
        while let Some((handle, arrival)) = self.lanes[lane].front().copied() {
            if is_there(slab, handle, arrival)
                && (self.back.is_empty() || !self.is_back(handle))
                && let Some(cursor) = self.cursor(slab.get(handle), lane)
            {
                self.put_front((cursor, lane));
                return;
            }
            self.lanes[lane].pop_front();
        }
    }

    #[cold]
    #[inline(never)]
    fn is_back(&self, handle: Handle) -> bool {
        self.back.contains_key(&handle)
    }

    /// The next moment, of whoever.
    pub(super) fn next(&self) -> Option<Cursor> {
        let front = self.fronts.last().map(|(cursor, _)| *cursor);
        if self.late.is_empty() { front } else { self.next_of_late(front) }
    }

    #[cold]
    #[inline(never)]
    fn next_of_late(&self, front: Option<Cursor>) -> Option<Cursor> {
        front.into_iter().chain(self.late.keys().next().copied()).min()
    }
}

/// Whether a ticket has not left. Most who are passed over have, and nobody else has come to their rows.
#[inline]
fn is_there(slab: &Slab, handle: Handle, arrival: u32) -> bool {
    slab.is_used(handle) && low(slab.get(handle).arrival()) == arrival
}

/// Tells a ticket from a later one in the same row: 2^32 tickets do not come within one step.
#[expect(
    clippy::cast_possible_truncation,
    reason = "half of an arrival is enough to tell two tenants of a row apart"
)]
const fn low(arrival: u64) -> u32 {
    arrival as u32
}
