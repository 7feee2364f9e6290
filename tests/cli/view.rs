//! `locklab view`: files for a browser and for other viewers.

use serde_json::Value;

use crate::bench::Bench;

const RECORDING: &str = "target/locklab/kleppmann-k1/seed-3.jsonl";
const PAGE: &str = "target/locklab/kleppmann-k1/seed-3.html";

/// A folder in which K1 was run with seed 3.
fn recorded(test: &str) -> Bench {
    let bench = Bench::new(test);
    bench.locklab(&["run", "kleppmann/k1", "--seed", "3"]);
    bench
}

/// The data of a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"run\">").expect("data");
    let (data, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(data).expect("JSON")
}

#[test]
fn a_recording_and_its_scenario_give_the_same_page() {
    let bench = recorded("view");
    let viewed = bench.locklab(&["view", RECORDING]);
    assert_eq!((viewed.code, viewed.out.trim()), (Some(0), PAGE));
    let page = bench.read(PAGE);
    let viewed = bench.locklab(&["view", "kleppmann/k1", "--seed", "3", "--out", "k1.html"]);
    assert_eq!((viewed.code, viewed.out.trim()), (Some(0), "k1.html"));
    assert_eq!(bench.read("k1.html"), page);
    let data = data(&page);
    assert_eq!(data["run"]["title"], "K1: A pause longer than the lease");
    assert_eq!(data["run"]["remark"], "");
    assert_eq!(data["verdicts"][0]["property"], "resource");
    // Nothing is fetched: what looks like an address is text.
    for fetches in [" src=", " href=", "@import", "url("] {
        assert!(!page.contains(fetches), "{fetches}");
    }
}

#[test]
fn a_page_shows_when_its_run_was_lost() {
    let bench = Bench::new("view-lost");
    let view = |seed, options: &[&str]| {
        let run = ["view", "kleppmann/k1-exponential", "--seed", seed];
        bench.locklab(&[&run[..], options].concat())
    };
    let viewed = view("3", &["--lost=40", "--out", "lost.html"]);
    assert_eq!(viewed.code, Some(0), "{}", viewed.told());
    let told = viewed.in_one_line();
    assert!(told.contains("until 16.0 ms (“c1 read”)"), "{told}");
    let lost = &data(&bench.read("lost.html"))["lost"];
    assert_eq!(lost["property"], "resource");
    let points = lost["points"].as_array().expect("points");
    assert_eq!(points[0][0], 0);
    assert_eq!(points.last().expect("an end")[1], 1.0);
    let again = view("3", &["--lost=40", "--out", "-"]).out;
    assert_eq!(&data(&again)["lost"], lost);
    let holds = view("0", &["--lost"]);
    assert_eq!(holds.code, Some(1), "{}", holds.told());
    assert!(holds.err.contains("violates nothing"), "{}", holds.told());
}

#[test]
fn overrides_apply() {
    let bench = Bench::new("view-set");
    let viewed = bench.locklab(&["view", "kleppmann/k1", "--set", "lock.ttl_ms=777"]);
    assert_eq!(viewed.code, Some(0), "{}", viewed.told());
    let files = bench.files();
    let page = files.iter().find(|file| file.ends_with("seed-0.html"));
    let page = bench.read(page.expect("it is written"));
    assert!(page.contains("NX PX 777"));
}

#[test]
fn other_viewers_have_files_of_their_own() {
    let bench = recorded("view-formats");
    let viewed = bench.locklab(&["view", RECORDING, "--format", "perfetto"]);
    assert_eq!(viewed.code, Some(0), "{}", viewed.told());
    let trace = bench.read("target/locklab/kleppmann-k1/seed-3.perfetto.json");
    let trace: Value = serde_json::from_str(&trace).expect("JSON");
    assert_eq!(trace["otherData"]["seed"], 3);
    let viewed = bench.locklab(&["view", RECORDING, "--format", "shiviz"]);
    assert_eq!(viewed.code, Some(0), "{}", viewed.told());
    let log = bench.read("target/locklab/kleppmann-k1/seed-3.shiviz.log");
    assert!(log.starts_with("(?<host>"), "{log}");
}

/// What cannot be repeated is shown without what a repetition would tell, and says so.
#[test]
fn a_page_says_what_it_does_not_know() {
    let bench = recorded("view-remark");
    let recording = bench.read(RECORDING);
    let on_redis = recording.replacen("\"environment\":\"world\"", "\"environment\":\"redis\"", 1);
    let edited = recording.replacen("\"wall_ns\":", "\"wall_ns\":1", 1);
    for (recording, remark) in [
        (on_redis, "This run took place on real Redis"),
        (
            edited,
            "The recording is not what this build of Locklab repeats",
        ),
    ] {
        let file = bench.write("x.jsonl", &recording);
        let viewed = bench.locklab(&["view", file, "--out", "x.html"]);
        assert_eq!(viewed.code, Some(0), "{}", viewed.told());
        assert!(viewed.err.starts_with(remark), "{}", viewed.err);
        let data = data(&bench.read("x.html"));
        let told = data["run"]["remark"].as_str().expect("a remark");
        assert!(told.starts_with(remark), "{told}");
        assert_eq!(data["messages"]["text"], Value::Array(vec![]));
        assert_eq!(data["leases"], Value::Array(vec![]));
        assert!(
            data["messages"]["label"]
                .as_array()
                .is_some_and(|all| !all.is_empty())
        );
    }
}

#[test]
fn mistakes_are_named() {
    let bench = recorded("view-mistakes");
    bench.write("other.jsonl", "{}\n");
    for (arguments, expected) in [
        (&["view", "absent.jsonl"][..], "cannot read absent.jsonl"),
        (&["view", "other.jsonl"], "this is not a recording of a run"),
        (
            &["view", "kleppmann/k999"],
            "is neither a file nor a shipped scenario",
        ),
        (
            &["view", RECORDING, "--seed", "1"],
            "--seed and --set are for a scenario",
        ),
        (
            &["view", RECORDING, "--out", "no/such/x.html"],
            "cannot write no/such/x.html",
        ),
        (
            &["view", RECORDING, "--format", "pdf"],
            "invalid value 'pdf'",
        ),
    ] {
        let viewed = bench.locklab(arguments);
        assert_eq!(viewed.code, Some(1), "{arguments:?}: {}", viewed.told());
        assert!(
            viewed.err.contains(expected),
            "{arguments:?}: {}",
            viewed.err
        );
    }
}

#[test]
fn a_dash_is_standard_output_and_no_file() {
    let bench = Bench::new("view-dash");
    let view =
        |out: &str| bench.locklab(&["view", "kleppmann/k1", "--format", "shiviz", "--out", out]);
    let (printed, _) = (view("-"), view("log"));
    assert_eq!(printed.code, Some(0), "{}", printed.told());
    assert_eq!(printed.out.trim_end(), bench.read("log").trim_end());
    assert_eq!(bench.files(), ["log"]);
}
