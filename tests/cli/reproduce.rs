//! `locklab reproduce`.

use insta::assert_snapshot;

use crate::bench::Bench;

#[test]
fn a_claim_becomes_a_page() {
    let bench = Bench::new("one-claim");
    let k10 = bench.locklab(&["reproduce", "--quick", "--only", "k10", "--json"]);
    assert_eq!(k10.code, Some(0));
    assert_snapshot!("reproduce_text", k10.told());
    assert_eq!(k10.json()["claims"][0]["claim"], "K10");
    let files = bench.files();
    let page = files.iter().find(|file| file.ends_with("index.html"));
    let page = bench.read(page.expect("it is written"));
    assert!(page.contains("1 of 1 claims came out as predicted."));
    // The comparison of all locks is part of the whole debate.
    assert_eq!(k10.json()["place"], serde_json::Value::Null);
    assert!(!page.contains("One fault at every step"));
    assert!(page.contains("The clock on node C jumps forward, causing the lock to expire."));
    // Of the commands that the page names the first shows the run that it pictures, the second shrinks it.
    let (_, commands) = page.split_once("<pre>").expect("it names commands");
    let (commands, _) = commands.split_once("</pre>").expect("they end");
    let commands: Vec<&str> = commands.lines().collect();
    let [again, shrink] = commands[..] else {
        panic!("two commands expected: {commands:?}");
    };
    let run = |command: &str| bench.locklab(&command.split(' ').skip(1).collect::<Vec<_>>());
    let (_, caption) = page.split_once("<figcaption>").expect("it has a picture");
    let (caption, _) = caption.split_once(".</figcaption>").expect("it ends");
    // What another property of the same event adds stands before the last words.
    let (_, what) = caption.rsplit_once(", ").expect("several clauses");
    let told = run(again).in_one_line();
    assert!(told.contains(what), "{what}\n{told}");
    let shrunk = run(shrink);
    assert_eq!(shrunk.code, Some(0), "{}", shrunk.told());
}

#[test]
fn a_claim_that_nobody_makes_is_refused() {
    let bench = Bench::new("no-claim");
    let unknown = bench.locklab(&["reproduce", "--only", "K10,K99"]);
    assert_eq!(unknown.code, Some(1));
    assert!(
        unknown
            .told()
            .contains("unknown claim \"K99\"; the claims are K1, K2,")
    );
}
