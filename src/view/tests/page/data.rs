//! The data of the page.

use insta::assert_snapshot;
use locklab_view::data;
use serde_json::{Value, json};

use crate::shown::Shown;

fn data_of(shown: &Shown) -> Value {
    serde_json::to_value(data::page(&shown.subject())).expect("it is data")
}

/// The place of a host in the data.
fn place(data: &Value, host: &str) -> Value {
    let hosts = data["hosts"].as_array().expect("hosts");
    let place = hosts.iter().position(|entry| entry["name"] == host);
    place.expect(host).into()
}

/// Everything but the columns of messages and records, of which the first entries are shown.
#[test]
fn the_first_example_of_kleppmanns_article() {
    let mut data = data_of(&Shown::of("kleppmann/k1", 3));
    let texts = data["texts"].take();
    for (column, texts_of) in [("records", &["text"][..]), ("messages", &["label", "text"])] {
        let columns = data[column].as_object_mut().expect("columns");
        for (name, entries) in columns {
            let entries = entries.as_array_mut().expect("a column");
            let all = entries.len();
            entries.truncate(6);
            if texts_of.contains(&name.as_str()) {
                for entry in entries.iter_mut() {
                    *entry = texts[entry.as_u64().expect("a place") as usize].clone();
                }
            }
            entries.push(json!(format!("… of {all}")));
        }
    }
    assert_snapshot!(serde_json::to_string_pretty(&data).expect("it is data"));
}

/// K10: the clock of n3 jumps past c1's lease, so n3 drops it immediately, and grants it to c2.
#[test]
fn a_lease_ends_by_the_nodes_own_clock() {
    let data = data_of(&Shown::of("kleppmann/k10", 3));
    let jump = &data["faults"]
        .as_array()
        .expect("faults")
        .iter()
        .find(|fault| fault["family"] == "clock" && fault["host"] == place(&data, "n3"));
    let jump_ns = &jump.expect("the clock jumps")["from"];
    let leases = data["leases"].as_array().expect("leases");
    let of = |node: &str| -> Vec<&Value> {
        leases
            .iter()
            .filter(|lease| lease["host"] == place(&data, node))
            .collect()
    };
    let [first, second] = of("n3")[..] else {
        panic!("n3 grants the lock twice")
    };
    assert_eq!(first["owner"], place(&data, "c1"));
    assert_eq!(first["end"], "expired by the node's clock");
    assert_eq!(&first["until"], jump_ns);
    assert_eq!(second["owner"], place(&data, "c2"));
    // The clock of n1 is right: the lease lasts as long as c1 asked, to the next millisecond.
    let [other] = of("n1")[..] else {
        panic!("n1 grants the lock once")
    };
    let lasted_ns = other["until"]
        .as_u64()
        .zip(other["from"].as_u64())
        .map(|(to, from)| to - from);
    let lasted_ns = lasted_ns.expect("times");
    assert!(
        (1_000_000_000..=1_002_000_000).contains(&lasted_ns),
        "{lasted_ns}"
    );
}

/// A run on a lock with a watchdog: a renewal continues the lease, and is no new one.
#[test]
fn a_renewed_lease_is_one() {
    let data = data_of(&Shown::of("redisson/forgotten", 0));
    let leases = data["leases"].as_array().expect("leases");
    let renewals = leases.iter().filter(|lease| lease["key"] == "lock");
    let lasted = renewals.map(|lease| {
        lease["until"].as_u64().expect("a time") - lease["from"].as_u64().expect("a time")
    });
    // The watchdog keeps it far beyond its lease of 30 s.
    assert!(lasted.max().expect("a lease") > 45_000_000_000);
}

/// The crash of R4 takes what n1 held; its replica may hold it on.
#[test]
fn a_crash_loses_what_the_node_held() {
    let data = data_of(&Shown::of("redis-docs/r4", 35));
    let leases = data["leases"].as_array().expect("leases");
    let ends: Vec<&Value> = (leases.iter())
        .filter(|lease| lease["host"] == place(&data, "n1"))
        .map(|lease| &lease["end"])
        .collect();
    assert_eq!(ends, ["lost with the node's process"]);
}

/// A request in several segments is decoded as a whole.
#[test]
fn a_long_request_is_read_as_one() {
    let data = data_of(&Shown::of("redisson/fair", 3));
    let texts = data["texts"].as_array().expect("texts");
    let rest = texts
        .iter()
        .position(|text| text == "(the rest of the message before)");
    let said = data["messages"]["text"].as_array().expect("texts");
    let second = said
        .iter()
        .position(|text| *text == json!(rest))
        .expect("a long one");
    let whole = texts[said[second - 1].as_u64().expect("a place") as usize].as_str();
    let whole = whole.expect("a text");
    assert!(whole.starts_with("EVAL \""), "{whole}");
    assert!(whole.contains("redisson_lock_queue:{lock}"), "{whole}");
}
