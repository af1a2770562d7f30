//! Who comes to a queue: tickets from a seed, one stream of numbers for each purpose, in integers alone, so that the same seed gives
//! the same tickets on every machine.
//!
//! The distributions and their sources are those of our reference on matchmaking performance (section 11): skill normal(1500, 350),
//! parties by a shared and an own part, ten sites, skewed modes.

use std::sync::Arc;

use mainstay_matchmaking::bare::{Facts, Game, Text};
use mainstay_matchmaking::{Amount, Attributes, Entity, Member, Seated, ServerDetails, Value};

/// Numbers from a seed (splitmix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The stream of one purpose.
    pub fn new(seed: u64, purpose: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Any number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `sides`.
    pub fn below(&mut self, sides: u32) -> u32 {
        (((self.roll() >> 32) * u64::from(sides)) >> 32) as u32
    }

    /// Which of these shares of a hundred.
    fn share(&mut self, shares: &[u32]) -> usize {
        let mut left = self.below(shares.iter().sum());
        let found = shares.iter().position(|share| {
            let here = left < *share;
            left = left.saturating_sub(*share);
            here
        });
        found.unwrap_or(0)
    }

    /// Normal in thousandths of its deviation: twelve uniform numbers less their middle.
    fn normal(&mut self) -> i64 {
        (0..12).map(|_| i64::from(self.below(1_000))).sum::<i64>() - 5_994
    }

    /// How many come where so many are expected (Poisson): as many times how many come where one is.
    fn poisson(&mut self, mean: u32) -> u32 {
        let of_one = |dice: &mut Self| {
            let draw = (dice.roll() >> 32) as u32;
            u32::try_from(AT_MOST.iter().take_while(|at_most| draw >= **at_most).count()).unwrap_or(0)
        };
        (0..mean).map(|_| of_one(self)).sum()
    }

    /// How often something of one in `n` does not happen before it does: exponential around `n`.
    fn rare(&mut self, n: u32) -> u32 {
        let mut times = 0;
        while times < 40 * n && self.below(n + 1) != 0 {
            times += 1;
        }
        times
    }
}

/// Of 2^32 draws, how many are at most 0, 1, 2 and so on where one is expected (Poisson): beyond the last nothing is left.
const AT_MOST: [u32; 12] = [
    1_580_030_168,
    3_160_060_337,
    3_950_075_421,
    4_213_413_783,
    4_279_248_373,
    4_292_415_291,
    4_294_609_777,
    4_294_923_276,
    4_294_962_463,
    4_294_966_817,
    4_294_967_252,
    4_294_967_292,
];
/// Parties of one to five, in percent.
const PARTIES: [u32; 5] = [62, 24, 5, 3, 6];
/// The ten sites: share in percent, and where on a plane in milliseconds of round trip.
const SITES: [(u32, (i64, i64)); 10] = [
    (10, (0, 20)),
    (13, (15, 0)),
    (7, (40, 10)),
    (9, (70, 30)),
    (17, (95, 5)),
    (11, (110, 25)),
    (5, (150, 70)),
    (11, (190, 40)),
    (12, (215, 60)),
    (5, (240, 110)),
];
/// Who tanks, who deals damage and who supports, in percent.
const ROLES: [u32; 3] = [24, 50, 26];
/// Of modes the share with which each is a ticket's first, in percent.
const MODES: [u32; 8] = [34, 22, 14, 10, 8, 5, 4, 3];

/// Which parts of a ticket a queue reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Skill; everybody comes alone.
    Skill,
    /// The same, and the skill of teams.
    Teams,
    /// Skill, regions, modes and the skill of teams; parties.
    Everything,
    /// The same of parties that four seats hold.
    Fours,
    /// The same as everything, the build, and who can host.
    Eight,
    /// Skill and roles; everybody comes alone.
    Roles,
    /// Skill, regions and how many they are; parties of up to four.
    Crowd,
}

impl Reads {
    /// The largest party.
    const fn party_max(self) -> usize {
        match self {
            Self::Skill | Self::Teams | Self::Roles => 1,
            Self::Fours | Self::Crowd => 4,
            Self::Everything | Self::Eight => PARTIES.len(),
        }
    }
}

/// Builds of the game: nine of ten players have the newer one.
const BUILDS: [&str; 2] = ["new", "old"];

/// The players of a ticket.
#[derive(Debug)]
pub struct Party {
    reads: Reads,
    skills: Vec<i64>,
    modes: Vec<Arc<str>>,
    latencies: Vec<(Arc<str>, u32)>,
    build: Option<Arc<str>>,
    /// What each of its players adds to the queue's totals.
    totals: Vec<Vec<i64>>,
}

impl Party {
    /// The skill of its players, together.
    pub fn skill(&self) -> i64 {
        self.skills.iter().sum()
    }

    /// What rules see of it.
    pub fn facts(&self) -> Facts {
        let sum: i64 = self.skills.iter().sum();
        let count = i64::try_from(self.skills.len()).unwrap_or(1);
        let alone = Facts {
            players: u8::try_from(count).unwrap_or(1),
            numbers: vec![Some(amount(sum.div_euclid(count)))],
            ..Facts::default()
        };
        let teams = |facts: Facts| Facts { team_sums: vec![amount(sum)], ..facts };
        let everything = |facts: Facts| {
            let (sets, latencies) = (vec![Some(self.modes.clone())], self.latencies.clone());
            Facts { sets, latencies, ..teams(facts) }
        };
        match self.reads {
            Reads::Skill => alone,
            Reads::Teams => teams(alone),
            Reads::Everything | Reads::Fours => everything(alone),
            Reads::Eight => Facts {
                texts: vec![self.build.clone().map_or(Text::Any, Text::Same)],
                totals: self.together(),
                ..everything(alone)
            },
            Reads::Roles => Facts { totals: self.together(), ..alone },
            Reads::Crowd => Facts { totals: self.together(), latencies: self.latencies.clone(), ..alone },
        }
    }

    /// What its players add to each total.
    fn together(&self) -> Vec<Amount> {
        let of_one = self.totals.first().map_or(0, Vec::len);
        (0..of_one).map(|total| amount(self.totals.iter().map(|player| player[total]).sum())).collect()
    }

    /// Its players, with their values in the order of the queue's rules; so that nobody comes twice, with a number each.
    pub fn members(&self, first: u64) -> Vec<Member> {
        let member = |(at, skill): (usize, &i64)| {
            let number = |whole: &i64| Some(Value::Number(amount(*whole)));
            let latencies = || Some(Value::Latencies(self.latencies.clone().into()));
            let totals = self.totals[at].iter().map(number);
            let everything = || {
                [
                    number(skill),
                    latencies(),
                    Some(Value::Texts(self.modes.clone().into())),
                    number(skill),
                    None,
                ]
            };
            let values: Vec<Option<Value>> = match self.reads {
                Reads::Skill => vec![number(skill)],
                Reads::Teams => vec![number(skill), number(skill)],
                Reads::Everything | Reads::Fours => everything().into(),
                Reads::Eight => {
                    let build = self.build.clone().map(Value::Text);
                    everything().into_iter().chain([build]).chain(totals).chain([None]).collect()
                }
                Reads::Roles => [number(skill)].into_iter().chain(totals).collect(),
                Reads::Crowd => [number(skill), latencies()].into_iter().chain(totals).collect(),
            };
            let entity = Entity::kept(&format!("{}!{:016X}", Entity::PLAYER, first + at as u64));
            Member { entity, attributes: Attributes { raw: None, values: values.into() } }
        };
        self.skills.iter().enumerate().map(member).collect()
    }

    /// How many they are.
    pub fn players(&self) -> u64 {
        self.skills.len() as u64
    }
}

/// When tickets come and for how long they stay.
#[derive(Debug, Clone)]
pub struct Behaviour {
    arrivals: Dice,
    stays: Dice,
}

/// After how many seconds a ticket gives up, and the mean after which its players do.
const GIVE_UP_SECONDS: u32 = 120;
const CANCEL_SECONDS: u32 = 90;

impl Behaviour {
    pub fn new(seed: u64) -> Self {
        Self { arrivals: Dice::new(seed, 9), stays: Dice::new(seed, 10) }
    }

    /// How many come in a tick in which so many are expected.
    pub fn come(&mut self, mean: u32) -> u32 {
        self.arrivals.poisson(mean)
    }

    /// Whether the next of those who come is a game, of which there are so many in a hundred.
    pub fn is_game(&mut self, of_hundred: u32) -> bool {
        self.arrivals.below(100) < of_hundred
    }

    /// After how many seconds the next of them leaves that is not matched.
    pub fn stays(&mut self) -> u32 {
        1 + self.stays.rare(CANCEL_SECONDS).min(GIVE_UP_SECONDS - 1)
    }
}

fn amount(whole: i64) -> Amount {
    Amount::from_millionths(whole * 1_000_000)
}

/// Tickets without end.
#[derive(Debug)]
pub struct Workload {
    reads: Reads,
    skill: Dice,
    party: Dice,
    region: Dice,
    mode: Dice,
    other: Dice,
    regions: Vec<Arc<str>>,
    modes: Vec<Arc<str>>,
}

impl Workload {
    /// For a queue that reads this.
    pub fn new(seed: u64, reads: Reads) -> Self {
        Self {
            reads,
            skill: Dice::new(seed, 1),
            party: Dice::new(seed, 2),
            region: Dice::new(seed, 3),
            mode: Dice::new(seed, 4),
            other: Dice::new(seed, 5),
            regions: (0..SITES.len()).map(|site| Arc::from(format!("site{site}"))).collect(),
            modes: (0..MODES.len()).map(|mode| Arc::from(format!("mode{mode}"))).collect(),
        }
    }

    /// What rules see of the next ticket.
    pub fn ticket(&mut self) -> Facts {
        self.party().facts()
    }

    /// The players of the next ticket.
    pub fn party(&mut self) -> Party {
        let reads = self.reads;
        let players = match reads.party_max() {
            1 => 1,
            most => self.party.share(&PARTIES[..most]) + 1,
        };
        let skills = self.skills(players);
        let (modes, latencies) = match reads {
            Reads::Skill | Reads::Teams | Reads::Roles => Default::default(),
            Reads::Everything | Reads::Fours | Reads::Eight => (self.modes(), self.latencies()),
            Reads::Crowd => (Vec::new(), self.latencies()),
        };
        let build = (reads == Reads::Eight).then(|| Arc::from(BUILDS[self.other.share(&[90, 10])]));
        let totals = (0..players).map(|_| self.totals()).collect();
        Party { reads, skills, modes, latencies, build, totals }
    }

    /// What one player adds to totals.
    fn totals(&mut self) -> Vec<i64> {
        match self.reads {
            Reads::Skill | Reads::Teams | Reads::Everything | Reads::Fours => Vec::new(),
            Reads::Eight => vec![i64::from(self.other.below(5) == 0)],
            Reads::Roles => {
                let role = self.other.share(&ROLES);
                (0..ROLES.len()).map(|it| i64::from(it == role)).collect()
            }
            Reads::Crowd => vec![1],
        }
    }

    /// A game that lacks one to three players of ten: skill within 40 of each other, 90 % of them with a team.
    pub fn game(&mut self) -> (Facts, Game) {
        let players = 9 - usize::try_from(self.other.below(3)).unwrap_or(0);
        let modes = self.modes();
        let home = self.latencies().into_iter().min_by_key(|(_, latency)| *latency);
        let middle = self.skills(1)[0];
        let mut game = Game { seated: vec![0; 2], seated_sums: vec![0; 2], loose: Vec::new() };
        let mut sum = 0;
        for player in 0..players {
            let skill = (middle + i64::from(self.other.below(81)) - 40) * 1_000_000;
            sum += skill;
            if self.other.below(10) == 0 {
                game.loose.push(vec![skill]);
            } else {
                game.seated[player % 2] += 1;
                game.seated_sums[player % 2] += skill;
            }
        }
        let count = i64::try_from(players).unwrap_or(1);
        let facts = Facts {
            players: u8::try_from(players).unwrap_or(u8::MAX),
            numbers: vec![Some(Amount::from_millionths(sum.div_euclid(count)))],
            sets: vec![Some(modes)],
            latencies: home.into_iter().map(|(region, _)| (region, 0)).collect(),
            team_sums: vec![Amount::from_millionths(sum)],
            ..Facts::default()
        };
        (facts, game)
    }

    /// The players of such a game, with their values in the order of [`Reads::Everything`]'s rules, and where it runs; numbered so that nobody comes twice.
    pub fn seated(&mut self, first: u64) -> (Vec<Seated>, ServerDetails) {
        let players = 9 - u64::from(self.other.below(3));
        let modes: Arc<[Arc<str>]> = self.modes().into();
        let home = self.latencies().into_iter().min_by_key(|(_, latency)| *latency);
        let middle = self.skills(1)[0];
        let member = |player: u64| {
            let skill = Some(Value::Number(amount(middle + i64::from(self.other.below(81)) - 40)));
            let values = [skill.clone(), None, Some(Value::Texts(modes.clone())), skill, None];
            let entity = Entity::kept(&format!("{}!{:016X}", Entity::PLAYER, first + player));
            let team = (self.other.below(10) != 0).then(|| Arc::from(format!("team-{}", player % 2 + 1)));
            Seated {
                member: Member { entity, attributes: Attributes { raw: None, values: values.into() } },
                team,
            }
        };
        let members = (0..players).map(member).collect();
        (members, ServerDetails { region: home.map(|(region, _)| region), ..ServerDetails::default() })
    }

    /// 3 % are new and stand at exactly 1500; members of a party share most of theirs.
    fn skills(&mut self, players: usize) -> Vec<i64> {
        let shared = self.skill.normal();
        let skill = |dice: &mut Dice| {
            if dice.below(100) < 3 {
                return 1_500;
            }
            let deviation = if players == 1 { shared } else { (84 * shared + 55 * dice.normal()) / 100 };
            (1_500 + 350 * deviation / 1_000).clamp(0, 3_500)
        };
        (0..players).map(|_| skill(&mut self.skill)).collect()
    }

    fn modes(&mut self) -> Vec<Arc<str>> {
        let wanted = self.mode.below(3) + 1;
        let mut modes: Vec<usize> = (0..wanted).map(|_| self.mode.share(&MODES)).collect();
        modes.sort_unstable();
        modes.dedup();
        modes.into_iter().map(|mode| self.modes[mode].clone()).collect()
    }

    /// 8 ms, the last mile, and the way to each site with its detours; in steps of 4 ms.
    fn latencies(&mut self) -> Vec<(Arc<str>, u32)> {
        let home = SITES[self.region.share(&SITES.map(|(share, _)| share))].1;
        let mile = 8 + self.region.rare(10);
        let lacks = (self.region.below(100) < 2).then(|| self.region.below(10) as usize);
        let mut latencies = Vec::with_capacity(SITES.len());
        for (site, (_, place)) in SITES.iter().enumerate() {
            let (x, y) = (home.0 - place.0, home.1 - place.1);
            let away = u32::try_from((x * x + y * y).isqrt()).unwrap_or(0);
            let latency = mile + away * (1_000 + self.region.below(151)) / 1_000 + self.region.below(12);
            if lacks != Some(site) {
                latencies.push((self.regions[site].clone(), latency / 4 * 4));
            }
        }
        latencies
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    /// A change of the generator is a change of every figure: it shows here.
    #[test]
    fn the_workload_is_the_one_that_was_measured() {
        assert_eq!(hash([Reads::Skill, Reads::Teams, Reads::Everything, Reads::Eight]), "b2c03bfab5c872e2");
        assert_eq!(hash([Reads::Fours, Reads::Roles, Reads::Crowd]), "cd00143cc623ec1f");
        let games = |seed| {
            let mut workload = Workload::new(seed, Reads::Everything);
            (0..1_000).map(|_| format!("{:?}{:?}", workload.game(), workload.seated(0))).collect::<String>()
        };
        assert_eq!(hash_of(games), "8f2a55fc66b5c70a");
        let behaviour = |seed| {
            let mut behaviour = Behaviour::new(seed);
            let mut told =
                |_| format!("{} {} {},", behaviour.come(100), behaviour.is_game(5), behaviour.stays());
            (0..1_000).map(&mut told).collect::<String>()
        };
        assert_eq!(hash_of(behaviour), "6cf62dae4e32b9a4");
    }

    /// Of a million ticks in which one is expected, and of a hundred thousand with a hundred, as many come as should, and differ by as much.
    #[test]
    fn who_comes_is_poisson() {
        let mut behaviour = Behaviour::new(42);
        for (mean, ticks) in [(1_u32, 1_000_000_u32), (100, 100_000)] {
            let counts: Vec<f64> = (0..ticks).map(|_| f64::from(behaviour.come(mean))).collect();
            let (expected, ticks) = (f64::from(mean), f64::from(ticks));
            let average = counts.iter().sum::<f64>() / ticks;
            let variance = counts.iter().map(|it| (it - average).powi(2)).sum::<f64>() / ticks;
            assert!((average / expected - 1.0).abs() < 0.01, "{average} of {expected}");
            assert!((variance / expected - 1.0).abs() < 0.03, "{variance} of {expected}");
        }
    }

    fn hash<const N: usize>(measured: [Reads; N]) -> String {
        hash_of(|seed| {
            let tickets = measured.into_iter().flat_map(|reads| {
                let mut workload = Workload::new(seed, reads);
                (0..1_000).map(move |_| format!("{:?}", workload.ticket()))
            });
            tickets.collect()
        })
    }

    fn hash_of(told: impl Fn(u64) -> String) -> String {
        let mut hash = Sha256::new();
        super::super::SEEDS.into_iter().for_each(|seed| hash.update(told(seed)));
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}
