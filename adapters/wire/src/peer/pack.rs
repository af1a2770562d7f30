//! How values of any type become bytes and come back: the numbers, the lists and the maps, and two macros that make a
//! format out of a list of names.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use super::Malformed;

/// What has a form in bytes.
pub(super) trait Packed: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed>;
}

/// What lists are made of, and how many of it a list holds at most.
pub(super) trait Listed: Packed {
    const MAX: usize;
}

/// Bytes that are being read.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, length: bytes.len() }
    }

    fn some(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (some, rest) =
            self.rest.split_at_checked(count).ok_or(Malformed::Short { length: self.length })?;
        self.rest = rest;
        Ok(some)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (some, rest) = self.rest.split_first_chunk().ok_or(Malformed::Short { length: self.length })?;
        self.rest = rest;
        Ok(*some)
    }

    pub(super) fn end(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed::Long { rest: self.rest.len() }) }
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Packed for $number {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend(self.to_be_bytes());
            }
            fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                Ok(Self::from_be_bytes(from.array()?))
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64, u128);

/// A length and so many bytes.
pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_length(bytes.len(), out);
    out.extend(bytes);
}

pub(super) fn take_bytes(from: &mut Reader<'_>, max: usize) -> Result<Vec<u8>, Malformed> {
    let length = take_length(from, max)?;
    Ok(from.some(length)?.to_vec())
}

fn put_length(length: usize, out: &mut Vec<u8>) {
    u32::try_from(length).unwrap_or(u32::MAX).put(out);
}

fn take_length(from: &mut Reader<'_>, max: usize) -> Result<usize, Malformed> {
    let length = usize::try_from(u32::take(from)?).unwrap_or(usize::MAX);
    if length > max { Err(Malformed::List { length, max }) } else { Ok(length) }
}

impl<T: Listed> Packed for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        self.iter().for_each(|one| one.put(out));
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        (0..take_length(from, T::MAX)?).map(|_| T::take(from)).collect()
    }
}

impl<T: Packed> Packed for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        T::put(self, out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        T::take(from).map(Self::new)
    }
}

impl<T: Packed> Packed for Arc<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_ref().put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        T::take(from).map(Self::new)
    }
}

impl<K: Listed + Ord, V: Packed> Packed for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        take_map(from, K::MAX)
    }
}

/// A map of at most so many, where that is not as many as there are of its keys elsewhere.
pub(super) fn take_map<K: Packed + Ord, V: Packed>(
    from: &mut Reader<'_>,
    max: usize,
) -> Result<BTreeMap<K, V>, Malformed> {
    let mut map = BTreeMap::new();
    for _ in 0..take_length(from, max)? {
        let (key, value) = (K::take(from)?, V::take(from)?);
        if map.last_key_value().is_some_and(|(last, _)| *last >= key) {
            return Err(Malformed::Order);
        }
        map.insert(key, value);
    }
    Ok(map)
}

impl<T: Listed + Ord> Packed for BTreeSet<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        self.iter().for_each(|one| one.put(out));
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut set = Self::new();
        for _ in 0..take_length(from, T::MAX)? {
            let one = T::take(from)?;
            if set.last().is_some_and(|last| *last >= one) {
                return Err(Malformed::Order);
            }
            set.insert(one);
        }
        Ok(set)
    }
}

impl Packed for SocketAddr {
    fn put(&self, out: &mut Vec<u8>) {
        match self.ip() {
            IpAddr::V4(ip) => {
                4_u8.put(out);
                out.extend(ip.octets());
            }
            IpAddr::V6(ip) => {
                6_u8.put(out);
                out.extend(ip.octets());
            }
        }
        self.port().put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let ip = match u8::take(from)? {
            4 => IpAddr::V4(Ipv4Addr::from(from.array::<4>()?)),
            6 => IpAddr::V6(Ipv6Addr::from(from.array::<16>()?)),
            number => return Err(Malformed::Choice { of: "version of IP", number }),
        };
        Ok(Self::new(ip, u16::take(from)?))
    }
}

/// A struct as its fields, in this order.
macro_rules! record {
    ($type:ty { $($field:ident),* $(,)? }) => {
        impl Packed for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($field.put(out);)*
            }
            fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                $(let $field = Packed::take(from)?;)*
                Ok(Self { $($field),* })
            }
        }
    };
}

/// A struct around one value, as that value.
macro_rules! around {
    ($($type:ident),*) => {$(
        impl Packed for $type {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
            fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                Packed::take(from).map($type)
            }
        }
    )*};
}

/// An enum as the number of its variant and the fields of it.
macro_rules! choice {
    ($type:ty, $name:literal {
        $($number:literal = $variant:ident $(($inner:ident))? $({ $($field:ident),* })?),* $(,)?
    }) => {
        impl Packed for $type {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($inner))? $({ $($field),* })? => {
                        out.push($number);
                        $($inner.put(out);)?
                        $($($field.put(out);)*)?
                    })*
                }
            }
            fn take(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                match u8::take(from)? {
                    $($number => {
                        $(let $inner = Packed::take(from)?;)?
                        $($(let $field = Packed::take(from)?;)*)?
                        Ok(Self::$variant $(($inner))? $({ $($field),* })?)
                    })*
                    number => Err(Malformed::Choice { of: $name, number }),
                }
            }
        }
    };
}

pub(super) use {around, choice, record};
