//! The calls that are not in the order, in the order of their invocations: a list from which a call is
//! taken and to which it comes back at the same place, each in constant time (Knuth's dancing links).
//! A call that waits through a whole history costs nothing that way, and neither do the calls before it.

/// A list of places.
pub(super) struct Rest {
    /// Per place the next one; behind the last and before the first is `root`.
    next: Vec<u32>,
    previous: Vec<u32>,
    root: u32,
    /// For each place that is out, in the order in which they were taken: the highest of those so far.
    last_out: Vec<u32>,
}

/// Which places of a list are out. It is small if they are mostly the beginning of the list.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Taken {
    /// The highest place that is out; `None` if none is.
    last: Option<u32>,
    /// The places below it that are not.
    left: Box<[u32]>,
}

impl Rest {
    /// All of these places, which ascend and are below `count`.
    pub(super) fn of(places: impl Iterator<Item = u32>, count: usize) -> Rest {
        let root = count as u32;
        let mut rest = Rest {
            next: vec![root; count + 1],
            previous: vec![root; count + 1],
            root,
            last_out: Vec::new(),
        };
        let mut last = root;
        for place in places {
            rest.next[last as usize] = place;
            rest.previous[place as usize] = last;
            last = place;
        }
        rest.next[last as usize] = root;
        rest.previous[root as usize] = last;
        rest
    }

    /// The places in the list.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let on = |place: u32| (place != self.root).then_some(place);
        let first = on(self.next[self.root as usize]);
        std::iter::successors(first, move |&place| on(self.next[place as usize]))
    }

    /// Takes a place out.
    pub(super) fn remove(&mut self, place: u32) {
        let (previous, next) = (self.previous[place as usize], self.next[place as usize]);
        self.next[previous as usize] = next;
        self.previous[next as usize] = previous;
        let last = self.last_out.last().map_or(place, |&last| last.max(place));
        self.last_out.push(last);
    }

    /// Puts the place back that was taken last and is still out.
    pub(super) fn restore(&mut self, place: u32) {
        let (previous, next) = (self.previous[place as usize], self.next[place as usize]);
        self.next[previous as usize] = place;
        self.previous[next as usize] = place;
        self.last_out.pop();
    }

    /// Which places are out.
    pub(super) fn taken(&self) -> Taken {
        let last = self.last_out.last().copied();
        let left = self.iter().take_while(|&place| Some(place) < last);
        Taken {
            last,
            left: left.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_and_come_back_where_they_were() {
        let mut rest = Rest::of([1, 3, 4, 6].into_iter(), 8);
        let places = |rest: &Rest| rest.iter().collect::<Vec<_>>();
        rest.remove(4);
        rest.remove(1);
        assert_eq!(places(&rest), [3, 6]);
        let taken = rest.taken();
        assert_eq!((taken.last, &taken.left[..]), (Some(4), &[3][..]));
        rest.restore(1);
        assert_eq!(&rest.taken().left[..], [1, 3]);
        rest.restore(4);
        assert_eq!(places(&rest), [1, 3, 4, 6]);
        assert_eq!(rest.taken().last, None);
    }
}
