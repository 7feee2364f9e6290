//! Locks that other crates register.

use locklab_env::Env;
use locklab_history::{Name, Topology};
use locklab_locks::{
    Algorithm, Bound, CatalogueEntry, DynLock, Facts, Held, LockSpec, Need, Registration, Shape,
    catalogue, is_registered, register,
};
use serde::{Deserialize, Serialize};
use std::panic::catch_unwind;
use std::rc::Rc;

/// A lock that is never used.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Params {
    ttl_ms: u64,
}

impl Algorithm for Params {
    fn build<E: Env>(&self, _: E, _: &[Name]) -> Rc<dyn DynLock> {
        unreachable!("no run names it")
    }

    fn bound(&self, _: &Topology) -> Bound {
        Bound {
            by_clock_ms: self.ttl_ms,
            round_trips: 1,
            time_outs_ms: 0,
            reply_ms: None,
        }
    }

    fn facts(&self) -> Facts {
        Facts {
            lease_ms: Some(self.ttl_ms),
            tells_deadline: true,
            listens: false,
            held: Held::by(Need::Nodes(1), Shape::Text),
            keeps: &[],
        }
    }
}

const fn entry(name: &'static str) -> CatalogueEntry {
    CatalogueEntry {
        name,
        summary: "",
        source: "",
        parameters: &[],
        forms: &[],
        libraries: &[],
        mutants: &[],
    }
}

static OURS: [Registration; 1] = [Registration::of::<Params>(entry("of-a-test"))];
static ALSO_OURS: [Registration; 1] = [Registration::of::<Params>(entry("of-a-test"))];
static SHIPPED: [Registration; 1] = [Registration::of::<Params>(entry("redlock"))];

#[test]
fn a_name_is_registered_once() {
    let known = catalogue().len();
    register(&OURS);
    register(&OURS);
    assert_eq!(catalogue().len(), known + 1);
    assert!(is_registered("of-a-test") && !is_registered("redlock"));
    for taken in [&ALSO_OURS, &SHIPPED] {
        assert!(catch_unwind(|| register(taken)).is_err());
    }
    assert_eq!(catalogue().len(), known + 1);

    let read = |ttl_ms: u64| -> LockSpec {
        let text = format!("name = \"of-a-test\"\nttl_ms = {ttl_ms}");
        toml::from_str(&text).expect("it is registered")
    };
    let error = toml::from_str::<LockSpec>("name = \"of-a-tset\"").expect_err("there is none");
    let said = error.to_string();
    assert!(
        said.contains("`redlock`") && said.contains("`of-a-test`"),
        "{said}"
    );
    assert_eq!(read(7), read(7));
    assert_ne!(read(7), read(8));
    assert_eq!(read(7).bound(&Topology::default()).by_clock_ms, 7);
    assert_eq!(read(7).nodes(), 1);
}
