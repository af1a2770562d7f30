//! The game itself: a harbour with boats and buoys, in integers, stepped in fixed ticks.
//!
//! A world is a value. Its next state follows from its present one and the tick's orders alone, so two worlds that began
//! alike and were given the same orders are alike, bit for bit, wherever they ran: [`World::hash`] shows it.
//!
//! Lengths are in 1/256 m, directions in 1/65536 of a full turn (0 is east, a quarter is north), speeds in 1/256 m a
//! tick.

use std::collections::BTreeMap;

/// How often the world is stepped while anyone plays.
pub const TICKS_PER_SECOND: u32 = 20;
/// The most boats a world holds: with these, a whole world fits one datagram three times over.
pub const BOATS_MAX: usize = 24;
/// How many buoys float in the harbour.
pub const BUOYS: usize = 3;
/// The harbour is a square of 256 m.
pub const HARBOUR: i32 = 256 * METRE;
/// One metre.
pub const METRE: i32 = 256;
/// The longest form of a world, in bytes.
pub const WORLD_BYTES_MAX: usize = HEAD_BYTES + BOATS_MAX * BOAT_BYTES;

const HEAD_BYTES: usize = 4 + 8 + BUOYS * 8 + 1;
const BOAT_BYTES: usize = 1 + 4 + 4 + 2 + 2 + 1 + 1 + 4;
/// A buoy is taken by a boat within this distance.
const REACH: i64 = 4 * 256;
/// Full throttle, 127, comes to about 10 m/s.
const SPEED_FOR_THROTTLE: i16 = 1;
/// A boat comes an eighth nearer to the speed its throttle asks for in each tick.
const INERTIA: i16 = 8;
/// Full rudder, 127, turns a boat about 28 degrees a second.
const TURN_FOR_RUDDER: i16 = 2;

/// A boat's number, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoatId(pub u8);

/// Where the levers of a boat stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Helm {
    /// Full astern (-128) to full ahead (127).
    pub throttle: i8,
    /// Hard to starboard (-128) to hard to port (127).
    pub rudder: i8,
}

/// One change that a tick brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// A boat enters; one of that number already there stays as it is, and one above [`BOATS_MAX`] is not let in.
    Join,
    /// A boat leaves.
    Leave,
    /// A boat's helm is set.
    Steer(Helm),
}

/// A point in the harbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// From the western edge, 0 to [`HARBOUR`].
    pub x: i32,
    /// From the southern edge, 0 to [`HARBOUR`].
    pub y: i32,
}

/// One boat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boat {
    /// Where it is.
    pub at: Point,
    /// Where it points.
    pub heading: u16,
    /// How fast it goes, astern below zero.
    pub speed: i16,
    /// Where its levers stand.
    pub helm: Helm,
    /// How many buoys it has taken.
    pub score: u32,
}

/// The whole game at one tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    tick: u32,
    random: u64,
    buoys: [Point; BUOYS],
    boats: BTreeMap<BoatId, Boat>,
}

impl World {
    /// An empty harbour; `seed` decides where its buoys float, now and later.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let middle = Point { x: HARBOUR / 2, y: HARBOUR / 2 };
        let mut world = Self { tick: 0, random: seed, buoys: [middle; BUOYS], boats: BTreeMap::new() };
        for index in 0..BUOYS {
            world.buoys[index] = world.draw_point();
        }
        world
    }

    /// How many ticks it has gone; begins again at 0 after 2^32 of them.
    #[must_use]
    pub const fn tick(&self) -> u32 {
        self.tick
    }

    /// Its buoys.
    #[must_use]
    pub const fn buoys(&self) -> &[Point; BUOYS] {
        &self.buoys
    }

    /// Its boats.
    #[must_use]
    pub const fn boats(&self) -> &BTreeMap<BoatId, Boat> {
        &self.boats
    }

    /// One tick: first the orders in their order, then every boat moves, by number.
    pub fn step(&mut self, orders: &[(BoatId, Order)]) {
        self.tick = self.tick.wrapping_add(1);
        for (id, order) in orders {
            match order {
                Order::Join => self.join(*id),
                Order::Leave => drop(self.boats.remove(id)),
                Order::Steer(helm) => {
                    if let Some(boat) = self.boats.get_mut(id) {
                        boat.helm = *helm;
                    }
                }
            }
        }
        let ids: Vec<BoatId> = self.boats.keys().copied().collect();
        for id in ids {
            self.sail(id);
        }
    }

    fn join(&mut self, id: BoatId) {
        if self.boats.len() >= BOATS_MAX || self.boats.contains_key(&id) {
            return;
        }
        let at = self.draw_point();
        self.boats.insert(id, Boat { at, heading: 0, speed: 0, helm: Helm::default(), score: 0 });
    }

    fn sail(&mut self, id: BoatId) {
        let Some(boat) = self.boats.get_mut(&id) else { return };
        let wanted = i16::from(boat.helm.throttle) * SPEED_FOR_THROTTLE;
        let lag = wanted - boat.speed;
        // Rounded away from zero, so that the wanted speed is reached and not only approached.
        boat.speed += (lag + lag.signum() * (INERTIA - 1)) / INERTIA;
        boat.heading = boat.heading.wrapping_add_signed(i16::from(boat.helm.rudder) * TURN_FOR_RUDDER);
        let ahead = i32::from(boat.speed);
        boat.at.x = (boat.at.x + ahead * cosine(boat.heading) / UNIT).clamp(0, HARBOUR);
        boat.at.y = (boat.at.y + ahead * sine(boat.heading) / UNIT).clamp(0, HARBOUR);
        let at = boat.at;
        for index in 0..BUOYS {
            if near(at, self.buoys[index]) {
                self.buoys[index] = self.draw_point();
                if let Some(boat) = self.boats.get_mut(&id) {
                    boat.score = boat.score.saturating_add(1);
                }
            }
        }
    }

    fn draw_point(&mut self) -> Point {
        Point { x: self.draw(), y: self.draw() }
    }

    /// A length below [`HARBOUR`] from SplitMix64, which is part of the world so that its future is too.
    fn draw(&mut self) -> i32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // HARBOUR is 2^16, so the top 16 bits are it.
        i32::from(u16::try_from(mixed >> 48).unwrap_or(u16::MAX))
    }

    /// The world's one form in bytes: tick u32, random state u64, three buoys (x i32, y i32), boat count u8, then each
    /// boat by number: id u8, x i32, y i32, heading u16, speed i16, throttle i8, rudder i8, score u32. Big-endian.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES + self.boats.len() * BOAT_BYTES);
        out.extend(self.tick.to_be_bytes());
        out.extend(self.random.to_be_bytes());
        for buoy in &self.buoys {
            out.extend(buoy.x.to_be_bytes());
            out.extend(buoy.y.to_be_bytes());
        }
        out.push(u8::try_from(self.boats.len()).unwrap_or(u8::MAX));
        for (id, boat) in &self.boats {
            out.push(id.0);
            out.extend(boat.at.x.to_be_bytes());
            out.extend(boat.at.y.to_be_bytes());
            out.extend(boat.heading.to_be_bytes());
            out.extend(boat.speed.to_be_bytes());
            out.extend(boat.helm.throttle.to_be_bytes());
            out.extend(boat.helm.rudder.to_be_bytes());
            out.extend(boat.score.to_be_bytes());
        }
        out
    }

    /// Reads [`World::encode`]'s form; `None` where the bytes are not exactly that, or tell of a world that cannot be.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let tick = u32::from_be_bytes(take(&mut rest)?);
        let random = u64::from_be_bytes(take(&mut rest)?);
        let mut buoys = [Point { x: 0, y: 0 }; BUOYS];
        for buoy in &mut buoys {
            *buoy = take_point(&mut rest)?;
        }
        let count = usize::from(u8::from_be_bytes(take(&mut rest)?));
        let mut boats = BTreeMap::new();
        for _ in 0..count {
            let id = BoatId(u8::from_be_bytes(take(&mut rest)?));
            let in_order = boats.last_key_value().is_none_or(|(last, _)| *last < id);
            let boat = Boat {
                at: take_point(&mut rest)?,
                heading: u16::from_be_bytes(take(&mut rest)?),
                speed: i16::from_be_bytes(take(&mut rest)?),
                helm: Helm {
                    throttle: i8::from_be_bytes(take(&mut rest)?),
                    rudder: i8::from_be_bytes(take(&mut rest)?),
                },
                score: u32::from_be_bytes(take(&mut rest)?),
            };
            // A boat never goes faster than a lever can ask, which also keeps `sail` within its integers.
            let in_reach = i8::try_from(boat.speed).is_ok();
            if !in_order || !in_reach {
                return None;
            }
            boats.insert(id, boat);
        }
        (rest.is_empty() && boats.len() <= BOATS_MAX).then_some(Self { tick, random, buoys, boats })
    }

    /// A fingerprint of the whole world: FNV-1a over [`World::encode`]. Says "alike", guards against no one.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.encode().iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

fn take_point(rest: &mut &[u8]) -> Option<Point> {
    let point = Point { x: i32::from_be_bytes(take(rest)?), y: i32::from_be_bytes(take(rest)?) };
    let inside = (0..=HARBOUR).contains(&point.x) && (0..=HARBOUR).contains(&point.y);
    inside.then_some(point)
}

fn near(one: Point, other: Point) -> bool {
    let (x, y) = (i64::from(one.x - other.x), i64::from(one.y - other.y));
    x * x + y * y <= REACH * REACH
}

/// The length of the hypotenuse for [`sine`].
const UNIT: i32 = 1 << 14;

/// The sine of a direction times [`UNIT`], as the parabola through its zeros and peaks: at most 6 % off, the same on every
/// machine.
fn sine(heading: u16) -> i32 {
    const HALF: i32 = 1 << 15;
    let turn = i32::from(heading);
    let (along, sign) = if turn < HALF { (turn, 1) } else { (turn - HALF, -1) };
    // `along * (HALF - along)` peaks at 2^28, which is 2^14 times UNIT.
    sign * ((along * (HALF - along)) >> 14)
}

fn cosine(heading: u16) -> i32 {
    sine(heading.wrapping_add(1 << 14))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn order() -> impl Strategy<Value = (BoatId, Order)> {
        let order = prop_oneof![
            Just(Order::Join),
            Just(Order::Leave),
            (any::<i8>(), any::<i8>()).prop_map(|(throttle, rudder)| Order::Steer(Helm { throttle, rudder })),
        ];
        ((0..30_u8).prop_map(BoatId), order)
    }

    fn story() -> impl Strategy<Value = Vec<Vec<(BoatId, Order)>>> {
        prop::collection::vec(prop::collection::vec(order(), 0..8), 0..60)
    }

    fn told(seed: u64, story: &[Vec<(BoatId, Order)>]) -> World {
        let mut world = World::new(seed);
        for orders in story {
            world.step(orders);
        }
        world
    }

    proptest! {
        #[test]
        fn the_same_story_gives_the_same_world(seed: u64, story in story()) {
            prop_assert_eq!(told(seed, &story).hash(), told(seed, &story).hash());
        }

        #[test]
        fn a_world_continues_from_its_bytes(seed: u64, story in story(), cut: prop::sample::Index) {
            let whole = told(seed, &story);
            let at = cut.index(story.len() + 1);
            let mut resumed = World::decode(&told(seed, &story[..at]).encode()).unwrap();
            for orders in &story[at..] {
                resumed.step(orders);
            }
            prop_assert_eq!(resumed, whole);
        }

        #[test]
        fn a_world_stays_within_its_bounds(seed: u64, story in story()) {
            let world = told(seed, &story);
            prop_assert!(world.boats().len() <= BOATS_MAX);
            prop_assert!(world.encode().len() <= WORLD_BYTES_MAX);
            prop_assert!(World::decode(&world.encode()).is_some(), "every boat and buoy is inside");
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            if let Some(mut world) = World::decode(&bytes) {
                prop_assert_eq!(world.encode(), bytes);
                world.step(&[]);
            }
        }
    }

    #[test]
    fn hashes_differ_where_worlds_do() {
        let steer = Order::Steer(Helm { throttle: 100, rudder: 3 });
        let sailing = told(1, &[vec![(BoatId(1), Order::Join), (BoatId(1), steer)], vec![]]);
        let lying = told(1, &[vec![(BoatId(1), Order::Join)], vec![]]);
        assert_ne!(sailing.hash(), lying.hash());
        assert_ne!(told(1, &[]).hash(), told(2, &[]).hash());
    }

    #[test]
    fn golden_world() {
        let steer = Order::Steer(Helm { throttle: 127, rudder: -40 });
        let mut story = vec![vec![(BoatId(1), Order::Join), (BoatId(2), Order::Join), (BoatId(1), steer)]];
        story.resize(2000, vec![]);
        let world = told(7, &story);
        assert_eq!(format!("{:016x}", world.hash()), "ee4185dd2812e632");
    }

    #[test]
    fn a_boat_that_reaches_a_buoy_takes_it() {
        let mut world = told(3, &[vec![(BoatId(1), Order::Join)]]);
        let buoy = world.buoys()[0];
        world.boats.get_mut(&BoatId(1)).unwrap().at = buoy;
        world.step(&[]);
        assert_eq!(world.boats()[&BoatId(1)].score, 1);
        assert_ne!(world.buoys()[0], buoy);
    }

    #[test]
    fn full_throttle_is_reached_and_full_stop_too() {
        let mut world = told(3, &[vec![(BoatId(1), Order::Join)]]);
        for (throttle, speed) in [(127, 127), (-128, -128), (0, 0)] {
            world.step(&[(BoatId(1), Order::Steer(Helm { throttle, rudder: 0 }))]);
            for _ in 0..100 {
                world.step(&[]);
            }
            assert_eq!(world.boats()[&BoatId(1)].speed, speed);
        }
    }
}
