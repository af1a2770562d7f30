//! The rules of a group that few queues have: texts that may give way, numbers beside the first, lists of many values, totals.
//! One frame of words for each ticket added, next to the [frames](super::group) of what every queue asks.

use alloc::vec::Vec;

use super::judged::Rule;
use super::plan::Plan;
use super::slab::{ANY_TEXT, Layout, MIXED_TEXT, Ref, WILD};

/// The frames, one behind the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Rest {
    sets: usize,
    totals: usize,
    /// Words a frame; none where there is no such rule.
    stride: usize,
    /// Whether the first list is one of those here.
    first_list: bool,
    words: Vec<u64>,
}

const TEXTS_ENFORCED: usize = 0;
const TEXTS_MIXED: usize = 1;
const TEXTS: usize = 2;

const LOW: usize = 0;
const HIGH: usize = 1;
const FLOOR: usize = 2;
const CEILING: usize = 3;
const SPAN: usize = 4;

impl Rest {
    /// Begins with a frame of nobody.
    pub(super) fn reset(&mut self, plan: &Plan, layout: &Layout) {
        let others = plan.numbers.len().saturating_sub(1);
        self.first_list = layout.sets.first().is_some_and(|(_, words)| *words > 1);
        let lists = layout.sets.get(usize::from(!self.first_list)..).unwrap_or_default();
        if plan.texts.len() + others + lists.len() + plan.totals.len() == 0 {
            self.stride = 0;
            return;
        }
        let numbers = TEXTS + plan.texts.len();
        self.sets = numbers + SPAN * others;
        self.totals = self.sets + lists.iter().map(|(_, words)| words + 1).sum::<usize>();
        self.stride = self.totals + plan.totals.len();
        self.words.clear();
        self.words.resize(self.stride, 0);
        let frame = &mut self.words[..];
        frame[TEXTS..numbers].fill(ANY_TEXT);
        for span in frame[numbers..self.sets].chunks_exact_mut(SPAN) {
            (span[LOW], span[HIGH]) = (i64::MAX.cast_unsigned(), i64::MIN.cast_unsigned());
            (span[FLOOR], span[CEILING]) = (i64::MIN.cast_unsigned(), i64::MAX.cast_unsigned());
        }
        let mut at = self.sets;
        for (_, words) in lists {
            frame[at..at + words].fill(u64::MAX);
            at += words + 1;
        }
    }

    /// Whether there is nothing here to judge.
    pub(super) const fn is_none(&self) -> bool {
        self.stride == 0
    }

    /// A frame behind so many, of those and one more ticket; or the rule that does not allow it. What stood there is gone.
    pub(super) fn push(&mut self, plan: &Plan, members: usize, row: Ref<'_>) -> Result<(), Rule> {
        let before = members * self.stride;
        self.words.truncate(before + self.stride);
        self.words.extend_from_within(before..before + self.stride);
        let at = self.words.len() - self.stride;
        let frame = &mut self.words[at..];
        let limits = plan.row(row.shape().step);
        let numbers = TEXTS + plan.texts.len();
        let others = (0..plan.numbers.len()).filter(|rule| Some(*rule) != plan.primary);
        for (rule, span) in others.zip(frame[numbers..self.sets].chunks_exact_mut(SPAN)) {
            let number = row.number(rule);
            if number == WILD {
                continue;
            }
            let allowed = limits.numbers[rule].allowed;
            let low = span[LOW].cast_signed().min(number);
            let high = span[HIGH].cast_signed().max(number);
            let floor = span[FLOOR].cast_signed().max(number - allowed);
            let ceiling = span[CEILING].cast_signed().min(number + allowed);
            if low < floor || high > ceiling {
                return Err(Rule::Number(rule));
            }
            (span[LOW], span[HIGH]) = (low.cast_unsigned(), high.cast_unsigned());
            (span[FLOOR], span[CEILING]) = (floor.cast_unsigned(), ceiling.cast_unsigned());
        }
        let first = usize::from(!self.first_list);
        fold_texts(plan, frame, row, limits.texts)?;
        fold_sets(frame, self.sets, row, limits.sets.iter().enumerate().skip(first))?;
        fold_totals(plan, &mut frame[self.totals..], row)
    }

    /// What so many tickets share of the first list, and how much of it they have to; `None` where it is not here.
    #[inline(never)]
    pub(super) fn first_list(&self, layout: &Layout, members: usize) -> Option<(&[u64], u64)> {
        let (_, words) = *layout.sets.first().filter(|_| self.first_list)?;
        let at = members * self.stride + self.sets;
        Some((&self.words[at..at + words], self.words[at + words]))
    }

    /// The text that a rule asks of whoever joins so many tickets; `None` where none of them has one, or nobody's rule restricts.
    pub(super) fn text_asked(&self, members: usize, rule: usize) -> Option<u64> {
        let frame = &self.words[members * self.stride..];
        let text = frame[TEXTS + rule];
        (frame[TEXTS_ENFORCED] >> rule & 1 == 1 && text != ANY_TEXT).then_some(text)
    }

    /// The sum of so many tickets by a rule.
    pub(super) fn total(&self, members: usize, rule: usize) -> i64 {
        self.words[members * self.stride + self.totals + rule].cast_signed()
    }
}

fn fold_texts(plan: &Plan, frame: &mut [u64], row: Ref<'_>, enforced: u32) -> Result<(), Rule> {
    for rule in 0..plan.texts.len() {
        let text = row.text(rule);
        if text == ANY_TEXT {
            continue;
        }
        let bit = 1 << rule;
        if u64::from(enforced) & bit != 0 {
            frame[TEXTS_ENFORCED] |= bit;
        }
        let seen = &mut frame[TEXTS + rule];
        if *seen == ANY_TEXT {
            *seen = text;
        }
        if *seen != text || text == MIXED_TEXT {
            frame[TEXTS_MIXED] |= bit;
        }
    }
    match frame[TEXTS_ENFORCED] & frame[TEXTS_MIXED] {
        0 => Ok(()),
        broken => Err(Rule::Text(broken.trailing_zeros() as usize)),
    }
}

fn fold_sets<'a>(
    frame: &mut [u64],
    sets: usize,
    row: Ref<'_>,
    least: impl Iterator<Item = (usize, &'a u16)>,
) -> Result<(), Rule> {
    let mut at = sets;
    for (rule, least) in least {
        let own = row.set(rule);
        let (words, need) = (at, at + own.len());
        at = need + 1;
        if row.any_set(rule) {
            continue;
        }
        let mut shared = 0_u32;
        for (word, own) in frame[words..need].iter_mut().zip(own) {
            *word &= own;
            shared += word.count_ones();
        }
        frame[need] = frame[need].max(u64::from(*least));
        if u64::from(shared) < frame[need] {
            return Err(Rule::List(rule));
        }
    }
    Ok(())
}

fn fold_totals(plan: &Plan, frame: &mut [u64], row: Ref<'_>) -> Result<(), Rule> {
    for ((index, rule), word) in plan.totals.iter().enumerate().zip(frame) {
        let sum = word.cast_signed() + row.total(index);
        *word = sum.cast_unsigned();
        if sum > rule.max_ever {
            return Err(Rule::Total(index));
        }
    }
    Ok(())
}
