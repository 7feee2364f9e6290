//! Every operation, and any sequence of them, gives what `BTreeMap` and `BTreeSet` give.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

type Map = VecMap<u8, u32>;
type Set = VecSet<u8>;

/// What is done to a map and to a set; a key is one of few, so that it is often there.
#[derive(Debug, Clone)]
enum Operation {
    Insert(u8, u32),
    Remove(u8),
    GetMut(u8),
    OrInsert(u8, u32),
    OrDefault(u8),
    Retain(u32),
    ValuesMut,
    Extend(Vec<(u8, u32)>),
    Clear,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    use Operation::*;
    let (key, value) = (0..12_u8, any::<u32>());
    let operation = prop_oneof![
        8 => (key.clone(), value).prop_map(|(key, value)| Insert(key, value)),
        2 => key.clone().prop_map(Remove),
        1 => key.clone().prop_map(GetMut),
        2 => (key.clone(), value).prop_map(|(key, value)| OrInsert(key, value)),
        1 => key.clone().prop_map(OrDefault),
        1 => (2..5_u32).prop_map(Retain),
        1 => Just(ValuesMut),
        1 => vec((key, value), 0..6).prop_map(Extend),
        1 => Just(Clear),
    ];
    vec(operation, 0..40)
}

/// Does the same to both, and compares what they return.
fn perform(operation: Operation, ours: &mut Map, theirs: &mut BTreeMap<u8, u32>) {
    use Operation::*;
    match operation {
        Insert(key, value) => assert_eq!(ours.insert(key, value), theirs.insert(key, value)),
        Remove(key) => assert_eq!(ours.remove(&key), theirs.remove(&key)),
        GetMut(key) => {
            let (ours, theirs) = (ours.get_mut(&key), theirs.get_mut(&key));
            assert_eq!(ours, theirs);
            for value in ours.into_iter().chain(theirs) {
                *value ^= 1;
            }
        }
        OrInsert(key, value) => {
            let (ours, theirs) = (ours.entry(key), theirs.entry(key));
            assert_eq!(ours.or_insert(value), theirs.or_insert(value));
        }
        OrDefault(key) => {
            *ours.entry(key).or_default() ^= 2;
            *theirs.entry(key).or_default() ^= 2;
        }
        Retain(divisor) => {
            let keep = |key: &u8, value: &mut u32| {
                *value = value.wrapping_add(1);
                !value.wrapping_add((*key).into()).is_multiple_of(divisor)
            };
            ours.retain(keep);
            theirs.retain(keep);
        }
        ValuesMut => {
            let values = ours.values_mut().chain(theirs.values_mut());
            values.for_each(|value| *value = value.wrapping_mul(3));
        }
        Extend(several) => {
            ours.extend(several.iter().copied());
            theirs.extend(several);
        }
        Clear => {
            ours.clear();
            theirs.clear();
        }
    }
}

/// Compares all that can be asked of a map.
fn same(ours: &Map, theirs: &BTreeMap<u8, u32>) {
    assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
    assert_eq!(
        (ours.len(), ours.is_empty()),
        (theirs.len(), theirs.is_empty())
    );
    assert!(ours.iter().eq(theirs) && ours.iter().rev().eq(theirs.iter().rev()));
    assert!(ours.keys().eq(theirs.keys()) && ours.values().eq(theirs.values()));
    assert!(ours.clone().into_keys().eq(theirs.clone().into_keys()));
    assert!(ours.clone().into_values().eq(theirs.clone().into_values()));
    assert_eq!(ours.last_key_value(), theirs.last_key_value());
    for key in 0..13 {
        assert_eq!(ours.get(&key), theirs.get(&key));
        assert_eq!(ours.get_key_value(&key), theirs.get_key_value(&key));
        assert_eq!(ours.contains_key(&key), theirs.contains_key(&key));
        assert!(ours.range(key..).eq(theirs.range(key..)));
        assert!(ours.range(..=key).eq(theirs.range(..=key)));
        let above = (Bound::Excluded(key), Bound::Unbounded);
        assert!(ours.range(above).eq(theirs.range(above)));
        assert!(ours.range(key..key + 4).eq(theirs.range(key..key + 4)));
    }
}

proptest! {
    // A mistake planted here would leave a file in the tree.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_map_does_what_a_btree_map_does(operations in operations()) {
        let (mut ours, mut theirs) = (Map::new(), BTreeMap::new());
        for operation in operations {
            perform(operation, &mut ours, &mut theirs);
            same(&ours, &theirs);
        }
    }

    #[test]
    fn a_set_does_what_a_btree_set_does(
        items in vec(0..12_u8, 0..20),
        gone in vec(0..12_u8, 0..6),
        others in vec(0..12_u8, 0..8),
    ) {
        let (mut ours, mut theirs) = (Set::new(), BTreeSet::new());
        for item in items {
            assert_eq!(ours.insert(item), theirs.insert(item));
        }
        for item in gone {
            assert_eq!(ours.remove(&item), theirs.remove(&item));
        }
        let more: Set = others.iter().copied().collect();
        let also: BTreeSet<u8> = others.into_iter().collect();
        assert!(ours.difference(&more).eq(theirs.difference(&also)));
        ours.extend(more);
        theirs.extend(also);
        for item in 0..13 {
            assert_eq!(ours.contains(&item), theirs.contains(&item));
            assert!(ours.range(item..).eq(theirs.range(item..)));
            assert!(ours.range(..=item).eq(theirs.range(..=item)));
        }
        assert_eq!(format!("{ours:?} {}", ours.len()), format!("{theirs:?} {}", theirs.len()));
        assert_eq!((ours.first(), ours.is_empty()), (theirs.first(), theirs.is_empty()));
        ours.retain(|item| item % 3 > 0);
        theirs.retain(|item| item % 3 > 0);
        assert!(ours.into_iter().eq(theirs));
    }

    /// Maps are compared as their entries are, like those of `BTreeMap`.
    #[test]
    fn maps_compare_alike(
        one in vec((0..4_u8, 0..3_u32), 0..4),
        other in vec((0..4_u8, 0..3_u32), 0..4),
    ) {
        let ours: [Map; 2] = [&one, &other].map(|it| it.iter().copied().collect());
        let theirs: [BTreeMap<u8, u32>; 2] = [&one, &other].map(|it| it.iter().copied().collect());
        assert_eq!(ours[0].cmp(&ours[1]), theirs[0].cmp(&theirs[1]));
        assert_eq!(ours[0] == ours[1], theirs[0] == theirs[1]);
    }
}

#[test]
#[should_panic = "the range ends before it begins"]
fn a_range_that_ends_before_it_begins_is_refused() {
    let map = Map::from([(1, 0), (5, 0)]);
    let _ = map.range((Bound::Included(5), Bound::Excluded(1)));
}

#[test]
#[should_panic = "the key has an entry"]
fn a_key_without_an_entry_has_no_value() {
    let _ = Map::new()[&1];
}

/// In a build of the whole workspace, which needs this.
#[cfg(feature = "serde")]
#[test]
fn files_have_them_as_they_have_trees() {
    let text = r#"{"a":1,"b":2}"#;
    let map: VecMap<String, u32> = serde_json::from_str(text).expect("a map");
    assert_eq!(map, VecMap::from([("b".into(), 2), ("a".into(), 1)]));
    assert_eq!(serde_json::to_string(&map).expect("JSON"), text);
    let set: Set = serde_json::from_str("[3,1,3]").expect("a set");
    assert_eq!(serde_json::to_string(&set).expect("JSON"), "[1,3]");
    for text in ["[]", "1", r#"{"a":"b"}"#] {
        let read: Result<VecMap<String, u32>, _> = serde_json::from_str(text);
        assert!(read.is_err(), "{text}");
    }
}
